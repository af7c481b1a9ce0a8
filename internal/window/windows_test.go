package window

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

var (
	loadID, countID, binID = pdu.NewPMID(60, 0, 1), pdu.NewPMID(60, 0, 2), pdu.NewPMID(60, 0, 3)
	binDom                 = pdu.NewInDom(60, 1)
)

// Retained returns the number of retained values.
func (ws *Windows) Retained() (n int) {
	for i := range ws.windows {
		n += ws.windows[i].values
	}
	return n
}

// operands are the metrics of the tests.
var operands = derived.CatalogMap{
	"load":  {PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	"count": {PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
	"bin":   {PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant},
}

// newSet binds definitions that are written "name = expression".
func newSet(tb testing.TB, definitions map[string]string) *derived.Set {
	tb.Helper()
	var defs []*derived.Definition
	for _, name := range []string{"a", "b", "c", "d"} {
		if text, ok := definitions[name]; ok {
			d, err := derived.Parse(name, text)
			require.NoError(tb, err)
			defs = append(defs, d)
		}
	}
	set := derived.Language{}.NewSet(defs, operands, "")
	for _, m := range set.Metrics() {
		require.NoError(tb, errOf(m))
	}
	return set
}

func errOf(m *derived.Metric) error {
	if m.Err != nil {
		return m.Err
	}
	return nil
}

// moment is a sample.
type moment struct {
	at     time.Time
	values map[pdu.PMID]*derived.Vector
	names  *derived.NameTable // nil: bins
}

func (m *moment) Time() time.Time                    { return m.at }
func (m *moment) Names(pdu.InDom) *derived.NameTable { return cmp.Or(m.names, bins) }
func (m *moment) Members(pdu.InDom) *derived.InstSet { return nil }
func (m *moment) Values(id pdu.PMID, _ *int32) *derived.Vector {
	if v := m.values[id]; v != nil {
		return v
	}
	return &derived.Vector{Code: pdu.ErrNoAgent}
}

var bins = derived.NewNameTable(map[pdu.Inst]string{1: "red", 2: "red", 3: "blue"}, nil)

// named is a table of names.
func named(names map[pdu.Inst]string) *derived.NameTable { return derived.NewNameTable(names, nil) }

// windowsOf are the windows of a set.
func windowsOf(set *derived.Set) *Windows {
	return NewSingleClient(set, derived.NewGroups(), FirstTicks).Windows
}

// at is the sample of a second, with a load and a count.
func at(second int64, load float64, count uint64) *moment {
	return &moment{at: time.Unix(second, 0), values: map[pdu.PMID]*derived.Vector{
		loadID: doubles(nil, load), countID: {Type: pdu.TypeU64, Bits: []uint64{count}},
	}}
}

// value computes a metric from what the windows come to.
func (ws *Windows) value(tb testing.TB, name string, s derived.Sample) *derived.Vector {
	tb.Helper()
	m, ok := ws.set.Lookup(name)
	require.True(tb, ok)
	e := ws.set.NewEvaluation()
	e.SetGroups(ws.groups)
	e.Reset(s)
	e.SetResults(ws.State(0, nil).Results)
	return e.Value(m)
}

func TestWindowsOfOneOperandShareItsValues(t *testing.T) {
	set := newSet(t, map[string]string{
		"a": `max_sample(load, "3s")`, "b": `max_sample(load, "3s") - min_sample(load, "3s")`,
		"c": `max_sample(load, "3")`,
	})
	assert.Len(t, set.Windows(), 2)
	ws := windowsOf(set)
	for i, load := range []float64{1, 5, 2, 3} {
		for k := range set.Windows() {
			assert.True(t, ws.Add(k, int64(i), at(int64(i), load, 0), true))
		}
	}
	assert.Equal(t, 6, ws.Retained())
	assert.Equal(t, []float64{5}, numbers(ws.value(t, "a", at(3, 3, 0))))
	assert.Equal(t, []float64{3}, numbers(ws.value(t, "b", at(3, 3, 0))))
	assert.Equal(t, []float64{5}, numbers(ws.value(t, "c", at(3, 3, 0))))
}

// A sum has every change between its first and its last tick, also across gaps, and none from before a restart.
func TestChangesFromTickToTick(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": `sum_sample(delta(count), "1min")`}))
	assert.False(t, ws.Add(0, 1, at(1, 0, 100), true), "nothing to compare with")
	assert.Equal(t, pdu.ErrAgain, ws.value(t, "a", at(1, 0, 0)).Code)
	assert.True(t, ws.Add(0, 2, at(2, 0, 110), true))
	assert.False(t, ws.Add(0, 3, &moment{at: time.Unix(3, 0)}, true), "its agent is not there")
	assert.True(t, ws.Add(0, 4, at(4, 0, 125), true))
	assert.Equal(t, []float64{25}, numbers(ws.value(t, "a", at(4, 0, 0))))
	assert.False(t, ws.Add(0, 5, at(5, 0, 3), false), "it counts from 0 again")
	assert.Equal(t, []float64{25}, numbers(ws.value(t, "a", at(5, 0, 0))))
	assert.True(t, ws.Add(0, 6, at(6, 0, 5), true))
	assert.Equal(t, []float64{27}, numbers(ws.value(t, "a", at(6, 0, 0))))
}

func TestResultThatIsOld(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": `max_sample(load, "1min")`}))
	ws.Add(0, 10, at(10, 7, 0), true)
	for tick := int64(11); tick <= 13; tick++ {
		ws.Miss(0, tick)
		assert.Equal(t, []float64{7}, numbers(ws.value(t, "a", at(tick, 0, 0))), "tick %d", tick)
	}
	ws.Miss(0, 14)
	assert.Equal(t, pdu.ErrAgain, ws.value(t, "a", at(14, 0, 0)).Code)
	ws.Add(0, 15, &moment{at: time.Unix(15, 0)}, true)
	assert.Equal(t, pdu.ErrNoAgent, ws.value(t, "a", at(15, 0, 0)).Code)
	ws.Add(0, 16, at(16, 3, 0), true)
	assert.Equal(t, []float64{7}, numbers(ws.value(t, "a", at(16, 0, 0))))
}

// Too many values cost the definition that is one too many, as long as there is no room.
func TestTooManyValues(t *testing.T) {
	set := newSet(t, map[string]string{"a": `max_sample(bin, "10s")`, "b": `min_sample(load, "10s")`})
	ws := windowsOf(set)
	ws.MaxValues = 35
	sample := func(instances ...pdu.Inst) *moment {
		m := at(1, 5, 0)
		m.values[binID] = &derived.Vector{
			Type: pdu.Type32, Insts: derived.NewInstSet(instances),
			Bits: make([]uint64, len(instances)),
		}
		return m
	}
	assert.True(t, ws.Add(1, 1, sample(), true))
	assert.True(t, ws.Add(0, 1, sample(1, 2), true))
	assert.False(t, ws.Add(0, 2, sample(1, 2, 3), true))
	assert.True(t, ws.TooLarge(0))
	assert.False(t, ws.TooLarge(1))
	assert.Equal(t, 1, ws.Retained())
	assert.Equal(t, pdu.ErrTooBig, ws.value(t, "a", sample()).Code)
	assert.Equal(t, []float64{5}, numbers(ws.value(t, "b", sample())))
	assert.True(t, ws.Add(0, 3, sample(3), true))
	assert.False(t, ws.TooLarge(0))
	assert.Equal(t, []pdu.Inst{3}, ws.value(t, "a", sample()).Insts.IDs())
}

// Windows of another set go on if nothing about them has changed.
func TestWindowsGoOn(t *testing.T) {
	defs := map[string]string{
		"a": `max_sample(d, "1min")`, "b": `max_sample(load, "1min")`, "c": `count_sample(delta(count), "1min")`,
		"d": "load + 1",
	}
	ws := windowsOf(newSet(t, defs))
	for tick := range int64(5) {
		for i := range ws.windows {
			ws.Add(i, tick, at(tick, 5-float64(tick), uint64(10*tick)), true)
		}
	}
	defs["d"] = "load + 2"
	after := ws.ForSet(newSet(t, defs))
	assert.Equal(t, pdu.ErrAgain, after.value(t, "a", at(5, 0, 0)).Code, "a definition that it uses is another one")
	assert.Equal(t, []float64{5}, numbers(after.value(t, "b", at(5, 0, 0))))
	assert.Equal(t, []uint64{4}, after.value(t, "c", at(5, 0, 0)).Bits)
	i := len(after.windows) - 1
	assert.True(t, after.Add(i, 5, at(5, 0, 70), true), "it is compared with the sample before the reload")
	assert.Equal(t, []uint64{5}, after.value(t, "c", at(5, 0, 0)).Bits)

	load := operands["load"]
	load.Units = pdu.Units{Count: 1}
	operands["load"] = load
	defer func() {
		load.Units = pdu.Units{}
		operands["load"] = load
	}()
	after = after.ForSet(newSet(t, defs))
	assert.Equal(t, pdu.ErrAgain, after.value(t, "b", at(5, 0, 0)).Code, "its operand is not what it was")
	assert.Equal(t, []uint64{5}, after.value(t, "c", at(5, 0, 0)).Bits)
}

// Groups are numbered by who keeps the windows and by who reads them, and meet by their names.
func TestGroupsOfWindows(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": `sum_sample(sum(bin) by (/.*/), "3s")`,
		"b": `a / sum(bin) by (/.*/)`,
	}))
	sample := func(tick int64, values ...uint64) *moment {
		ids := []pdu.Inst{1, 2, 3}[:len(values)]
		return &moment{at: time.Unix(tick, 0), values: map[pdu.PMID]*derived.Vector{binID: {
			Type:  pdu.Type32,
			Insts: derived.NewInstSet(ids), Bits: values,
		}}}
	}
	ws.Add(0, 1, sample(1, 1, 2, 3), true)
	ws.Add(0, 2, sample(2, 4), true)

	others := derived.NewGroups()
	e := ws.set.NewEvaluation()
	e.SetGroups(others)
	e.Reset(sample(2, 4))
	e.SetResults(ws.State(0, nil).Results)
	m, _ := ws.set.Lookup("a")
	v := e.Value(m)
	require.Len(t, v.Bits, 2)
	named := map[string]float64{}
	for i, x := range numbers(v) {
		one, ok := others.Find(m.Desc.InDom, v.At(i), "")
		require.True(t, ok)
		named[one.Name] = x
	}
	assert.Equal(t, map[string]float64{"red": 7, "blue": 3}, named, "those of all the window")
	assert.Len(t, others.Members(m.Desc.InDom), 2, "who has them can ask for their names")
	b, _ := ws.set.Lookup("b")
	assert.Equal(t, []float64{1.75}, numbers(e.Value(b)))
}

// A group keeps its name and its number as long as a window has a value of it, however many hours these are, and though
// another name has the same hash. A client of a window without a span gets its last value again after that.
func TestWindowsHoldTheirGroups(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": `max_sample(sum(bin) by (/(.*)/), "10s")`, "b": "max_sample(sum(bin) by (/(.*)/))",
	}))
	const span, own = 0, 1
	var s *moment
	add := func(tick int64, value uint64, name string, windows ...int) *State {
		s = binsAt(tick, []pdu.Inst{1}, value)
		s.names = named(map[pdu.Inst]string{1: name})
		ws.groups.SetTime(time.Unix(tick*3600, 0))
		ws.BeginTick(tick, time.Time{}, own)
		for _, i := range windows {
			ws.Add(i, tick, s, true)
		}
		return ws.State(tick, nil)
	}
	client, reader := &Cursor{}, NewReader(1000)
	read := func(state *State) map[string]uint64 {
		r, _ := reader.Read(state, client, []uint32{own}, time.Time{}, time.Time{})
		state.SetCursors(slices.Values([]*Cursor{client}), time.Time{})
		return groupValues(t, ws, "b", s, r)
	}
	read(add(1, 1, "x", span, own))
	add(2, 1000, "costarring", span, own)
	for tick := int64(3); tick < 11; tick++ {
		add(tick, 5, "liquid", span, own)
	}
	state := add(11, 5, "liquid", span, own)
	both := map[string]uint64{"costarring": 1000, "liquid": 5}
	assert.Equal(t, both, groupValues(t, ws, "a", s, state.Results))
	assert.Equal(t, both, read(state))

	add(12, 5, "x", span, own) // which clients do not get before it is complete
	add(13, 5, "x", span)
	_, known := ws.groups.Find(ws.windows[span].Desc.InDom, pdu.NoInst, "costarring")
	require.False(t, known)
	state = ws.State(11, state)
	assert.Equal(t, both, groupValues(t, ws, "b", s, reader.First(state, []uint32{own})))
	assert.Equal(t, both, read(state))
}

// A key that is another one all the time makes too many groups: windows that have their values begin anew, with an
// error that tells so, and go on.
func TestWindowsOfTooManyGroups(t *testing.T) {
	none := NewWindows(derived.NewGroups())
	none.FirstTicks = FirstTicks
	ws := none.ForSet(newSet(t, map[string]string{
		"a": `sum_sample(sum(bin) by (/(.*)/), "1hour")`, "b": "max_sample(sum(bin) by (/(.*)/))",
	}))
	const each = 12_000
	bits := slices.Repeat([]uint64{1}, each)
	codes := []pdu.Code{}
	for tick := range int64(6) {
		names, ids := map[pdu.Inst]string{}, []pdu.Inst{}
		for i := range pdu.Inst(each) {
			names[i], ids = fmt.Sprint(tick, " ", i), append(ids, i)
		}
		s := binsAt(tick, ids, bits...)
		s.names = named(names)
		ws.groups.SetTime(s.at)
		ws.BeginTick(tick, s.at, 1)
		ws.addAll(tick, s)
		codes = append(codes, ws.State(tick, nil).Results.Values[0].Code)
		assert.Equal(t, codes[tick] < 0, ws.windows[1].failed != nil)
	}
	assert.Equal(t, []pdu.Code{0, 0, 0, 0, pdu.ErrTooBig, 0}, codes)
}

// groupValues computes a metric with groups by their names, for a client that numbers them in another way.
func groupValues(t *testing.T, ws *Windows, metric string, s derived.Sample, r *derived.Results) map[string]uint64 {
	t.Helper()
	m, _ := ws.set.Lookup(metric)
	e, others := ws.set.NewEvaluation(), derived.NewGroups()
	e.SetGroups(others)
	e.Reset(s)
	e.SetResults(r)
	all, v := map[string]uint64{}, e.Value(m)
	for i, b := range v.Bits {
		one, _ := others.Find(m.Desc.InDom, v.At(i), "")
		all[one.Name] = b
	}
	return all
}

// A window takes the first sample in each of its intervals, whenever samples are taken.
func TestSamplesAsTicks(t *testing.T) {
	o := NewSingleClient(newSet(t, map[string]string{"a": `sum_sample(load, "6s", "2s")`}), derived.NewGroups(),
		FirstTicks)
	for _, row := range []struct {
		since time.Duration
		load  float64
		want  float64
	}{
		{0, 1, 1},
		{1900 * time.Millisecond, 2, 1},
		{2 * time.Second, 4, 5},
		{5 * time.Second, 8, 13},
		{5 * time.Second, 16, 13},
		{6 * time.Second, 32, 44},
		{12 * time.Second, 64, 64},
	} {
		taken := at(0, row.load, 0)
		o.Sample(row.since, taken)
		assert.Equal(t, []float64{row.want}, numbers(o.value(t, "a", taken)), row.since)
	}
}

// A per-client window keeps what a cursor needs, and the ticks of a first fetch.
func TestWindowKeepsWhatIsNeeded(t *testing.T) {
	set := newSet(t, map[string]string{"a": "sum_sample(load)"})
	ws := windowsOf(set)
	ws.Unlimited = false
	reader, c := NewReader(MaxPerClientValues), &Cursor{}
	now := func(tick int64) time.Time { return time.Unix(tick, 0) }
	tick := int64(0)
	pass := func(ticks int64) *State {
		for range ticks {
			tick++
			ws.BeginTick(tick, now(tick), 0)
			ws.Add(0, tick, at(tick, 1, 0), true)
		}
		return ws.State(tick, nil)
	}
	read := func(s *State) *derived.Vector {
		reader.BeginRequest()
		r, _ := reader.Read(s, c, []uint32{0}, now(tick), now(tick+10_000))
		s.SetCursors(func(yield func(*Cursor) bool) { yield(c) }, now(tick))
		return r.Values[0]
	}
	s := pass(100)
	assert.Equal(t, FirstTicks, ws.Retained(), "nobody reads it")
	assert.False(t, ws.IsRead(0, now(tick)))
	assert.Equal(t, []float64{10}, numbers(read(s)))
	assert.True(t, ws.IsRead(0, now(tick)))
	s = pass(100)
	assert.Equal(t, 100, ws.Retained())
	assert.Equal(t, []float64{100}, numbers(read(s)))
	pass(1)
	assert.Equal(t, FirstTicks, ws.Retained())
	s = pass(4000)
	assert.Equal(t, 3600, ws.Retained(), "no more than an hour")
	v := read(s)
	assert.Equal(t, pdu.ErrTooBig, v.Code)
	assert.NotEmpty(t, v.Why)
	assert.Equal(t, []float64{5}, numbers(read(pass(5))), "once")
	s.SetCursors(func(func(*Cursor) bool) {}, now(tick))
	pass(1)
	assert.Equal(t, FirstTicks, ws.Retained(), "the client has gone")
}

// A tick of more values than a window without a span may keep is an error, also for a first fetch.
func TestTickThatIsTooLarge(t *testing.T) {
	ws := NewWindows(derived.NewGroups())
	ws.FirstTicks, ws.MaxValues = FirstTicks, 3
	ws = ws.ForSet(newSet(t, map[string]string{"a": "sum_sample(bin)"}))
	reader, c := NewReader(MaxPerClientValues), &Cursor{}
	read := func(tick int64) *derived.Vector {
		reader.BeginRequest()
		r, _ := reader.Read(ws.State(tick, nil), c, []uint32{0}, time.Time{}, time.Time{})
		return r.Values[0]
	}
	for tick, ids := range [][]pdu.Inst{{1}, {1, 2}, {1, 2, 3, 4}, {1, 2}} {
		ws.BeginTick(int64(tick+1), time.Time{}, 0)
		ws.Add(0, int64(tick+1), binsAt(int64(tick+1), ids, make([]uint64, len(ids))...), true)
		if len(ids) > 2 {
			assert.Equal(t, pdu.ErrTooBig, read(int64(tick+1)).Code, "it has read before")
			c = &Cursor{}
			assert.Equal(t, pdu.ErrTooBig, read(int64(tick+1)).Code)
		} else {
			assert.Zero(t, read(int64(tick+1)).Code, "tick %d", tick)
		}
	}
}

// Windows in an archive have ticks at different records, also within one second: a value counts once.
func TestTicksOfOneSecond(t *testing.T) {
	o := NewSingleClient(newSet(t, map[string]string{"a": "sum_sample(load)", "b": "sum_sample(bin)"}), derived.NewGroups(),
		FirstTicks)
	both := func() []int {
		r, sizes := o.Read(), []int{}
		for i := range o.windows {
			sizes = append(sizes, len(r.Values[i].Bits))
		}
		return sizes
	}
	s := binsAt(1, []pdu.Inst{1, 2}, 3, 4)
	for tick := int64(1); tick < 4; tick++ {
		o.BeginTick(tick)
		o.Add(0, tick, s, true)
		first := both()
		o.BeginTick(tick)
		o.Add(1, tick, s, true)
		second := both()
		assert.Positive(t, first[0])
		assert.Zero(t, second[0], "it has been read")
		assert.Positive(t, second[1])
	}
}
