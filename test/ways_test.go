//go:build pcp

package test

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
	"pmdaderived/test/pmcdtest"
)

// scriptedVariable makes this program the agent of a script. The variable names a file with the time of step 0, in ns;
// until it exists, the agent stays at step 0.
const scriptedVariable = "PMDADERIVED_TEST_SCRIPTED"

// scriptSteps is the number of steps, a second apart.
const scriptSteps = 13

// scripted is a metric of the script: its values by instance and step; -1: none.
type scripted struct {
	name   string
	sem    pdu.Semantics
	serial int
	values [][scriptSteps]int
}

// scriptedInDom is the domain with a serial number at a step.
func scriptedInDom(serial, step int) (all []pdu.Instance) {
	names := [][]string{{"a", "b", "c"}, {"i0", "i1"}, {"1", "2", "3", "4"}, {"now"}}[serial]
	switch {
	case serial == 1 && step == 6:
		names = names[:1]
	case serial == 1 && step > 6:
		names = []string{"i1", "i0"}
	}
	for i, name := range names {
		all = append(all, pdu.Instance{ID: pdu.Inst(i), Name: name})
	}
	return all
}

// script returns all metrics. A service with a histogram is started again before step 6: its first bucket has more than
// before, and the others have less. Two instances exchange their numbers at a restart, too: at step 6 there is one of
// them. The labels of the buckets of refused are always refused, and each name is also a bound.
func script() []scripted {
	always := func(v int) (all [scriptSteps]int) {
		for i := range all {
			all[i] = v
		}
		return all
	}
	by := func(v ...int) [scriptSteps]int { return [scriptSteps]int(v) }
	all := []int{100, 200, 300, 400, 500, 600, 30, 60, 90, 120, 150, 180, 210}
	return []scripted{
		{"histogram", pdu.SemCounter, 0, [][scriptSteps]int{
			by(10, 10, 10, 10, 10, 10, 30, 60, 90, 120, 150, 180, 210), by(all...), by(all...),
		}},
		{"guard", pdu.SemInstant, 0, [][scriptSteps]int{
			always(9), always(1), by(1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1),
		}},
		{"guarded", pdu.SemInstant, 0, [][scriptSteps]int{always(4), always(7), always(-1)}},
		{"level", pdu.SemInstant, 1, [][scriptSteps]int{
			by(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1, 1, 1, 1, 1, 1),
			by(1, 1, 1, 1, 1, 1, -1, 1000, 1000, 1000, 1000, 1000, 1000),
		}},
		{"refused", pdu.SemInstant, 2, [][scriptSteps]int{always(10), always(20), always(30), always(40)}},
		{"step", pdu.SemInstant, 3, [][scriptSteps]int{by(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}},
	}
}

// at returns the values of a step.
func (m *scripted) at(step int) (insts []pdu.Inst, bits []uint64) {
	for i, values := range m.values {
		if values[step] >= 0 {
			insts, bits = append(insts, pdu.Inst(i)), append(bits, uint64(values[step]))
		}
	}
	return insts, bits
}

func (m *scripted) desc(item int) pdu.Desc {
	return pdu.Desc{
		PMID: pdu.NewPMID(400, 0, item), Type: pdu.TypeU64, InDom: pdu.NewInDom(400, m.serial), Sem: m.sem,
	}
}

func scriptedBounds() (sets []pdu.LabelSet, err error) {
	for i, bound := range []string{"1", "2", "+Inf"} {
		set, err := pdu.NewLabelSet(pdu.Inst(i), pdu.LabelInstances, map[string]any{"le": bound})
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// scriptedAgent serves the script. The agent goes from step to step half a second after the full second.
type scriptedAgent struct{ start string }

func (a *scriptedAgent) step() int {
	text, _ := os.ReadFile(a.start)
	begin, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return int(min(max(0, (time.Now().UnixNano()-begin+5e8)/1e9), scriptSteps-1))
}

func (a *scriptedAgent) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	return script()[id.Item()].desc(id.Item()), nil
}

func (a *scriptedAgent) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	return scriptedInDom(d.Serial(), a.step()), nil
}

// Labels implements pmda.Labeler.
func (a *scriptedAgent) Labels(_ pmda.Client, ident uint32, t pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	switch serial := pdu.InDom(ident).Serial(); {
	case t == pdu.LabelInstances && serial == 0:
		return scriptedBounds()
	case t == pdu.LabelInstances && serial == 2:
		return nil, pdu.ErrAgain
	}
	return nil, nil
}

func (a *scriptedAgent) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	step := a.step()
	for _, id := range req.PMIDs {
		insts, bits := script()[id.Item()].at(step)
		w.Numbers(id, pdu.TypeU64, insts, bits)
	}
	return nil
}

// scriptedDefinitions are the definitions over the script: the first ones in every way, those of numbers that are
// exchanged in all but a unit test, and the others live only. The mean of rates depends on when a tick is late, so it is
// not compared live.
const scriptedDefinitions = `w.quick = share_bucket(sum_sample(delta(script.histogram), "4s"), 1)
w.sums = sum_sample(delta(script.histogram), "4s")
w.guarded = share_bucket(last_sample(script.guard > 3 ? script.guarded : 8, "1s"), 1)
w.looked = scalar((last_sample(sum(script.guard) by (k=/^(.)$/ -> script.guard by (/^(.)$/)), "1s"))[9])
w.pace = share_bucket(avg_sample(rate(script.histogram), "4s"), 1)
`

const exchangedDefinitions = `w.high = max_sample(script.level, "4s")
w.alarm = latch(script.level > 500, script.level < 0)
w.named = scalar((last_sample(sum(script.guarded) by (script.guard -> script.level by (/([0-9])$/)), "1s"))[1])
`

const liveDefinitions = `w.refused = nth_percentile_bucket(last_sample(script.refused, "5s"), 50)
w.asked = count(last_sample(script.refused, "5s"))
w.step = max(last_sample(script.step, "5s"))
w.first = max(first_sample(script.step, "5s"))
w.ticks = max(count_sample(script.step, "5s"))
`

// scriptedValues are the right values by step, computed by hand, as in a unit test. Of 4 ticks with 100 requests a
// second, all of them slow, the share is 0. The tick of the restart counts for no bucket: at step 7 it is 30 of
// 100 + 100 + 30, and at step 8 60 of 100 + 60. Without the histogram, each bucket counts for itself: the first one has
// counted 20 at the restart, and the others have no value. Of the guard, the buckets are 4, 8, 8, or the last one has no
// value. The guard of the instance is looked up: the group 9 has the first one, and the last one at each other step.
const scriptedValues = `w.quick    * 0 0 0 0 0 0 0.13043478260869565 0.375 1 1 1 1
w.pace     * 0 0 0 0 0 0 0.13043478260869565 0.375 1 1 1 1
w.sums[a]  * 0 0 0 0 0 20 50 80 110 120 120 120
w.sums[b]  * 100 200 300 400 400 300 230 160 90 120 120 120
w.sums[c]  * 100 200 300 400 400 300 230 160 90 120 120 120
w.looked   9 18 9 18 9 18 9 18 9 18 9 18 9
w.guarded  0.5 _ 0.5 _ 0.5 _ 0.5 _ 0.5 _ 0.5 _ 0.5
`

// An instance that is not there has no value from the next tick on. The level of the instance with the number of a guard is
// 1, whichever number of PCP's it has.
const exchangedValues = `w.high[i0]   1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000
w.high[i1]   1 1 1 1 1 1 _ 1 1 1 1 1 1
w.alarm[i0]  1 1 1 1 1 1 1 1 1 1 1 1 1
w.alarm[i1]  0 0 0 0 0 0 _ 0 0 0 0 0 0
w.named      7 7 7 7 7 7 _ 7 7 7 7 7 7
`

const liveValues = `w.refused  _ _ _ _ _ _ _ _ _ _ _ _ _
w.asked    4 4 4 4 4 4 4 4 4 4 4 4 4
`

// agree compares the values of a step, by definition and instance, with those of a table. Others are not compared.
func agree(t *testing.T, table string, step int, got map[string]float64) {
	t.Helper()
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		value, ok := got[words[0]]
		switch want := words[1+step]; want {
		case "*":
		case "_":
			assert.False(t, ok, "%s at step %d: %v", words[0], step, value)
		default:
			if assert.True(t, ok, "%s has no value at step %d", words[0], step) {
				assert.InDelta(t, must(strconv.ParseFloat(want, 64))(t), value, 1e-8, "%s at step %d", words[0], step)
			}
		}
	}
}

// agreeLive does so if the agent has all of the last five ticks. It reports whether it has. The names of instances were
// asked for by a time after step 0.
func agreeLive(t *testing.T, got map[string]float64, by time.Duration) bool {
	t.Helper()
	step := int(got["w.step"])
	if got["w.ticks"] != 5 || got["w.step"]-got["w.first"] != 4 {
		return false
	}
	values := scriptedValues + liveValues
	if by < 5500*time.Millisecond || step > 9 { // else a name may be that of another step
		values += exchangedValues
	}
	for line := range strings.Lines(values) {
		if !strings.HasPrefix(line, "w.pace") {
			agree(t, line, step, got)
		}
	}
	return true
}

// evaluated returns the values that eval prints as CSV, by line and by definition and instance.
func evaluated(t *testing.T, text string) (all []map[string]float64) {
	t.Helper()
	rows := must(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	require.Greater(t, len(rows), 1)
	for _, row := range rows[1:] {
		got := map[string]float64{}
		for i, name := range rows[0][1:] {
			name = strings.TrimPrefix(name, "derived.")
			if metric, inst, ok := strings.Cut(name, "-"); ok {
				name = metric + "[" + inst + "]"
			}
			if row[i+1] != "" {
				got[name] = must(strconv.ParseFloat(row[i+1], 64))(t)
			}
		}
		all = append(all, got)
	}
	return all
}

// A definition has the same values live, in eval, over an archive, in an archive of replay, and in a unit test.
func TestWaysAgree(t *testing.T) {
	dir := worldReadableDir(t)
	program := must(daemonProgram())(t)
	t.Run("live", func(t *testing.T) { scriptedLive(t, dir, program) })

	conf := writeFile(t, dir, "w.conf", scriptedDefinitions+exchangedDefinitions)
	base, replayed := filepath.Join(dir, "script"), filepath.Join(dir, "replayed")
	start := writeScript(t, base)
	t.Run("eval -a", func(t *testing.T) {
		out := combined(t, exec.Command(program, "eval", "-a", base, "-c", conf, "-t", "1s", "-o", "csv", "w"))
		all := evaluated(t, out)
		require.Len(t, all, scriptSteps)
		for step, got := range all {
			agree(t, scriptedValues+exchangedValues, step, got)
		}
	})
	t.Run("replay", func(t *testing.T) {
		combined(t, exec.Command(program, "replay", "-a", base, "-c", conf, replayed))
		names, values := must(archive.Open(base))(t), must(archive.Open(replayed))(t)
		defer names.Close()
		defer values.Close()
		metrics := lookUpDefinitions(t, values, scriptedDefinitions+exchangedDefinitions)
		then, records := names.NewContext(time.Time{}, time.Time{}), values.NewContext(time.Time{}, time.Time{})
		defer then.Close()
		defer records.Close()
		for step := range scriptSteps {
			r := must(records.Next(t.Context()))(t)
			require.Equal(t, start.Unix()+int64(step), r.Time.Unix())
			then.SetTime(r.Time)
			got := map[string]float64{}
			for _, set := range r.Sets {
				for i, bits := range set.Bits {
					metrics[set.PMID].add(t, then, got, set.Insts[i], bits)
				}
			}
			agree(t, scriptedValues+exchangedValues, step, got)
		}
	})
	t.Run("unit test", func(t *testing.T) {
		writeFile(t, dir, "w.conf", scriptedDefinitions)
		combined(t, exec.Command(program, "test", writeFile(t, dir, "w.test", scriptedTest())))
	})
}

// definedMetric is a metric of a definition.
type definedMetric struct {
	name string
	desc pdu.Desc
}

// lookUpDefinitions looks up the metrics of definitions.
func lookUpDefinitions(t *testing.T, s interface {
	LookupNames(context.Context, []string) ([]pmapi.NameResult, error)
	Desc(context.Context, pdu.PMID) (pdu.Desc, error)
}, definitions string,
) map[pdu.PMID]definedMetric {
	t.Helper()
	all := map[pdu.PMID]definedMetric{}
	for line := range strings.Lines(definitions) {
		name := strings.Fields(line)[0]
		found := must(s.LookupNames(t.Context(), []string{"derived." + name}))(t)[0]
		require.Zero(t, found.Code, name)
		all[found.PMID] = definedMetric{name, must(s.Desc(t.Context(), found.PMID))(t)}
	}
	return all
}

// add adds a value by definition and instance. The names of instances are those of a pmcd now, or of an archive at a time.
func (m definedMetric) add(t *testing.T, names interface {
	Instances(context.Context, pdu.InDom) ([]pdu.Instance, error)
}, to map[string]float64, inst pdu.Inst, bits uint64,
) {
	t.Helper()
	name := m.name
	if m.desc.InDom != pdu.NoInDom {
		all := must(names.Instances(t.Context(), m.desc.InDom))(t)
		i := slices.IndexFunc(all, func(one pdu.Instance) bool { return one.ID == inst })
		if i < 0 {
			return // it has gone
		}
		name += "[" + all[i].Name + "]"
	}
	to[name] = m.desc.Type.Float64(bits)
}

// scriptedTest returns the unit test.
func scriptedTest() string {
	text := "indom 400.0 a b c\nlabel 400.0 le 1 2 +Inf\n"
	given := ""
	for _, m := range script()[:3] {
		text += fmt.Sprintf("metric script.%s U64 %s none 400.0\n", m.name, m.sem)
		for i, values := range m.values {
			words := strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), "-1", "_")
			given += fmt.Sprintf("  given script.%s[%c] %s\n", m.name, 'a'+i, words)
		}
	}
	return text + "test all steps\n" + given + "  expect " +
		strings.ReplaceAll(strings.TrimSpace(scriptedValues), "\n", "\n  expect ") + "\n"
}

// writeScript writes an archive with a record for each step, and returns the time of the first one.
func writeScript(t *testing.T, base string) (start time.Time) {
	t.Helper()
	start = time.Unix(1_790_000_000, 0)
	w := must(writer.Create(base, writer.Label{Version: 3, PID: 1, Start: start, Host: "scripted", TimeZone: "UTC"}))(t)
	for item, m := range script()[:4] {
		require.NoError(t, w.Metric(m.desc(item), "script."+m.name))
	}
	require.NoError(t, w.Labels(start, uint32(pdu.NewInDom(400, 0)), pdu.LabelInstances, must(scriptedBounds())(t)))
	for step := range scriptSteps {
		at := start.Add(time.Duration(step) * time.Second)
		for serial := range 2 {
			require.NoError(t, w.InDom(at, pdu.NewInDom(400, serial), scriptedInDom(serial, step)))
		}
		for item, m := range script()[:4] {
			insts, bits := m.at(step)
			w.Values().Numbers(m.desc(item).PMID, pdu.TypeU64, insts, bits)
		}
		require.NoError(t, w.Put(at))
	}
	require.NoError(t, w.Close())
	return start
}

// scriptedLive compares what the agent serves, and what eval prints at the same time. A tick that is late on a busy
// machine makes steps that cannot be compared.
func scriptedLive(t *testing.T, dir, program string) {
	conf := writeFile(t, dir, "live.conf", scriptedDefinitions+exchangedDefinitions+liveDefinitions)
	start := filepath.Join(dir, "start")
	var pmns strings.Builder
	for item, m := range script() {
		fmt.Fprintf(&pmns, "\t%s\t400:0:%d\n", m.name, item)
	}
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", conf),
			{
				Name: "script", Domain: 400, Command: []string{copySelf(t, dir, "scripted-agent")},
				PMNS: "script {\n" + pmns.String() + "}\n",
			},
		},
		Env: []string{scriptedVariable + "=" + start},
	})
	await.Until(t, "there have been ticks", func() bool {
		out, _, _ := p.Run(t, "pminfo", "-f", "derived.w.ticks", "derived.w.high")
		return strings.Count(out, "value ") == 3
	})
	begin := time.Now().Truncate(time.Second).Add(2 * time.Second)
	require.NoError(t, os.Rename(writeFile(t, dir, "next", strconv.FormatInt(begin.UnixNano(), 10)), start))

	eval := p.Command(t.Context(), program, "eval", "-c", conf, "-t", "250ms", "-s", "48", "-o", "csv", "w")
	lines := bufio.NewScanner(must(eval.StdoutPipe())(t))
	require.NoError(t, eval.Start())
	var printed strings.Builder
	var times []time.Duration // of its lines
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			printed.WriteString(lines.Text() + "\n")
			times = append(times, time.Since(begin))
		}
	}()
	conn, names, compared := dial(t, p), dial(t, p), 0
	metrics := lookUpDefinitions(t, conn, scriptedDefinitions+exchangedDefinitions+liveDefinitions)
	ids := slices.Collect(maps.Keys(metrics))
	await.Until(t, "the script has ended", func() bool {
		got := map[string]float64{}
		for _, set := range must(conn.Fetch(t.Context(), ids))(t).Sets {
			for _, v := range set.Values {
				metrics[set.PMID].add(t, names, got, v.Inst, v.Bits)
			}
		}
		if agreeLive(t, got, time.Since(begin)) {
			compared++
		}
		return got["w.step"] == scriptSteps-1
	})
	assert.Positive(t, compared, "served")
	compared = 0
	<-ended
	require.NoError(t, lines.Err())
	_ = eval.Wait()
	require.Equal(t, 1, eval.ProcessState.ExitCode(), "w.refused never has a value")
	for i, got := range evaluated(t, printed.String()) {
		if agreeLive(t, got, times[i+1]) {
			compared++
		}
	}
	assert.Positive(t, compared, "evaluated")
}
