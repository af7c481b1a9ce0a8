package soak

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// fetchOf is what an agent serves of a list whose samples were taken at a time, with steps since another.
func fetchOf(t *testing.T, list []selection, at, before uint64) []pdu.ValueSet {
	t.Helper()
	var sets []pdu.ValueSet
	for _, c := range list {
		set := pdu.ValueSet{PMID: c.desc.PMID}
		switch {
		case c.metric != nil:
			set.Values = valuesOf(c.metric.form.cells(moment{at: at, before: before, interval: float64(at-before) / 1e9},
				float64(c.metric.k)))
		case c.role == atRole:
			set.Values = []pdu.Value{pdu.Uint64Value(0, operandOf(t, c.track)(at, 0))}
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
	var list []selection
	for _, name := range []string{"nanos", "member"} {
		for _, track := range tracks() {
			for _, role := range track.roles() {
				if track.name == name {
					list = append(list, selection{
						name: track.metric(role), desc: pdu.Desc{PMID: pdu.PMID(len(list))},
						track: &track, role: role,
					})
				}
			}
		}
	}
	for _, name := range []string{"sum", "passed"} {
		i := slices.IndexFunc(m.metrics, func(x metric) bool { return x.form.name == name })
		list = append(list, selection{name: m.metrics[i].name, desc: pdu.Desc{
			PMID: pdu.PMID(len(list)),
			Type: pdu.TypeDouble,
		}, metric: &m.metrics[i]})
	}
	now := time.Now().Truncate(time.Microsecond)
	at := func(ms int) uint64 { return uint64(now.Add(time.Duration(ms) * time.Millisecond).UnixNano()) }
	const step, pace, moments, sum, passed = 1, 2, 3, 4, 5
	without := func(which ...int) func([]pdu.ValueSet) {
		return func(sets []pdu.ValueSet) {
			for _, i := range which {
				sets[i].Values = nil
			}
		}
	}
	for _, row := range []struct {
		name       string
		at, before int // ms from now: the sample, and since when its steps are
		spoil      func(sets []pdu.ValueSet)
		kind       kind
		reason     string // "": nothing is wrong
	}{
		{"the next step", -100, -1100, nil, 0, ""},
		{"a gap", -100, -1000, nil, wrongValue, "has to be since"},
		{"the same time twice", -100, -2100, nil, wrongValue, "has to be since"},
		{"back in time", -1200, -2200, nil, wrongValue, "is served after"},
		{
			"another moment", -100, -1100, func(sets []pdu.ValueSet) { sets[sum] = fetchOf(t, list, at(-101), at(-1100))[sum] },
			wrongValue, "derived.sum.",
		},
		{
			"another history", -100, -1100, func(sets []pdu.ValueSet) {
				sets[passed] = fetchOf(t, list, at(-100),
					at(-1101))[passed]
			},
			wrongValue, "derived.passed.",
		},
		{"no value", -100, -1100, without(sum), missingValue, "no value of derived.sum."},
		{"no history", -100, -1100, without(step, pace, passed), missingValue, "no value of derived.track.nanos.step"},
		{"values of nobody", -100, -1100, without(moments), wrongValue, "its track has none"},
		{"the same sample again", -1100, -2100, without(step, passed), 0, ""},
		{"a delta twice", -1100, -2100, without(step), wrongValue, "the sample is that of the fetch before"},
		{"another rate of the same sample", -1100, -2100, func(sets []pdu.ValueSet) {
			without(step, passed)(sets)
			sets[pace].Values[0] = pdu.DoubleValue(0, 2e9)
		}, wrongValue, "the pace of nanos was"},
		{"another metric", -100, -1100, func(sets []pdu.ValueSet) { sets[sum].PMID = 77 }, wrongValue, "instead of"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			s := &shared{tally: &tally{log: &log}, disturbances: &disturbances{}}
			j := newJudge(s, "client", list, nil)
			j.check(rig.Fetched{Sent: now, Answered: now, Sets: fetchOf(t, list, at(-1100), at(-2100))})
			require.Zero(t, s.tally.total(), log.String())
			sets := fetchOf(t, list, at(row.at), at(row.before))
			if row.spoil != nil {
				row.spoil(sets)
			}
			j.check(rig.Fetched{Sent: now, Answered: now, Sets: sets})
			if row.reason == "" {
				assert.Zero(t, s.tally.total(), log.String())
				return
			}
			assert.Positive(t, s.tally.problems[row.kind].Load())
			assert.Contains(t, log.String(), row.reason)
		})
	}
}

// Counters go on when wave is started again: a step joins the one before. It need not if the daemon may have been
// started again, too.
func TestJudgeOfRestarts(t *testing.T) {
	nanos := trackOf("nanos")
	var list []selection
	for _, role := range nanos.roles() {
		list = append(list, selection{
			name: nanos.metric(role), desc: pdu.Desc{PMID: pdu.PMID(len(list))}, track: nanos,
			role: role,
		})
	}
	now := time.Now()
	at := func(ms int) uint64 { return uint64(now.Add(time.Duration(ms) * time.Millisecond).UnixNano()) }
	for _, row := range []struct {
		name   string
		gone   cause
		before int // ms from now: since when the second step is
		wrong  int64
	}{
		{"the next step", agentGone, -1100, 0},
		{"a gap", agentGone, -1000, 1},
		{"pmcd was told", pmcdSIGHUP, -1000, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shared{tally: &tally{log: io.Discard}, disturbances: &disturbances{list: []disturbance{{
				cause: row.gone,
				begin: now.Add(-2), end: now.Add(-1),
			}}}}
			j := newJudge(s, "client", list, nil)
			j.check(rig.Fetched{Sent: now, Answered: now, Sets: fetchOf(t, list, at(-1100), at(-2100))})
			j.check(rig.Fetched{Sent: now, Answered: now, Sets: fetchOf(t, list, at(-100), at(row.before))})
			assert.Equal(t, row.wrong, s.tally.problems[wrongValue].Load())
		})
	}
}

// Likewise of ticks since the last look: the first fetch has those of two seconds.
func TestJudgeOfTicks(t *testing.T) {
	m, tracks := newModel(len(forms())), tracks()
	var list []selection
	look := &tracks[slices.IndexFunc(tracks, func(t track) bool { return t.sinceLastFetch })]
	for _, role := range look.roles() {
		list = append(list, selection{
			name: look.metric(role), desc: pdu.Desc{PMID: pdu.PMID(len(list))}, track: look,
			role: role,
		})
	}
	for _, name := range []string{"looked", "counted", "peak"} {
		i := slices.IndexFunc(m.metrics, func(x metric) bool { return x.form.name == name })
		list = append(list, selection{name: m.metrics[i].name, desc: pdu.Desc{
			PMID: pdu.PMID(len(list)),
			Type: pdu.TypeDouble,
		}, metric: &m.metrics[i]})
	}
	now := time.Now().Truncate(time.Second) // samples are at their ticks
	at := func(s int) uint64 { return uint64(now.Add(time.Duration(s) * time.Second).UnixNano()) }
	const sum, looked, counted, peak = 2, 4, 5, 6
	fetch := func(last, from, since, ticks int) rig.Fetched {
		f := rig.Fetched{Sent: now, Answered: now}
		for _, c := range list {
			set := pdu.ValueSet{PMID: c.desc.PMID}
			switch {
			case c.metric != nil:
				set.Values = valuesOf(c.metric.form.cells(moment{at: at(last), before: at(since), first: at(from)},
					float64(c.metric.k)))
			case c.role == sumRole:
				set.Values = []pdu.Value{pdu.DoubleValue(0, float64(at(last)-at(since)))}
			case c.role == countRole:
				set.Values = []pdu.Value{pdu.Uint32Value(0, uint32(ticks))}
			default:
				set.Values = []pdu.Value{pdu.Uint64Value(0, at(map[role]int{atRole: last, firstRole: from}[c.role]))}
			}
			f.Sets = append(f.Sets, set)
		}
		return f
	}
	for _, row := range []struct {
		name              string
		last, from, since int // s from now: ticks, and that since which they count
		ticks             int
		without           []int
		wrongPeak         bool
		windows           int64 // whose values are all known
		reason            string
	}{
		{"the next tick", -7, -7, -8, 1, nil, false, 1, ""},
		{"several, after a gap", -1, -3, -8, 3, nil, false, 1, ""},
		{"several with a gap, that may have been the peak", -1, -3, -8, 2, nil, true, 0, ""},
		{"no new one", -8, -9, -10, 0, []int{sum, counted}, false, 0, ""},
		{"summed again", -8, -9, -10, 0, []int{counted}, false, 0, "counts them again"},
		{"counted again", -8, -9, -10, 2, []int{sum, counted}, false, 0, "counts them again"},
		{"a tick twice", -7, -8, -8, 2, nil, false, 0, "has the tick of"},
		{"one that is not counted", -5, -6, -7, 2, nil, false, 0, "has to count since"},
		{"one that is counted twice", -5, -7, -9, 3, nil, false, 0, "has to count since"},
		{"nothing is counted", -7, -7, -8, 1, []int{sum, counted}, false, 0, "has to count since"},
		{"more ticks than there are", -6, -7, -8, 3, nil, false, 0, "has 3 ticks since"},
		{"fewer than it shows", -6, -7, -8, 1, nil, false, 0, "has 1 ticks since"},
		{"another first tick", -7, -6, -8, 1, nil, false, 0, "the first tick of look"},
		{"another peak", -6, -7, -8, 2, nil, true, 1, "derived.peak."},
		{"no value", -7, -7, -8, 1, []int{looked}, false, 1, "no value of derived.looked."},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			s := &shared{tally: &tally{log: &log}, disturbances: &disturbances{}}
			var windows atomic.Int64
			j := newJudge(s, "client", list, &windows)
			j.check(fetch(-8, -9, -10, 2))
			require.Zero(t, s.tally.total(), log.String())
			f := fetch(row.last, row.from, row.since, row.ticks)
			for _, i := range row.without {
				f.Sets[i].Values = nil
			}
			if row.wrongPeak {
				f.Sets[peak].Values = []pdu.Value{pdu.DoubleValue(pdu.NoInst, -1)}
			}
			j.check(f)
			assert.Equal(t, row.windows, windows.Load())
			if row.reason == "" {
				assert.Zero(t, s.tally.total(), log.String())
				return
			}
			assert.Contains(t, log.String(), row.reason)
		})
	}
}

// A share of a histogram is judged if the window has all its ticks since its begin, and each in time. Otherwise it may be
// any value, or none.
func TestJudgeOfHistograms(t *testing.T) {
	now := time.Unix(1_700_000_034, 0) // all that is counted is in the first bucket
	track, m := trackOf("histogram"), newModel(len(forms()))
	var list []selection
	for _, role := range track.roles() {
		list = append(list, selection{name: track.metric(role), desc: pdu.Desc{PMID: pdu.PMID(len(list))}, track: track, role: role})
	}
	i := slices.IndexFunc(m.metrics, func(x metric) bool { return x.form.name == "reset" })
	x := &m.metrics[i]
	list = append(list, selection{name: x.name, desc: pdu.Desc{PMID: pdu.PMID(len(list)), Type: pdu.TypeDouble}, metric: x})
	for _, row := range []struct {
		name           string
		ticks          uint32
		late           float64
		share          []float64
		wrong, missing int64
	}{
		{"the share", 4, 0, []float64{1}, 0, 0},
		{"another one", 4, 0, []float64{0.9}, 1, 0},
		{"no share", 4, 0, nil, 0, 1},
		{"another one, and a tick is a gap", 3, 0, []float64{0.9}, 0, 0},
		{"no share, and a tick is a gap", 3, 0, nil, 0, 0},
		{"another one, and a tick is late", 4, mostDistance + 1, []float64{0.9}, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shared{tally: &tally{log: io.Discard}, disturbances: &disturbances{}}
			second := func(n int64) uint64 { return uint64(now.Add(time.Duration(n) * time.Second).UnixNano()) }
			sets := []pdu.ValueSet{
				{Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, second(0))}},
				{Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, second(-3))}},
				{Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 4e9)}},
				{Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, row.ticks)}},
				{Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, row.late)}},
				{},
			}
			for _, share := range row.share {
				sets[5].Values = []pdu.Value{pdu.DoubleValue(pdu.NoInst, share*float64(x.k))}
			}
			for i := range sets {
				sets[i].PMID = pdu.PMID(i)
			}
			newJudge(s, "client", list, nil).check(rig.Fetched{Sent: now, Answered: now.Add(time.Millisecond), Sets: sets})
			assert.Equal(t, [2]int64{row.wrong, row.missing},
				[2]int64{s.tally.problems[wrongValue].Load(), s.tally.problems[missingValue].Load()})
		})
	}
}

// While pmcd stands still because of an agent that lies, ticks are gaps: what is over them may have no value, and
// everything else has one.
func TestJudgeOfGaps(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		name    string
		lying   bool
		took    time.Duration
		missing uint64
	}{
		{"pmcd answers", true, maxTickDelay, 1},
		{"pmcd stands still", true, maxTickDelay + 1, 0},
		{"nobody lies", false, maxTickDelay + 1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shared{tally: &tally{log: io.Discard}, disturbances: &disturbances{}, lying: row.lying}
			window := &track{name: "window", span: "5s", when: func(v, _ uint64) uint64 { return v }}
			j := newJudge(s, "client", []selection{{name: window.metric(atRole), track: window, role: atRole}}, nil)
			j.check(rig.Fetched{Sent: now.Add(-row.took), Answered: now, Sets: []pdu.ValueSet{{Code: pdu.ErrAgain}}})
			assert.EqualValues(t, row.missing, s.tally.problems[missingValue].Load())
		})
	}
}

func TestWeather(t *testing.T) {
	var w disturbances
	begin := time.Now()
	ends := w.begin(agentGone)
	later := time.Now().Add(time.Hour)
	assert.True(t, w.affect(begin, later, agentGone), "it lasts")
	assert.False(t, w.affect(begin, later, pmcdGone), "another cause")
	assert.False(t, w.affect(begin.Add(-time.Hour), begin.Add(-time.Minute), agentGone), "before")
	ends()
	assert.True(t, w.affect(time.Now().Add(Grace/2), later, agentGone), "within the grace")
	assert.False(t, w.affect(time.Now().Add(Grace), later, agentGone), "after")
	assert.Equal(t, 1, w.count(agentGone))
}

// The run reports complaints and warnings of the logs, but not the drop of the daemon because of a SIGHUP.
func TestLogs(t *testing.T) {
	const departed = "[Sat] pmcd(1) Error: HandleClientInput: error sending Error PDU to client[5] IPC protocol failure\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pmcd.log": `[Sat] pmcd(1) Error: __pmGetAddrInfo(north): No route to host
[Sat] pmcd(1) Info: CleanupAgent ...
Cleanup "derived" agent (dom 510): terminated, exit(0)
Cleanup "wave" agent (dom 401): protocol failure for fd=14, exit(255)
active agent dom   pid  in out ver protocol parameters
Cleanup "derived" agent (dom 510): protocol failure for fd=14, exit(0)
Cleanup "derived" agent (dom 510): protocol failure for fd=15
Cleanup "derived" agent (dom 510): protocol failure for fd=16, exit(1)
` + strings.Repeat(departed, ownConnections+1),
		"derived.log": `Log for pmdaderived on vm started Sun Nov 22 04:10:41 2026

time=2026-11-22T04:10:41Z level=info msg=started domain=510
time=2026-11-22T04:10:42Z level=error msg=Semantic error: derived metric slot29.m: a + b: Non-arithmetic type for left operand
time=2026-11-22T04:10:43Z level=warning msg=metric has disappeared or changed, restart pmlogger if it records it metric=slot1.m pmid=510.2.936
time=2026-11-22T04:10:44Z level=warning msg=agent is slow, sampling it less often domain=401 duration=120ms
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	r := &run{shared: &shared{pmcd: &pmcdtest.PMCD{LogFile: filepath.Join(dir, "pmcd.log")}}}
	drops, err := r.drops()
	require.NoError(t, err)
	assert.Equal(t, 2, drops, "whether pmcd was ending or not")
	r.countedDrops = 1
	r.collectLog()
	r.collectOwnLog("derived.log.prev") // there is none
	assert.Equal(t, []string{
		`Cleanup "derived" agent (dom 510): protocol failure for fd=15`, `Cleanup "derived" agent (dom 510): protocol failure for fd=16, exit(1)`,
		strings.TrimSpace(departed),
	}, r.complaints)
	assert.Equal(t, []string{`time=2026-11-22T04:10:44Z level=warning msg=agent is slow, sampling it less often domain=401 duration=120ms`}, r.warnings)
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
