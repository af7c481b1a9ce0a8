//go:build pcp

package test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// squareVariable makes this program an agent of a square wave, with a journal in this file. The file has the length of
// the wave.
const squareVariable = "PMDADERIVED_TEST_SQUARE"

const squareDomain = 401

// square has a wave that is high for an eighth of the time, and the number of its own fetches, as a value and as a
// counter.
type square struct {
	*pmda.Namespace
	file    string
	period  time.Duration
	phase   time.Duration
	fetches uint64
}

func newSquare(file string) *square {
	names, err := pmda.NewNamespace("square", []pmda.Entry{
		{Name: "square.wave", PMID: pdu.NewPMID(squareDomain, 0, 0)},
		{Name: "square.fetches", PMID: pdu.NewPMID(squareDomain, 0, 1)},
	})
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	s := &square{Namespace: names, file: file}
	if s.period, err = time.ParseDuration(strings.TrimSpace(string(text))); err != nil {
		panic(err)
	}
	s.phase = rand.N(s.period)
	return s
}

func (s *square) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	d := pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	if id.Item() == 1 {
		d.Sem = pdu.SemCounter
	}
	return d, nil
}

func (s *square) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }

func (s *square) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	s.fetches++
	wave := uint64(40)
	if (time.Duration(time.Now().UnixNano())+s.phase)%s.period < s.period/8 {
		wave = 100
	}
	journal, err := os.OpenFile(s.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(journal, s.fetches, wave)
	if closed := journal.Close(); err == nil {
		err = closed
	}
	for _, id := range req.PMIDs {
		w.Number(id, pdu.TypeU64, []uint64{wave, s.fetches}[id.Item()])
	}
	return err
}

// journal returns the answers of the agent, by the number of the fetch.
func journal(t *testing.T, file string) map[uint64]uint64 {
	t.Helper()
	_, text, _ := strings.Cut(string(must(os.ReadFile(file))(t)), "\n")
	all := make(map[uint64]uint64)
	for line := range strings.Lines(text) {
		var fetch, wave uint64
		_, err := fmt.Sscan(line, &fetch, &wave)
		require.NoError(t, err)
		all[fetch] = wave
	}
	return all
}

// squareDefinitions are what each client has of its own. All have the same operands, so that they are of one sample:
// other ones are asked apart where a machine that stands still has made the agent a suspect.
const squareDefinitions = `
NAME.first = first_sample(instant(square.fetches) + 0 * square.wave)
NAME.last = last_sample(instant(square.fetches) + 0 * square.wave)
NAME.count = count_sample(instant(square.fetches) + 0 * square.wave)
NAME.sum = sum_sample(instant(square.fetches) + 0 * square.wave)
NAME.peak = max_sample(square.wave + 0 * instant(square.fetches))
NAME.passed = sum_sample(delta(square.fetches) + 0 * square.wave)
`

// windowValues is the answer to one fetch of a client: the numbers of the first and the last tick of its window, and
// the values over these.
type windowValues map[string]float64

var squareColumns = []string{"count", "first", "last", "passed", "peak", "sum"}

// Functions over time without a window, of a square wave, for clients with intervals of their own: the windows of
// each partition the ticks, each sees every peak of its windows and no other, and sums add up; also in the archive,
// and with the agent of the wave stopped for a while.
func TestEachClientSeesItsPeaks(t *testing.T) {
	length, longest := 24*time.Second, 6
	if text := os.Getenv("T"); text != "" {
		length, longest = must(time.ParseDuration(text))(t), 60
	}
	dir := worldReadableDir(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	// no multiple of a second: ticks meet all of it
	file := writeFile(t, dir, "square", fmt.Sprintf("%dms\n", longest*290))
	require.NoError(t, os.Chmod(file, 0o666))
	text := ""
	for _, name := range []string{"often", "rare", "each", "tenth", "mid"} {
		text += strings.ReplaceAll(squareDefinitions, "NAME", name)
	}
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			derivedAgent(t, "-c", writeFile(t, dir, "derived.conf", text)),
			{
				Name: "square", Domain: squareDomain, Command: []string{copySelf(t, dir, "square-agent")},
				PMNS: fmt.Sprintf("square {\n\twave %d:0:0\n\tfetches %d:0:1\n}\n", squareDomain, squareDomain),
			},
		},
		Env: []string{squareVariable + "=" + file},
	})
	names := make([]string, len(squareColumns))
	for i, column := range squareColumns {
		names[i] = "derived.tenth." + column
	}
	client := must(rig.Open(t.Context(), p, names...))(t)
	defer func() { assert.NoError(t, client.Close()) }()
	var descs []pdu.Desc
	await.Until(t, "the metrics are described", func() bool {
		all, err := client.Describe(t.Context())
		descs = all
		return err == nil
	})

	// Each tool has an interval of its own.
	ctx, cancel := context.WithTimeout(t.Context(), length+time.Minute)
	defer cancel()
	logged := writeFile(t, dir, "logger.conf",
		fmt.Sprintf("log mandatory on %d sec { derived.often }\nlog mandatory on %d sec { derived.rare }\n",
			max(1, longest/6), longest))
	var tools sync.WaitGroup
	printed := make(map[string]*bytes.Buffer)
	start := func(tool string, args ...string) {
		out := &bytes.Buffer{}
		printed[tool] = out
		cmd := p.Command(ctx, tool, args...)
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		tools.Go(func() { assert.NoError(t, cmd.Wait(), "%s: %s", tool, out) })
	}
	seconds := fmt.Sprint(int(length.Seconds()))
	start("pmlogger", "-c", logged, "-T", seconds+"s", "-l", filepath.Join(dir, "log"), filepath.Join(dir, "archive"))
	start("pmrep", "-t", "1", "-s", seconds, "-o", "csv", "-P", "3", "derived.each")
	start("pmval", "-t", fmt.Sprint(max(1, longest/12)), "-s", fmt.Sprint(int(length.Seconds())/max(1, longest/12)),
		"-f", "3", "derived.mid.passed")
	stopped := time.AfterFunc(length/2, func() { // pmcd waits for it
		agent := pidOf(t, p, "square-agent")
		assert.NoError(t, syscall.Kill(agent, syscall.SIGSTOP))
		rig.Sleep(ctx, 3*time.Second)
		assert.NoError(t, syscall.Kill(agent, syscall.SIGCONT))
	})
	defer stopped.Stop()

	var quick []windowValues // fetches so often that each window has one tick
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < length+5*time.Second; <-tick.C {
		f, err := client.Fetch(ctx)
		require.NoError(t, err)
		one := windowValues{}
		for i, column := range squareColumns {
			if set := f.Sets[i]; len(set.Values) == 1 {
				one[column] = descs[i].Type.Float64(set.Values[0].Bits)
			}
		}
		quick = append(quick, one)
	}
	tools.Wait()

	waves := journal(t, file)
	ticks, unknown := ticksOf(t, quick)
	isPeak := func(fetch uint64) bool { return waves[fetch] == 100 }
	assert.True(t, slices.ContainsFunc(ticks, isPeak), "the wave is high at some ticks")
	clients := map[string][]windowValues{"a client each 0.1 s": quick, "pmrep": fromCSV(t, printed["pmrep"].String())}
	for _, name := range []string{"often", "rare"} {
		clients["pmlogger, "+name] = fromArchive(t, p, filepath.Join(dir, "archive"), "derived."+name)
	}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		checkWindows(t, name, clients[name], ticks, unknown, waves)
	}
	checkSums(t, printed["pmval"].String(), ticks, unknown)
}

// between is a range of fetches, by number: after the first, up to the last.
type between struct{ after, last uint64 }

// ticksOf returns the numbers of all ticks that a client sees that fetches often, and the gaps with unknown ticks:
// there the machine delayed it for more than three ticks.
func ticksOf(t *testing.T, quick []windowValues) (ticks []uint64, unknown []between) {
	t.Helper()
	last := quick[0]["last"] // its window has ticks of before
	for _, one := range quick[1:] {
		if one["last"] == last {
			continue
		}
		count, first := one["count"], uint64(one["first"])
		last = one["last"]
		switch to := uint64(last); {
		case count == float64(to-first+1):
			for fetch := first; fetch <= to; fetch++ {
				ticks = append(ticks, fetch)
			}
		case count == 3:
			ticks = append(ticks, first, uint64(one["sum"])-first-to, to)
		case count == 2:
			ticks = append(ticks, first, to)
		default:
			ticks = append(ticks, first, to)
			unknown = append(unknown, between{first, to})
		}
	}
	require.NotEmpty(t, ticks)
	return ticks, unknown
}

// checkWindows compares the windows of a client, without that of its first fetch, with the ticks in them, if all of
// these are known.
func checkWindows(t *testing.T, name string, all []windowValues, ticks []uint64, unknown []between,
	waves map[uint64]uint64,
) {
	t.Helper()
	judged := 0
	for i := 1; i < len(all); i++ {
		before, one := uint64(all[i-1]["last"]), all[i]
		if before < ticks[0] || uint64(one["last"]) > ticks[len(ticks)-1] || before == uint64(one["last"]) {
			continue
		}
		if slices.ContainsFunc(unknown, func(b between) bool { return before < b.last && uint64(one["last"]) > b.after }) {
			continue
		}
		want := windowValues{"passed": one["last"] - float64(before), "last": one["last"]}
		for _, fetch := range ticks {
			if fetch <= before || fetch > uint64(one["last"]) {
				continue
			}
			if want["count"] == 0 {
				want["first"] = float64(fetch)
			}
			want["count"]++
			want["sum"] += float64(fetch)
			want["peak"] = max(want["peak"], float64(waves[fetch]))
		}
		require.Equal(t, want, one, "%s, look %d, after tick %d", name, i, before)
		judged++
	}
	assert.Positive(t, judged, "%s: %v", name, all)
	t.Logf("%s: %d looks, %d windows of ticks, all as they should be", name, len(all), judged)
}

// checkSums finds the tick that a pmval of sums begins at: then each sum leads to a tick.
func checkSums(t *testing.T, printed string, ticks []uint64, unknown []between) {
	t.Helper()
	mayBe := func(tick uint64) bool {
		return slices.Contains(ticks, tick) || slices.ContainsFunc(unknown,
			func(b between) bool { return b.after < tick && tick < b.last })
	}
	var sums []uint64
	for _, match := range regexp.MustCompile(`(?m)^ +(\d+)\.000 *$`).FindAllStringSubmatch(printed, -1) {
		sums = append(sums, must(strconv.ParseUint(match[1], 10, 64))(t))
	}
	require.Greater(t, len(sums), 3, printed)
	for _, from := range ticks {
		at := from
		if !slices.ContainsFunc(sums[1:], func(sum uint64) bool { at += sum; return !mayBe(at) }) {
			t.Logf("pmval: %d sums lead from tick %d to tick %d", len(sums)-1, from, at)
			return
		}
	}
	assert.Fail(t, "the sums of pmval do not lead from tick to tick", "%v\n%v", sums, ticks)
}

// fromCSV parses the output of pmrep.
func fromCSV(t *testing.T, text string) (all []windowValues) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	columns := strings.Split(lines[0], ",")
	for _, line := range lines[1:] {
		one := windowValues{}
		for i, value := range strings.Split(line, ",")[1:] {
			if column := strings.Trim(columns[i+1], `"`); value != "" {
				one[column[strings.LastIndexByte(column, '.')+1:]] = must(strconv.ParseFloat(value, 64))(t)
			}
		}
		all = append(all, one)
	}
	return all
}

// fromArchive reads some metrics from an archive of pmlogger.
func fromArchive(t *testing.T, p *pmcdtest.PMCD, archive, node string) (all []windowValues) {
	t.Helper()
	out, errs, exit := p.Run(t, "pmdumplog", archive, node)
	require.Zero(t, exit, errs)
	row := regexp.MustCompile(`\(` + regexp.QuoteMeta(node) + `\.(\w+)\): value (\S+)`)
	for record := range strings.SplitSeq(out, "\n\n") {
		one := windowValues{}
		for _, match := range row.FindAllStringSubmatch(record, -1) {
			one[match[1]] = must(strconv.ParseFloat(match[2], 64))(t)
		}
		if len(one) > 0 {
			all = append(all, one)
		}
	}
	return all
}
