package window

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// setNames tells the windows the names of bin.
func (ws *Windows) setNames(table *derived.NameTable) bool {
	return ws.SetNames(func(d pdu.InDom) *derived.NameTable {
		if d == binDom {
			return table
		}
		return nil
	})
}

// Two instances exchange their numbers. What is held for a number ends as soon as its name is known, and begins anew
// with the next tick; a change since the tick before is not one. Others keep what they have, also one whose name changes
// behind a blank.
func TestNumbersOfOtherInstances(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{
		"a": `max_sample(bin, "1hour")`, "b": "latch(bin > 500, bin < 0)", "c": `sum_sample(delta(bin), "1min")`,
		"d": "max_sample(bin)",
	}))
	add := func(tick int64, bits ...uint64) *moment {
		s := binsAt(tick, []pdu.Inst{1, 2, 3}, bits...)
		ws.BeginTick(tick, s.at, 3)
		ws.addAll(tick, s)
		return s
	}
	results := func(s *moment) (all [4][]uint64) {
		state := ws.State(s.at.Unix(), nil)
		all[0], all[1] = ws.value(t, "a", s).Bits, ws.value(t, "b", s).Bits
		for _, x := range numbers(ws.value(t, "c", s)) {
			all[2] = append(all[2], uint64(x))
		}
		all[3] = NewReader(100).First(state, []uint32{3}).Values[3].Bits
		return all
	}
	assert.False(t, ws.setNames(named(map[pdu.Inst]string{1: "i0", 2: "i1", 3: "i2 -x"})))
	add(1, 1000, 1, 600)
	add(2, 1001, 3, 604)
	s := add(3, 5, 1002, 606) // they have changed, and nobody knows
	require.Equal(t, [4][]uint64{{1001, 1002, 606}, {1, 1, 1}, {1 << 63, 1001, 6}, {1001, 1002, 606}}[0], results(s)[0])

	assert.True(t, ws.setNames(named(map[pdu.Inst]string{1: "i1", 2: "i0", 3: "i2 -y"})))
	assert.Equal(t, [4][]uint64{{606}, {1}, {6}, {606}}, results(s))
	assert.False(t, ws.setNames(named(map[pdu.Inst]string{1: "i1", 2: "i0", 3: "i2 -y"})))

	s = add(4, 7, 1003, 607)
	assert.Equal(t, [4][]uint64{{7, 1003, 607}, {0, 1, 1}, {7}, {7, 1003, 607}}, results(s))
	s = add(5, 9, 1004, 608)
	assert.Equal(t, [4][]uint64{{9, 1004, 608}, {0, 1, 1}, {2, 1, 8}, {9, 1004, 608}}, results(s))
}

// The names of pmdaopenmetrics begin with the number, and the labels behind it tell the instance.
func TestNumbersOfOtherLabels(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": `max_sample(bin, "1hour")`, "b": `share_bucket(sum_sample(bin, "10s"), 1)`}))
	for _, names := range []map[pdu.Inst]string{
		{1: "1 le:1 route:/a", 2: "2 le:2 route:/a", 3: "3 le:+Inf route:/a", 4: "4 nginx: worker"},
		{1: "1 le:2 route:/a", 2: "2 le:1 route:/a", 3: "3 le:+Inf route:/a", 4: "4 nginx: master"},
	} {
		table := named(names)
		ended := ws.setNames(table)
		assert.Equal(t, ws.windows[0].hasTick(), ended)
		if !ended {
			ws.addAll(1, binsAt(1, []pdu.Inst{1, 2, 3, 4}, 1, 10, 10, 7))
		}
	}
	assert.Equal(t, []pdu.Inst{3, 4}, ws.windows[0].instances().IDs())
	assert.Empty(t, ws.windows[1].instances().IDs())
}

// When all that a window has has ended, nothing is known: sums over its instances are not 0. A client's own window ends
// at once, too.
func TestNothingIsLeft(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": `sum(max_sample(bin, "1hour"))`, "b": `count(max_sample(bin))`, "c": "max_sample(bin)"}))
	ws.setNames(named(map[pdu.Inst]string{1: "i0", 2: "i1"}))
	s := binsAt(1, []pdu.Inst{1, 2}, 5, 600)
	perClient := []int{}
	for i := range ws.windows {
		if ws.windows[i].PerClient() {
			perClient = append(perClient, i)
		}
	}
	ws.BeginTick(1, s.at, perClient...)
	ws.addAll(1, s)
	before := ws.State(1, nil)
	value := func(state *State, name string) *derived.Vector {
		m, _ := ws.set.Lookup(name)
		e := ws.set.NewEvaluation()
		e.Reset(s)
		e.SetResults(NewReader(100).First(state, m.Needs().Windows))
		return e.Value(m)
	}
	for _, name := range []string{"a", "b", "c"} {
		assert.NotEmpty(t, value(before, name).Bits, name)
	}
	assert.True(t, ws.setNames(named(map[pdu.Inst]string{1: "i1", 2: "i0"})))
	after := ws.State(1, before)
	for _, name := range []string{"a", "b", "c"} {
		assert.Empty(t, value(after, name).Bits, name)
		assert.NotEmpty(t, value(before, name).Bits, "%s: states never change", name)
	}
}

// Two buckets exchange their numbers, and exchange them back before the next tick but one: no tick counts for some of
// them.
func TestNumbersOfOtherBucketsTwice(t *testing.T) {
	d, err := derived.Parse("a", `share_bucket(sum_sample(delta(bin), "10s"), 1) by (/^(.)/)`)
	require.NoError(t, err)
	ws := windowsOf(derived.Language{}.NewSet([]*derived.Definition{d}, derived.CatalogMap{
		"bin": {PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemCounter},
	}, ""))
	names := named(map[pdu.Inst]string{1: "b1 le:1", 2: "b2 le:2", 3: "binf le:inf"})
	exchanged := named(map[pdu.Inst]string{1: "b2 le:2", 2: "b1 le:1", 3: "binf le:inf"})
	add := func(tick int64, table *derived.NameTable, bits ...uint64) []float64 {
		ws.setNames(table)
		s := binsAt(tick, []pdu.Inst{1, 2, 3}, bits...)
		s.names = table
		ws.addAll(tick, s)
		return numbers(ws.value(t, "a", s))
	}
	add(1, names, 0, 0, 0)
	add(2, names, 10, 20, 20)
	assert.Equal(t, []float64{0.5}, add(3, names, 20, 40, 40))
	assert.Empty(t, add(4, exchanged, 60, 30, 60))
	assert.Empty(t, add(5, names, 70, 80, 1080))
	assert.Equal(t, []float64{0.5}, add(6, names, 80, 100, 1100))
}

// Two buckets exchange their numbers: the others have no ticks that these lack.
func TestNumbersOfOtherBuckets(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": `share_bucket(sum_sample(bin, "10s"), 1)`}))
	ids, former := []pdu.Inst{1, 2, 3}, named(map[pdu.Inst]string{1: "le:1", 2: "le:2", 3: "le:inf"})
	ws.setNames(former)
	add := func(tick int64, bits ...uint64) *moment {
		s := binsAt(tick, ids, bits...)
		ws.addAll(tick, s)
		return s
	}
	s := add(1, 9, 10, 10)
	s.names = former
	assert.Equal(t, []float64{0.9}, numbers(ws.value(t, "a", s)))
	now := named(map[pdu.Inst]string{1: "le:2", 2: "le:1", 3: "le:inf"})
	assert.True(t, ws.setNames(now))
	add(2, 4, 1, 4) // it could have changes since the tick before
	s = add(3, 4, 1, 4)
	s.names = now
	assert.Equal(t, []float64{0.25}, numbers(ws.value(t, "a", s)))
}

// A number that comes back within the window is another instance only if it has another name. Until the next tick, an
// instance that has gone has the name that it had.
func TestNumbersThatComeBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		want uint64
	}{{"a", 9}, {"b", 1}} {
		ws := windowsOf(newSet(t, map[string]string{"a": `max_sample(bin, "10s")`}))
		ws.setNames(named(map[pdu.Inst]string{1: "x", 2: "a"}))
		ws.addAll(1, binsAt(1, []pdu.Inst{1, 2}, 8, 9))
		for _, gone := range []map[pdu.Inst]string{{1: "x"}, {1: "x", 3: "y"}} {
			ws.setNames(named(gone))
			name, ok := ws.InstanceName(binDom, 2)
			assert.True(t, ok)
			assert.Equal(t, "a", name)
		}
		ws.addAll(2, binsAt(2, []pdu.Inst{1}, 8))
		ws.addAll(3, binsAt(3, []pdu.Inst{1, 2}, 8, 0))
		ws.setNames(named(map[pdu.Inst]string{1: "x", 2: tt.name}))
		s := binsAt(4, []pdu.Inst{1, 2}, 8, 1)
		ws.addAll(4, s)
		assert.Equal(t, []uint64{8, tt.want}, ws.value(t, "a", s).Bits)
	}
}

// numbered is a model of what is held for numbers: it has all ticks, and computes everything anew.
type numbered struct {
	ticks []map[pdu.Inst]uint64
	last  map[pdu.Inst]string // the last known name of a number that has a value or a name
	ended map[pdu.Inst]bool   // since the last tick
}

func newNumbered() *numbered {
	return &numbered{last: map[pdu.Inst]string{}, ended: map[pdu.Inst]bool{}}
}

// newest returns the last ticks.
func (m *numbered) newest(span int) []map[pdu.Inst]uint64 { return m.ticks[max(0, len(m.ticks)-span):] }

// setNames ends the numbers that have another name.
func (m *numbered) setNames(names map[pdu.Inst]string, span int) {
	for id, former := range m.last {
		name, ok := names[id]
		switch {
		case ok && name != former:
			m.ended[id] = true
			for _, values := range m.ticks {
				delete(values, id)
			}
		case !ok && !slices.ContainsFunc(m.newest(span), func(values map[pdu.Inst]uint64) bool {
			_, has := values[id]
			return has
		}):
			delete(m.last, id)
		}
	}
	maps.Copy(m.last, names)
}

func (m *numbered) add(values map[pdu.Inst]uint64) {
	m.ticks, m.ended = append(m.ticks, values), map[pdu.Inst]bool{}
}

// merged merges the values of each instance at the last ticks.
func merged[K comparable](ticks []map[K]uint64, merge func(a, b uint64) uint64) map[K]uint64 {
	all := map[K]uint64{}
	for _, values := range ticks {
		for id, x := range values {
			if before, ok := all[id]; ok {
				x = merge(before, x)
			}
			all[id] = x
		}
	}
	return all
}

func larger(a, b uint64) uint64 { return max(a, b) }
func plus(a, b uint64) uint64   { return a + b }

// TestRandomNames compares windows and latches with the model: instances come and go, exchange their numbers, and get
// names that are known some ticks later, and groups whose names have the same hash were last used hours ago.
func TestRandomNames(t *testing.T) {
	const span = 20
	set := newSet(t, map[string]string{
		"a": `max_sample(bin, "20s")`, "b": "latch(bin > 60, bin < 40)", "c": `sum_sample(delta(bin), "20s")`,
		"d": `max_sample(sum(bin) by (/(.*)/), "20s")`,
	})
	pool := []string{"costarring", "liquid", "a", "b", "c", "d", "e", "f"}
	for seed := range *sequences {
		r := rand.New(rand.NewPCG(61, seed))
		ws := windowsOf(set)
		peaks, latches, changes := newNumbered(), newNumbered(), newNumbered()
		var groups []map[string]uint64
		var is, known map[pdu.Inst]string
		var before map[pdu.Inst]uint64
		for tick := range 40 {
			if r.IntN(4) == 0 { // they come, go, and move to other numbers
				is = map[pdu.Inst]string{}
				for i, at := range r.Perm(len(pool)) {
					if r.IntN(2) == 0 {
						is[pdu.Inst(i)] = pool[at]
					}
				}
			}
			if r.IntN(3) == 0 { // now their names are known
				known = is
				ws.setNames(named(known))
				peaks.setNames(known, span)
				latches.setNames(known, 1)
				changes.setNames(known, span)
			}
			ids := slices.Sorted(maps.Keys(is))
			values, change, states, sums := map[pdu.Inst]uint64{}, map[pdu.Inst]uint64{}, map[pdu.Inst]uint64{}, map[string]uint64{}
			var bits []uint64
			for _, id := range ids {
				x := r.Uint64N(100)
				values[id], bits = x, append(bits, x)
				if former, ok := before[id]; ok && !changes.ended[id] {
					change[id] = x - former
				}
				if states[id] = 0; tick > 0 {
					states[id] = latches.ticks[tick-1][id]
				}
				if x > 60 {
					states[id] = 1
				} else if x < 40 {
					states[id] = 0
				}
				if name, ok := known[id]; ok {
					sums[name] += x
				}
			}
			before = values
			peaks.add(maps.Clone(values))
			latches.add(states)
			changes.add(change)
			groups = append(groups, sums)
			s := binsAt(int64(tick), ids, bits...)
			s.names = named(known)
			ws.groups.SetTime(time.Unix(int64(tick)*3600, 0))
			ws.addAll(int64(tick), s)

			present := func(all map[pdu.Inst]uint64) map[pdu.Inst]uint64 {
				maps.DeleteFunc(all, func(id pdu.Inst, _ uint64) bool { _, ok := values[id]; return !ok })
				return all
			}
			for metric, want := range map[string]map[pdu.Inst]uint64{
				"a": merged(peaks.newest(span), larger), "b": states, "c": merged(changes.newest(span), plus),
			} {
				got := map[pdu.Inst]uint64{}
				v := ws.value(t, metric, s)
				for i, b := range v.Bits {
					if got[v.At(i)] = b; metric == "c" {
						got[v.At(i)] = uint64(int64(v.Type.Float64(b)))
					}
				}
				require.Equal(t, present(want), got, "seed %d, tick %d: %s", seed, tick, metric)
			}
			got := groupValues(t, ws, "d", s, ws.State(0, nil).Results)
			require.Equal(t, merged(groups[max(0, len(groups)-span):], larger), got, "seed %d, tick %d", seed, tick)
		}
	}
}
