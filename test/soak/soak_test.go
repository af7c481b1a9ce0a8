package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func TestMain(m *testing.M) {
	if status, helper := Helper(os.Args[1:]); helper {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// A short run with a real pmcd: everything happens, and what does not depend on the machine's speed holds.
func TestShortRun(t *testing.T) {
	daemon := filepath.Join(t.TempDir(), "pmdaderived")
	build := exec.Command("go", "build", "-trimpath", "-o", daemon, "./cmd/pmdaderived")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var log strings.Builder
	table, err := Run(ctx, Options{Daemon: daemon, Log: &log, Plan: Short()})
	require.NoError(t, err, log.String())

	var printed strings.Builder
	require.NoError(t, table.Write(&printed))
	t.Logf("\n%s", printed.String())
	for _, r := range table.Rows {
		assert.NotEmpty(t, r.Found, r.What)
		if !r.Timed {
			assert.True(t, r.OK, "%s: %s, wanted %s", r.What, r.Found, r.Wanted)
		}
	}
	if t.Failed() {
		t.Log(log.String())
	}
}

// fetchOf is what an agent serves of a list whose samples were taken at a time, with steps since another.
func fetchOf(list []chosen, at, before uint64) []pdu.ValueSet {
	metrics := waveMetrics()
	operand := map[string]int{"nanos": 0, "load": 5, "phase": 1, "member": 4}
	var sets []pdu.ValueSet
	for _, c := range list {
		set := pdu.ValueSet{PMID: c.id}
		switch {
		case c.metric != nil:
			set.Values = valuesOf(c.metric.form.cells(moment{at: at, before: before, took: float64(at-before) / 1e9}, float64(c.metric.k)))
		case c.role == atRole:
			set.Values = []pdu.Value{pdu.Uint64Value(0, metrics[operand[c.track.name]].value(at, 0))}
		case c.role == stepRole:
			set.Values = []pdu.Value{pdu.DoubleValue(0, float64(at-before)/c.track.unit)}
		default:
			set.Values = []pdu.Value{pdu.DoubleValue(0, 1e9/c.track.unit)}
		}
		sets = append(sets, set)
	}
	return sets
}

// Each row is what an agent does in the second of two fetches, and what the judge has to say.
func TestJudge(t *testing.T) {
	m := newModel(len(forms()))
	var list []chosen
	for _, name := range []string{"nanos", "member"} {
		for _, track := range tracks() {
			for _, role := range track.roles() {
				if track.name == name {
					list = append(list, chosen{name: track.metric(role), id: pdu.PMID(len(list)), track: &track, role: role})
				}
			}
		}
	}
	for _, name := range []string{"sum", "passed"} {
		i := slices.IndexFunc(m.metrics, func(x metric) bool { return x.form.name == name })
		list = append(list, chosen{name: m.metrics[i].name, id: pdu.PMID(len(list)), typ: pdu.TypeDouble, metric: &m.metrics[i]})
	}
	now := time.Now().Truncate(time.Microsecond)
	at := func(ms int) uint64 { return uint64(now.Add(time.Duration(ms) * time.Millisecond).UnixNano()) }
	const sum, passed = 4, 5
	for _, row := range []struct {
		name   string
		sets   func() []pdu.ValueSet
		kind   kind
		reason string // "": nothing is wrong
	}{
		{"the next step", func() []pdu.ValueSet { return fetchOf(list, at(-100), at(-1100)) }, 0, ""},
		{"a gap", func() []pdu.ValueSet { return fetchOf(list, at(-100), at(-1000)) }, wrongValue, "has to be since"},
		{"the same time twice", func() []pdu.ValueSet { return fetchOf(list, at(-100), at(-2100)) }, wrongValue, "has to be since"},
		{"back in time", func() []pdu.ValueSet { return fetchOf(list, at(-1200), at(-2200)) }, wrongValue, "is served after"},
		{"another moment", func() []pdu.ValueSet {
			sets := fetchOf(list, at(-100), at(-1100))
			sets[sum] = fetchOf(list, at(-101), at(-1100))[sum]
			return sets
		}, wrongValue, "derived.sum."},
		{"another history", func() []pdu.ValueSet {
			sets := fetchOf(list, at(-100), at(-1100))
			sets[passed] = fetchOf(list, at(-100), at(-1101))[passed]
			return sets
		}, wrongValue, "derived.passed."},
		{"no value", func() []pdu.ValueSet {
			sets := fetchOf(list, at(-100), at(-1100))
			sets[sum].Values = nil
			return sets
		}, missingValue, "no value of derived.sum."},
		{"no history", func() []pdu.ValueSet {
			sets := fetchOf(list, at(-100), at(-1100))
			sets[1].Values, sets[2].Values, sets[passed].Values = nil, nil, nil
			return sets
		}, missingValue, "no value of derived.track.nanos.step"},
		{"values of nobody", func() []pdu.ValueSet {
			sets := fetchOf(list, at(-100), at(-1100))
			sets[3].Values = nil
			return sets
		}, wrongValue, "its track has none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			s := &scene{tally: &tally{log: &log}, weather: &weather{}}
			j := newJudge(s, "client")
			j.list = list
			j.check(fetchOf(list, at(-1100), at(-2100)), now, now)
			require.Zero(t, s.tally.bad(), log.String())
			j.check(row.sets(), now, now)
			if row.reason == "" {
				assert.Zero(t, s.tally.bad(), log.String())
				return
			}
			assert.Positive(t, s.tally.problems[row.kind].Load())
			assert.Contains(t, log.String(), row.reason)
		})
	}
}

func TestWeather(t *testing.T) {
	var w weather
	begin := time.Now()
	ends := w.begins(agentGone)
	later := time.Now().Add(time.Hour)
	assert.True(t, w.bad(begin, later, agentGone), "it lasts")
	assert.False(t, w.bad(begin, later, pmcdGone), "another cause")
	assert.False(t, w.bad(begin.Add(-time.Hour), begin.Add(-time.Minute), agentGone), "before")
	ends()
	assert.True(t, w.bad(time.Now().Add(Grace/2), later, agentGone), "within the grace")
	assert.False(t, w.bad(time.Now().Add(Grace), later, agentGone), "after")
	assert.Equal(t, 1, w.count(agentGone))
}

func TestComplaints(t *testing.T) {
	const log = `[Sat] pmcd(1) Error: __pmGetAddrInfo(north): No route to host
[Sat] pmcd(1) Info: CleanupAgent ...
Cleanup "derived" agent (dom 510): terminated, exit(0)
Cleanup "wave" agent (dom 401): protocol failure for fd=14, exit(255)
active agent dom   pid  in out ver protocol parameters
Cleanup "derived" agent (dom 510): protocol failure for fd=14, exit(0)
`
	assert.Equal(t, []string{`Cleanup "derived" agent (dom 510): protocol failure for fd=14, exit(0)`}, complaints(log))
}

func TestWarnings(t *testing.T) {
	const log = `Log for pmdaderived on vm started Sun Nov 22 04:10:41 2026

time=2026-11-22T04:10:41Z level=info msg=started domain=510
time=2026-11-22T04:10:42Z level=error msg=Semantic error: derived metric slot29.m: a + b: Non-arithmetic type for left operand
time=2026-11-22T04:10:43Z level=warning msg=metric is gone or has become another one metric=slot1.m pmid=510.2.936
time=2026-11-22T04:10:44Z level=warning msg=agent is slow, sampled seldom domain=401 duration=120ms
`
	assert.Equal(t, []string{`time=2026-11-22T04:10:44Z level=warning msg=agent is slow, sampled seldom domain=401 duration=120ms`}, warnings(log))
}

func TestDropLine(t *testing.T) {
	assert.True(t, dropLine().MatchString("Cleanup \"derived\" agent (dom 510): protocol failure for fd=15\n"))
	assert.True(t, dropLine().MatchString("Cleanup \"derived\" agent (dom 510): protocol failure for fd=15, exit(0)\n"), "pmcd was ending")
	assert.False(t, dropLine().MatchString("Cleanup \"derived\" agent (dom 510): protocol failure for fd=15, exit(1)\n"))
	assert.False(t, dropLine().MatchString("Cleanup \"derived\" agent (dom 510): terminated, exit(0)\n"))
}

func TestOnlyMissing(t *testing.T) {
	late := fmt.Errorf("derived.a: %w", pdu.ErrAgain)
	for _, row := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"no samples", errors.Join(late, late), true},
		{"a wrong value, too", errors.Join(late, errors.New("derived.b: 1, want 2")), false},
		{"no generation", errors.New("no value that shows the generation"), false},
	} {
		assert.Equal(t, row.want, onlyMissing(row.err), row.name)
	}
}
