//go:build pcp

package test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// hostDefinitions and sampleDefinitions are definitions that PCP's clients compute as well, over the archive of the
// examples and over those that were recorded from the agent sample.
const (
	hostDefinitions = `
x.load = kernel.all.load / hinv.ncpu
x.busy = rate(disk.dev.avactive)
x.change = delta(disk.dev.read)
x.changes = delta(kernel.all.load)
x.total = sum(disk.dev.read)
x.speed = rate(disk.dev.read)
x.most = max(kernel.all.load) + avg(kernel.all.load) - min(kernel.all.load)
x.disks = count(disk.dev.read)
x.one = disk.dev.read[sdb]
x.late = disk.dev.read[sdc]
x.free = mem.util.available / 1024
x.cpus = hinv.ncpu * 2
x.if = kernel.all.load > 1 ? kernel.all.load : kernel.all.load * 2
x.both = mem.util.available / max(kernel.all.load)
x.some = matchinst(/b$/, disk.dev.read)
x.now = instant(disk.dev.read)
x.here = defined(kernel.all.load) ? kernel.all.load : kernel.all.load
`
	sampleDefinitions = `
x.rate = rate(sample.milliseconds)
x.wrap = delta(sample.seconds)
x.both = delta(sample.double.bin_ctr) + delta(sample.double.bin_ctr)
x.bins = sample.bin / 3
x.total = sum(sample.bin)
x.some = matchinst(/[2-4]00$/, sample.bin)
x.one = sample.bin[bin-300]
x.drift = sample.drift - 10
x.if = sample.bin > 400 ? sample.bin + 1 : sample.bin * 2
x.counter = rate(sample.ulonglong.bin_ctr)
x.load = kernel.all.load * 2
x.forks = rate(kernel.all.sysfork)
x.or = sample.bin > 800 || sample.bin < 200
x.not = !(sample.bin > 300)
x.neg = -sample.step
`
	// the metrics of these archives that are no counters and not constant
	sampleChanging = `kernel\.all\.load|sample\.(drift|step)`
)

// table parses the CSV of pmrep or eval.
func table(t *testing.T, name string, env []string, args ...string) (head []string, rows [][]string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append(env, "TZ=UTC", "PATH=/usr/bin:/bin")...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	all := must(csv.NewReader(strings.NewReader(string(out))).ReadAll())(t)
	require.Greater(t, len(all), 2)
	return all[0], all[1:]
}

// takesNearest reports whether between two records the installed PCP takes the nearest value of numeric metrics that
// are no counters, as since 6.3.2, and not the one before (docs/archives.md).
func takesNearest(t *testing.T) bool {
	t.Helper()
	out := must(exec.Command("pminfo", "--version").CombinedOutput())(t)
	parts := regexp.MustCompile(`version (\d+)\.(\d+)\.(\d+)`).FindStringSubmatch(string(out))
	require.NotNil(t, parts, "%s", out)
	var version []int
	for _, part := range parts[1:] {
		version = append(version, must(strconv.Atoi(part))(t))
	}
	return slices.Compare(version, []int{6, 3, 2}) >= 0
}

// comparable leaves out lines that match, if the installed PCP takes the nearest value. The pattern is for metrics
// whose values differ in the records before and after some of the times.
func comparable(t *testing.T, pattern string, lines ...string) []string {
	t.Helper()
	if !takesNearest(t) {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), regexp.MustCompile(pattern).MatchString)
}

// columnOf returns the name of a pmrep column in PCP 6.0, metric-instance. Later versions print metric[instance].
func columnOf(name string) string {
	metric, instance, ok := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	if !ok || !strings.HasSuffix(name, "]") {
		return name
	}
	return metric + "-" + instance
}

// A definition over an archive has the values of PCP's own evaluator: pmrep at the same times.
func TestArchivesAsPmrep(t *testing.T) {
	program := must(build(worldReadableDir(t)))(t)
	type row struct {
		archive, definitions string
		window               []string
		between              string // pattern of metrics that are in no record at some of the times
	}
	const memory, all = `mem\.util`, `mem\.util|kernel\.all\.load` // recorded at half past each minute; every ten seconds
	incident := must(filepath.Abs("../examples/incident"))(t)
	rows := []row{
		{incident, hostDefinitions, []string{"-t", "10"}, memory},
		{incident, hostDefinitions, []string{"-t", "7"}, all},
		{incident, hostDefinitions, []string{"-t", "45", "-S", "3"}, all},
		{incident, hostDefinitions, []string{"-t", "3", "-S", "20min", "-T", "4min"}, all},
		{incident, hostDefinitions, []string{"-t", "1min", "-A", "1min", "-S", "-25min"}, memory},
	}
	for _, name := range recordedArchives {
		rows = append(rows, row{
			must(filepath.Abs(recorded(name)))(t), sampleDefinitions,
			[]string{"-t", "0.3s"},
			sampleChanging,
		})
	}
	for _, row := range rows {
		t.Run(filepath.Base(row.archive)+" "+strings.Join(row.window, " "), func(t *testing.T) {
			conf := filepath.Join(t.TempDir(), "x.conf")
			definitions := comparable(t, row.between, strings.Split(strings.TrimSpace(row.definitions), "\n")...)
			require.NoError(t, os.WriteFile(conf, []byte(strings.Join(definitions, "\n")+"\n"), 0o644))
			args := append([]string{"-a", row.archive, "-o", "csv"}, row.window...)
			for _, line := range definitions {
				name, _, _ := strings.Cut(line, " = ")
				args = append(args, name)
			}
			head, want := table(t, "pmrep", []string{"PCP_DERIVED_CONFIG=" + conf},
				append([]string{"-r", "-P", "6"}, args...)...)
			ours, got := table(t, program, nil, append([]string{"eval", "-c", conf}, args...)...)
			require.Len(t, got, len(want))
			column := make(map[string]int)
			for i, name := range ours {
				column[name] = i
			}
			gap := gaps(t, row.archive)
			compared, differ := 0, []string(nil)
			for k, name := range head[1:] {
				i, ok := column[columnOf(name)]
				for row := range want {
					if gap(got[row][0]) {
						continue // there pmrep prints the value before of a singular metric, or 0
					}
					theirs, mine := want[row][k+1], ""
					if ok {
						mine = got[row][i]
					}
					if compared++; !alike(theirs, mine) {
						differ = append(differ, fmt.Sprintf("%s at %s: pmrep %q, eval %q", name, got[row][0], theirs, mine))
					}
				}
			}
			assert.Empty(t, differ)
			assert.Greater(t, compared, 500)
		})
	}
}

// gaps returns a function that reports whether a time, as eval prints it, is between a mark record and the next record.
func gaps(t *testing.T, path string) func(at string) bool {
	t.Helper()
	a := must(archive.Open(path))(t)
	defer a.Close()
	c := a.NewContext(time.Time{}, time.Time{})
	defer c.Close()
	var all [][2]time.Time
	marked := false
	for {
		r, err := c.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return func(at string) bool {
				when := must(time.Parse("2006-01-02 15:04:05.000", at))(t)
				return slices.ContainsFunc(all, func(gap [2]time.Time) bool {
					return !when.Before(gap[0].Truncate(time.Millisecond)) && when.Before(gap[1])
				})
			}
		}
		require.NoError(t, err)
		switch {
		case r.Mark:
			all = append(all, [2]time.Time{r.Time, a.End().Add(1)})
		case marked:
			all[len(all)-1][1] = r.Time
		}
		marked = r.Mark
	}
}

// alike reports whether pmrep, which prints six digits behind the point, has the same value.
func alike(theirs, mine string) bool {
	if theirs == "" || mine == "" {
		return theirs == mine
	}
	x, errX := strconv.ParseFloat(theirs, 64)
	y, errY := strconv.ParseFloat(mine, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-6+1e-6*math.Abs(x)
}

// An archive of replay can be merged into one of version 3 with a domain whose instances come and go. If both archives
// have the changes, pmlogextract of PCP 6 writes records that crash tools.
func TestReplayedArchiveMerges(t *testing.T) {
	program := must(build(worldReadableDir(t)))(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("x.conf"), []byte("twice = made.size * 2\n"), 0o644))
	processes := pdu.NewInDom(3, 9)
	size := pdu.Desc{PMID: pdu.NewPMID(3, 8, 0), Type: pdu.TypeU32, InDom: processes, Sem: pdu.SemInstant}
	w := must(writer.Create(in("v2"), writer.Label{
		Version: 2, PID: 1, Start: time.Unix(1_700_000_000, 0),
		Host: "made.example", TimeZone: "UTC",
	}))(t)
	require.NoError(t, w.Metric(size, "made.size"))
	const records, alive = 9, 60
	for n := range records {
		at := time.Unix(1_700_000_000+10*int64(n), 0)
		var there []pdu.Instance
		var ids []pdu.Inst
		var sizes []uint64
		for id := n; id < n+alive; id++ { // one instance goes, another comes
			there = append(there, pdu.Instance{ID: pdu.Inst(id), Name: fmt.Sprintf("%06d process", id)})
			ids, sizes = append(ids, pdu.Inst(id)), append(sizes, uint64(100*id+n))
		}
		require.NoError(t, w.InDom(at, processes, there))
		w.Values().Numbers(size.PMID, size.Type, ids, sizes)
		require.NoError(t, w.Put(at))
	}
	require.NoError(t, w.Close())
	stockTool(t, "pmlogextract", "-V", "3", in("v2"), in("v3"))
	pmval := func(archive, metric string) string {
		_, lines, _ := strings.Cut(stockTool(t, "pmval", "-r", "-a", archive, "-t", "10", metric), "interval:")
		return lines
	}
	for i, options := range [][]string{nil, {"-t", "7"}} {
		for _, version := range []string{"v2", "v3"} {
			out, both := in(fmt.Sprint(version, "out", i)), in(fmt.Sprint(version, "both", i))
			stockTool(t, program, append([]string{"replay", "-a", in(version), "-c", in("x.conf"), out}, options...)...)
			stockTool(t, "pmlogextract", in(version), out, both)
			assert.Contains(t, pmval(both, "derived.twice"), "000008 process")
			if options == nil {
				assert.Equal(t, pmval(in(version), "made.size"), pmval(both, "made.size"), version)
			}
		}
	}
}
