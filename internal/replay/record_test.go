package replay

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/identity"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// record makes an archive of definitions over another one.
func record(t *testing.T, in *archive.Archive, r *Recording, lines ...string) (*archive.Archive, *Report, error) {
	t.Helper()
	r.In, r.Out = in, filepath.Join(t.TempDir(), "out")
	if r.IDs == nil {
		var err error
		r.IDs, err = identity.Load("", 510)
		require.NoError(t, err)
	}
	if r.End.IsZero() {
		r.Start, r.End = night, at(30, 0)
	}
	r.Config = served.Config{Definitions: definitions(t, lines...)}
	report, err := r.Record(t.Context())
	if err != nil {
		left, globErr := filepath.Glob(r.Out + "*")
		require.NoError(t, globErr)
		assert.Empty(t, left)
		return nil, report, err
	}
	made, err := archive.Open(r.Out)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, made.Close()) })
	return made, report, nil
}

// idOf is the PMID of a metric.
func idOf(t *testing.T, a *archive.Archive, name string) pdu.PMID {
	t.Helper()
	found, err := a.LookupNames(t.Context(), []string{name})
	require.NoError(t, err)
	require.Zero(t, found[0].Code, name)
	return found[0].PMID
}

// times are those of the records that have a metric, and marks.
func times(t *testing.T, a *archive.Archive, id pdu.PMID) (all []string) {
	t.Helper()
	c := a.NewContext(time.Time{}, time.Time{})
	for {
		r, err := c.Next(t.Context(), id)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		text := r.Time.UTC().Format("04:05.999")
		if r.Mark {
			text += " mark"
		}
		all = append(all, text)
	}
}

// next is the next record that has a metric.
func next(t *testing.T, c *archive.Context, id pdu.PMID) *archive.Record {
	t.Helper()
	for {
		r, err := c.Next(t.Context())
		require.NoError(t, err)
		if slices.ContainsFunc(r.Sets, func(set pdu.Column) bool { return set.PMID == id }) {
			return r
		}
	}
}

// A written archive has the values that the agent would serve.
func TestRecord(t *testing.T) {
	lines := []string{
		"busy = rate(disk.dev.avactive)", "load = max(kernel.all.load) / hinv.ncpu",
		`kind = sum(rate(disk.dev.read)) by (letter=/(.)$/)`,
		`peak = max_sample(busy, "1min")`, "wrong = no.such", "inf = mem.util.available / 0",
	}
	ids, err := identity.Load("", 510)
	require.NoError(t, err)
	made, report, err := record(t, open(t), &Recording{PID: 1, IDs: ids}, lines...)
	require.NoError(t, err)
	assert.Equal(t, []LeftOut{{Name: "wrong", Why: "Semantic error: derived metric wrong: operand no.such: Unknown " +
		"operand metric", LacksOperands: true}}, report.LeftOut)
	assert.Len(t, report.NewPMIDs, 5)
	assert.Len(t, report.Metrics, 5)
	_, again, err := record(t, open(t), &Recording{PID: 1, IDs: ids}, lines...)
	require.NoError(t, err)
	assert.Empty(t, again.NewPMIDs)
	label := made.LogLabels()[0]
	assert.Equal(t, []any{3, 1, "web1.example", ":Etc/UTC"},
		[]any{label.Version, label.PID, label.Host, label.ZoneInfo})

	busy, kind := idOf(t, made, "derived.busy"), idOf(t, made, "derived.kind")
	desc, err := made.Desc(t.Context(), busy)
	require.NoError(t, err)
	assert.Equal(t, pdu.Desc{PMID: pdu.NewPMID(510, 1, 0), Type: pdu.TypeDouble, InDom: disks, Sem: pdu.SemInstant},
		desc)
	text, err := made.Text(t.Context(), uint32(busy), pdu.TextPMID|pdu.TextHelp)
	require.NoError(t, err)
	assert.Equal(t, "busy = rate(disk.dev.avactive)\n\nDefined in /etc/site.conf, line 1.", text)
	desc, err = made.Desc(t.Context(), kind)
	require.NoError(t, err)
	assert.Equal(t, 510, desc.InDom.Domain())
	theirs, err := open(t).AllInstances(disks)
	require.NoError(t, err)
	c := made.NewContext(time.Time{}, time.Time{})
	mine, err := c.Instances(t.Context(), disks)
	require.NoError(t, err)
	assert.Equal(t, theirs, mine, "all from the start on")
	c.SetTime(at(29, 0))
	sets, err := c.Labels(t.Context(), uint32(desc.InDom), pdu.LabelInstances)
	require.NoError(t, err)
	var letters []string
	for _, set := range sets {
		letters = append(letters, set.JSON)
	}
	assert.ElementsMatch(t, []string{`{"letter":"a"}`, `{"letter":"b"}`, `{"letter":"c"}`}, letters)

	// The metrics of the archive are what the definitions give over In.
	source := NewSource(open(t))
	want := watching(t, source, lines[0], lines[1], lines[2], lines[3])
	c.Rewind(night)
	n := 0
	require.NoError(t, NewPlayer(source, want).Play(t.Context(), Options{Start: night, End: at(30, 0)},
		func(s *session.Session, at time.Time) error {
			r := next(t, c, busy)
			require.Equal(t, at, r.Time)
			for _, m := range s.Set().Metrics() {
				id := idOf(t, made, "derived."+m.Name)
				i := slices.IndexFunc(r.Sets, func(set pdu.Column) bool { return set.PMID == id })
				require.GreaterOrEqual(t, i, 0)
				v := s.Value(m).OnlyFinite()
				assert.Equal(t, []any{v.Code, append([]uint64{}, v.Bits...)},
					[]any{r.Sets[i].Code, append([]uint64{}, r.Sets[i].Bits...)}, "%s at %s", m.Name, at)
				if v.Insts != nil && v.Len() > 0 {
					assert.Equal(t, v.Insts.IDs(), r.Sets[i].Insts)
				}
				n += v.Len()
			}
			return nil
		}))
	assert.Greater(t, n, 1000)

	inf := idOf(t, made, "derived.inf")
	c.SetTime(at(10, 0))
	res, err := c.FetchColumns(t.Context(), []pdu.PMID{inf})
	require.NoError(t, err)
	assert.Empty(t, res.Sets[0].Bits, "not served either")
}

// A domain of which no instance was recorded takes nothing down.
func TestRecordWithoutInstances(t *testing.T) {
	base := filepath.Join(t.TempDir(), "in")
	w, err := writer.Create(base, writer.Label{Version: 3, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	require.NoError(t, w.Metric(readDesc, "disk.dev.read"))
	require.NoError(t, w.Metric(freeDesc, "mem.util.available"))
	for minute := range 3 {
		w.Values().Fail(readDesc.PMID, pdu.ErrAgain)
		w.Values().Number(freeDesc.PMID, freeDesc.Type, 1024)
		require.NoError(t, w.Put(at(minute, 0)))
	}
	require.NoError(t, w.Close())
	in, err := archive.Open(base)
	require.NoError(t, err)
	defer in.Close()
	made, report, err := record(t, in, &Recording{Options: Options{Start: night, End: at(2, 0)}},
		"twice = disk.dev.read * 2", "free = mem.util.available / 1024")
	require.NoError(t, err)
	assert.Len(t, report.Metrics, 2)
	assert.Len(t, times(t, made, idOf(t, made, "derived.free")), 3)
}

// A number that another group gets, hours after the first one, has the other name in the archive from then on.
func TestRecordNumberOfAnotherGroup(t *testing.T) {
	base := filepath.Join(t.TempDir(), "in")
	w, err := writer.Create(base, writer.Label{Version: 3, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	require.NoError(t, w.Metric(readDesc, "disk.dev.read"))
	for n, name := range []string{"costarring", "", "", "", "liquid"} { // two have the same hash
		all, ids := []pdu.Instance{{ID: 9, Name: "stays"}}, []pdu.Inst{9}
		if name != "" {
			all, ids = append(all, pdu.Instance{ID: pdu.Inst(n), Name: name}), append(ids, pdu.Inst(n))
		}
		require.NoError(t, w.InDom(at(30*n, 0), readDesc.InDom, all))
		w.Values().Numbers(readDesc.PMID, readDesc.Type, ids, make([]uint64, len(ids)))
		require.NoError(t, w.Put(at(30*n, 0)))
	}
	require.NoError(t, w.Close())
	in, err := archive.Open(base)
	require.NoError(t, err)
	defer in.Close()
	made, _, err := record(t, in, &Recording{Options: Options{Start: night, End: at(120, 0)}},
		"by = sum(instant(disk.dev.read)) by (/(.*)/)")
	require.NoError(t, err)
	by := idOf(t, made, "derived.by")
	desc, err := made.Desc(t.Context(), by)
	require.NoError(t, err)
	c := made.NewContext(time.Time{}, time.Time{})
	defer c.Close()
	for n, want := range map[int][]string{0: {"costarring", "stays"}, 4: {"liquid", "stays"}} {
		c.SetTime(at(30*n, 0))
		all, err := c.Instances(t.Context(), desc.InDom)
		require.NoError(t, err)
		var names []string
		for _, one := range all {
			names = append(names, one.Name)
		}
		assert.Equal(t, want, names)
	}
}

// Each metric is written at the records that hold one of its operands, once a round of pmlogger.
func TestRecordsOfTwoTimers(t *testing.T) {
	made, _, err := record(t, open(t), &Recording{Options: Options{Start: at(20, 0), End: at(23, 0)}},
		"busy = rate(disk.dev.avactive)", "free = mem.util.available / 1024",
		"both = mem.util.available / max(kernel.all.load)")
	require.NoError(t, err)
	assert.Equal(t, []string{"20:30.5", "21:30.5", "21:51 mark", "22:30.5"},
		times(t, made, idOf(t, made, "derived.free")))
	busy := strings.Join(times(t, made, idOf(t, made, "derived.busy")), " ")
	assert.Contains(t, busy, "20:20 20:30 20:40")
	both := strings.Join(times(t, made, idOf(t, made, "derived.both")), " ")
	assert.Contains(t, both, "20:20 20:30.5 20:40")
}

func TestRecordAtIntervals(t *testing.T) {
	made, _, err := record(t, open(t), &Recording{Options: Options{
		Start: at(20, 0), End: at(23, 0),
		Every: time.Minute,
	}}, "free = mem.util.available / 1024")
	require.NoError(t, err)
	assert.Equal(t, []string{"20:00", "21:00", "21:51 mark", "22:00", "23:00"},
		times(t, made, idOf(t, made, "derived.free")))
}

// Nothing is written at the time of a mark.
func TestRecordAtAMark(t *testing.T) {
	made, _, err := record(t, open(t), &Recording{Options: Options{
		Start: at(20, 51), End: at(22, 51), Every: time.Minute,
	}}, "free = mem.util.available / 1024")
	require.NoError(t, err)
	assert.Equal(t, []string{"20:51", "21:51 mark", "22:51"}, times(t, made, idOf(t, made, "derived.free")))
}

// There is no archive without a value, because no tool could open it.
func TestRecordNoValues(t *testing.T) {
	_, _, err := record(t, open(t), &Recording{}, "none = matchinst(/nothing/, kernel.all.load)")
	require.ErrorIs(t, err, ErrNoValues)
}

// A metric that the archive already has keeps its numbers, and is written only with Replace.
func TestReplace(t *testing.T) {
	lines := []string{"busy = rate(disk.dev.avactive)", `kind = sum(disk.dev.read) by (/(.)$/)`}
	ids, err := identity.Load("", 511) // of another host
	require.NoError(t, err)
	made, _, err := record(t, open(t), &Recording{IDs: ids}, lines...)
	require.NoError(t, err)

	_, report, err := record(t, made, &Recording{}, "busy = 1", "kind = 2")
	require.ErrorIs(t, err, ErrNothing)
	assert.Equal(t, []LeftOut{
		{Name: "busy", Why: "the archive already has it", Recorded: true},
		{Name: "kind", Why: "the archive already has it", Recorded: true},
	}, report.LeftOut)
	_, report, err = record(t, made, &Recording{Replace: true}, "busy = 1", "kind = 2", "busy.more = 3")
	require.ErrorIs(t, err, ErrNothing)
	assert.Equal(t, "the archive has it with different metadata: DOUBLE instant none 60.1, not U32 discrete none "+
		"PM_INDOM_NULL", report.LeftOut[0].Why)
}

// A PMID that is another metric's in the archive is not given to a second one.
func TestRecordWithoutConfusion(t *testing.T) {
	made, _, err := record(t, open(t), &Recording{}, "first = max(kernel.all.load)")
	require.NoError(t, err)
	_, report, err := record(t, made, &Recording{}, "other = 1", "first.below = 2")
	require.ErrorIs(t, err, ErrNothing)
	assert.Equal(t, []LeftOut{
		{Name: "first.below", Why: "the archive has a metric derived.first"},
		{Name: "other", Why: "its PMID 510.1.0 belongs to derived.first in the archive"},
	}, report.LeftOut)
}

func TestRecordIntoNowhere(t *testing.T) {
	r := &Recording{
		In: open(t), Out: filepath.Join(t.TempDir(), "no", "out"),
		Options: Options{Start: night, End: at(1, 0)},
	}
	var err error
	r.IDs, err = identity.Load("", 510)
	require.NoError(t, err)
	_, err = r.Record(t.Context())
	require.ErrorIs(t, err, ErrNothing)
	r.Config = served.Config{Definitions: definitions(t, "load = kernel.all.load")}
	_, err = r.Record(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Definitions with operands in different records have the values that each has in an archive of its own: no rate crosses
// a mark because another definition has fetched the same counter since, and no increase lacks an instance that a tick of
// another definition lacks.
func TestRecordedTogether(t *testing.T) {
	lines := []string{
		"one = rate(w.c)", "two = rate(w.c) * w.x", "three = delta(w.c) + max(w.x)", `four = sum_sample(delta(w.c), "9s") * w.x`,
		"five = increase(w.c)", "six = last_sample(instant(w.c))",
	}
	for seed := range uint64(20) {
		a := world(t, rand.New(rand.NewPCG(seed, 3)))
		if seed%4 == 0 {
			a, _, _ = countedWorld(t, rand.New(rand.NewPCG(seed, 4)), false)
		}
		for _, every := range []time.Duration{0, 7 * time.Second} {
			ids, err := identity.Load("", 510)
			require.NoError(t, err)
			o := Options{Start: night, End: a.End(), Every: every}
			made, _, err := record(t, a, &Recording{Options: o, IDs: ids}, lines...)
			require.NoError(t, err)
			together := values(t, made, night)
			for _, line := range lines {
				alone, _, err := record(t, a, &Recording{Options: o, IDs: ids}, line)
				require.NoError(t, err)
				name, _, _ := strings.Cut(line, " ")
				id := " " + idOf(t, made, "derived."+name).String() + " "
				others := func(row string) bool { return !strings.Contains(row, id) }
				require.Equal(t, values(t, alone, night), slices.DeleteFunc(slices.Clone(together), others),
					"seed %d, %s every %v", seed, line, every)
			}
		}
	}
}

// A definition has no sample at a record that has only its discrete operand, also if another one has operands there.
func TestRecordedBesideDiscrete(t *testing.T) {
	base := filepath.Join(t.TempDir(), "world")
	w, err := writer.Create(base, writer.Label{Version: 3, PID: 1, Start: night, Host: "web1.example", TimeZone: "UTC"})
	require.NoError(t, err)
	descs := map[string]pdu.Desc{}
	for i, name := range []string{"w.x", "w.y", "w.d"} {
		sem := pdu.SemInstant
		if name == "w.d" {
			sem = pdu.SemDiscrete
		}
		descs[name] = pdu.Desc{PMID: pdu.NewPMID(60, 3, i), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: sem}
		require.NoError(t, w.Metric(descs[name], name))
	}
	for i, has := range [][]string{{"w.x", "w.y", "w.d"}, {"w.y", "w.d"}, {"w.x", "w.y"}} {
		for _, name := range has {
			w.Values().Numbers(descs[name].PMID, pdu.TypeU64, []pdu.Inst{pdu.NoInst}, []uint64{uint64(i + 1)})
		}
		require.NoError(t, w.Put(night.Add(time.Duration(i)*time.Minute)))
	}
	require.NoError(t, w.Close())
	in, err := archive.Open(base)
	require.NoError(t, err)
	defer in.Close()
	for _, others := range [][]string{nil, {"other = w.x + w.y"}} {
		made, _, err := record(t, in, &Recording{Options: Options{Start: night, End: in.End()}},
			append(others, "one = w.x * w.d")...)
		require.NoError(t, err)
		assert.Equal(t, []string{"00:00", "02:00"}, times(t, made, idOf(t, made, "derived.one")), others)
	}
}
