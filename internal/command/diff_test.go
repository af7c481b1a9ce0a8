package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// twoVersions writes two definition files.
func twoVersions(t *testing.T, before, after string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, text := range []string{before, after} {
		path := filepath.Join(dir, fmt.Sprint(len(paths)), "site.conf")
		writeFile(t, path, text)
		paths = append(paths, path)
	}
	return paths
}

// A host has metadata, and no values. Without one nothing is asked.
func TestDiffWithHost(t *testing.T) {
	s := newSite(t)
	paths := twoVersions(t, "x = mem.util.free\ny = sum(disk.dev.total)\nz = sum(rate(network.interface.in.bytes)) by (kind=/^(.)/)\n",
		"x = rescale(mem.util.free, \"byte\")\ny = sum(disk.dev.total) by (d=/(.)$/)\nz = sum(rate(network.interface.in.bytes)) by (/^(.)/)\n")
	const texts = "x  mem.util.free -> rescale(mem.util.free, \"byte\")\n" +
		"y  sum(disk.dev.total) -> sum(disk.dev.total) by (d=/(.)$/)\n" +
		"z  sum(rate(network.interface.in.bytes)) by (kind=/^(.)/) ->\n   sum(rate(network.interface.in.bytes)) by (/^(.)/)\n"
	const metadata = "x  units Kbyte -> byte: a new PMID\ny  indom none -> groups of 60.1 by d: a new PMID\n" +
		"z  indom groups of 60.3 by kind -> groups of 60.3 by group: a new PMID\n"
	out, _ := s.fails(append([]string{"diff", "-c=", "-h", "unix:" + s.pmcd}, paths...)...)
	assert.Equal(t, metadata+texts, out)
	s.host = "unix:" + s.pmcd
	out, _ = s.fails(append([]string{"diff", "-c="}, paths...)...)
	assert.Equal(t, metadata+texts, out)
	s.host, s.pmcd = "", "/nonexistent/socket"
	out, _ = s.fails(append([]string{"diff", "-c="}, paths...)...)
	assert.Equal(t, texts, out)
}

// Differences that cannot be written are no result: the exit status 1 would say that they have been told.
func TestDiffToBrokenOutput(t *testing.T) {
	var errs bytes.Buffer
	paths := twoVersions(t, "x = 1\n", "x = 2\n")
	exit, _ := Program{Getenv: environment(), Stdout: brokenWriter{}, Stderr: &errs}.Run(t.Context(),
		append([]string{"diff", "-c="}, paths...))
	assert.Equal(t, commandline.ExitUsage, exit)
	assert.Equal(t, "pmdaderived diff: nobody reads\n", errs.String(), "once")
}

// Who uses what has gone: definitions first, then files of PCP's tools, which name the whole metric.
func TestDiffTellsWhoUsesWhatHasGone(t *testing.T) {
	s := newSite(t)
	s.file("dash.conf", "site.dash = site.x + derived.site.x\nsite.other = site.xy\n")
	writeFile(t, filepath.Join(s.dir, "config", "pmieconf", "derived", "rules"), "delta = derived.site.x > 0 && derived.site.x < 2;\n")
	writeFile(t, filepath.Join(s.dir, "pmrep", "site.conf"), "[site]\nderived.site.x = x\nderived.site.y.z = z\n")
	writeFile(t, filepath.Join(s.dir, "pmrep", "other.conf"), "derived.site.xx = x\nsite.x = a metric of the host\nmyderived.site.x = x\n")
	paths := twoVersions(t, "site.x = hinv.ncpu\nsite.y = hinv.ncpu\n", "")
	out, _ := s.fails(append([]string{"diff", "-o", "json"}, paths...)...)
	var changes []change
	require.NoError(t, json.Unmarshal([]byte(out), &changes))
	require.Len(t, changes, 2, out)
	rules, view := filepath.Join(s.dir, "config/pmieconf/derived/rules"), filepath.Join(s.dir, "pmrep/site.conf")
	assert.Equal(t, change{
		Name: "site.x", Kind: "gone", Message: "gone; site.dash, " + rules + ", " + view + " use it",
		Users: []string{"site.dash", rules, view},
	}, changes[0])
	assert.Equal(t, change{Name: "site.y", Kind: "gone", Message: "gone"}, changes[1])
}

// diffed is what the JSON of diff has of values.
type diffed struct {
	Name, Kind          string
	Compared, Differing int
	First               *struct {
		Time, Instance string
		Before, After  any
	}
	Before, After json.RawMessage
}

// What diff counts is what a person counts who computes both sides with eval: values that differ, the first, and how
// long and how often an alarm is 1. The archive has a mark, records of several groups, and an instance that comes.
func TestDiffCountsWhatEvalShows(t *testing.T) {
	const incident = "../../examples/incident"
	for _, row := range []struct{ name, before, after, options string }{
		{"instances", "rate(disk.dev.avactive)", "rate(disk.dev.avactive) * (max_inst(kernel.all.load) > 1)", ""},
		{"an instance fewer", "rate(disk.dev.avactive)", "matchinst(/sda|sdc/, rate(disk.dev.avactive))", ""},
		{"every half minute", "rate(disk.dev.avactive)", "rate(disk.dev.avactive) + 0.1", "-t 30"},
		{"a part", "kernel.all.load", "max_sample(kernel.all.load, \"1min\", \"10s\")", "-S @02:19 -T 5min"},
		{"a part with another window", "max_sample(kernel.all.load, \"5min\", \"10s\")", "max_sample(kernel.all.load, \"1min\", \"10s\")", "-S @02:19 -T 5min"},
		{"groups", "sum(rate(disk.dev.avactive)) by (/^(.)/)", "max_inst(rate(disk.dev.avactive)) by (/^(.)/) + 0 * hinv.ncpu", ""},
		{"another group of the logger", "mem.util.available / 2", "mem.util.available / 3", ""},
		{"alarm", "max_inst(rate(disk.dev.avactive)) > 0.975", "max_inst(rate(disk.dev.avactive)) > 0.985", ""},
		{"alarms of instances", "rate(disk.dev.avactive) > 0.03", "rate(disk.dev.avactive) > 0.9", "-t 10"},
		{
			"alarm that is a latch", "max_inst(rate(disk.dev.avactive)) > 0.975",
			"latch(max_inst(rate(disk.dev.avactive)) > 0.975, max_inst(rate(disk.dev.avactive)) < 0.9)", "",
		},
		{"across the mark", "rate(disk.dev.avactive) > 0.03", "rate(disk.dev.avactive) > 0.031", "-S @02:20 -t 1min"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			paths := twoVersions(t, "x = "+row.before+"\n", "x = "+row.after+"\n")
			options := append(strings.Fields("-c= -z -o json -a "+incident), strings.Fields(row.options)...)
			var samples [2]map[string]map[string]float64
			for i, expr := range []string{row.before, row.after} {
				samples[i] = map[string]map[string]float64{}
				for line := range strings.Lines(s.succeeds(append(append([]string{"eval"}, options...), expr)...)) {
					var sample struct {
						Time   string
						Values map[string]any
					}
					require.NoError(t, json.Unmarshal([]byte(line), &sample))
					values := map[string]float64{}
					switch v := sample.Values[expr].(type) {
					case float64:
						values[""] = v
					case map[string]any:
						for name, x := range v {
							values[name] = x.(float64)
						}
					}
					samples[i][sample.Time] = values
				}
			}
			isAlarm := strings.Contains(row.before, "> 0.")
			compared, differing, first := 0, 0, ""
			for at, before := range samples[0] {
				after := samples[1][at]
				all := maps.Clone(before)
				maps.Copy(all, after)
				for name := range all {
					x, isOld := before[name]
					y, isNew := after[name]
					compared++
					if isOld == isNew && x == y {
						continue
					}
					differing++
					if (!isAlarm || x != y) && (first == "" || at < first) {
						first = at
					}
				}
			}
			out, _ := s.fails(append(append([]string{"diff"}, options...), paths...)...)
			var changes []diffed
			require.NoError(t, json.Unmarshal([]byte(out), &changes))
			changes = changes[max(0, len(changes)-1):]
			require.Len(t, changes, 1, out)
			got := changes[0]
			assert.Equal(t, []any{compared, differing, first}, []any{got.Compared, got.Differing, got.First.Time}, out)
			require.Equal(t, isAlarm, got.Kind == "alarm", out)
			if got.Kind == "alarm" {
				for i, text := range []json.RawMessage{got.Before, got.After} {
					var got alarm
					require.NoError(t, json.Unmarshal(text, &got))
					assert.Equal(t, timesOf(samples[i]), got.Times)
				}
			}
		})
	}
}

// timesOf counts how often values become 1.
func timesOf(samples map[string]map[string]float64) (times int) {
	on := map[string]bool{}
	for at := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC); at.Hour() < 3; at = at.Add(10 * time.Second) {
		values, ok := samples[at.Format(time.RFC3339)]
		if !ok {
			continue
		}
		now := map[string]bool{}
		for name, x := range values {
			if now[name] = x == 1; x == 1 && !on[name] {
				times++
			}
		}
		on = now
	}
	return times
}

// Groups by one key are the same groups on both sides, whatever else is grouped.
func TestDiffOfGroups(t *testing.T) {
	s := newSite(t)
	more := ""
	for i := range 20 {
		more += fmt.Sprintf("y%d = sum(kernel.all.load) by (k%d=/(.)/)\n", i, i)
	}
	paths := twoVersions(t, "x = sum(disk.dev.read) by (k=/^(.)/)\n", "x = 2 * sum(disk.dev.read) by (k=/^(.)/)\n"+more)
	out, _ := s.fails(append([]string{"diff", "-c=", "-z", "-a", "../../examples/incident"}, paths...)...)
	assert.Contains(t, out, "x    180 of 180 values differ")
	assert.NotContains(t, out, absent)
}

// Two archives of one host in a folder are read as one: values end at the mark between them, and so does
// what an alarm lasts. Archives of several hosts are refused by all sub-commands.
func TestDiffOverTwoArchives(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	night := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	record := func(name, host string, start time.Time) {
		w, err := writer.Create(filepath.Join(dir, name), writer.Label{Version: 3, PID: 1, Start: start, Host: host, TimeZone: "UTC"})
		require.NoError(t, err)
		desc := pdu.Desc{PMID: pdu.NewPMID(60, 2, 0), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
		require.NoError(t, w.Metric(desc, "site.queue"))
		for i := range 7 {
			w.Values().Number(desc.PMID, desc.Type, uint64(i))
			require.NoError(t, w.Put(start.Add(time.Duration(i)*time.Minute)))
		}
		require.NoError(t, w.Close())
	}
	record("one", "web1", night)
	record("two", "web1", night.Add(time.Hour))
	paths := twoVersions(t, "long = site.queue > 3\n", "long = site.queue > 4\n")
	args := append([]string{"diff", "-c=", "-z", "-a", dir}, paths...)
	out, _ := s.fails(args...)
	// Of each archive the values are 0 to 6, a minute each, and the last lasts until the mark.
	assert.Equal(t, "long  1 for 4m in 2 times -> 1 for 2m in 2 times, first 2026-11-24 02:04:00 1 ->\n      0\n", out)
	record("other", "web2", night.Add(2*time.Hour))
	out, errs, exit := s.run(args...)
	assert.Equal(t, commandline.ExitUsage, exit, "they cannot be compared")
	assert.Empty(t, out)
	refused := ": archive " + dir + "/two is of host web1, but archive " + dir + "/other of host web2: " +
		"Archives differ by host. Name archives of one host\n"
	assert.Equal(t, "pmdaderived diff"+refused, errs)
	for _, args := range [][]string{{"eval", "-a", dir + "/other", "-a", dir + "/two", "site.queue"}, {"replay", "-a", dir, dir + "/new", "long"}} {
		out, errs, exit := s.run(args...)
		assert.Equal(t, commandline.ExitFailure, exit)
		assert.Empty(t, out)
		assert.Equal(t, "pmdaderived "+args[0]+refused, errs)
	}
}

// The sessions of docs/diff.md print exactly what follows. Blocks that are no sessions are files, named at the end of
// the paragraph above.
func TestDiffPage(t *testing.T) {
	examples := must(filepath.Abs("../../examples"))(t)
	s := newSite(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(examples, "examples"))
	sessions := 0
	for _, match := range blockPattern.FindAllStringSubmatch(readFile(t, filepath.Join(examples, "../docs/diff.md")), -1) {
		block := strings.TrimRight(strings.ReplaceAll("\n"+match[2], "\n    ", "\n")[1:], "\n") + "\n"
		if name := fileAbove.FindStringSubmatch(match[1]); name != nil {
			writeFile(t, name[1], block)
		}
		command, ok := strings.CutPrefix(block, "$ pmdaderived ")
		if !ok {
			continue
		}
		sessions++
		command, want, _ := strings.Cut(command, "\n")
		out, errs, exit := s.run(words(command)...)
		assert.Equal(t, commandline.ExitFailure, exit)
		assert.Equal(t, want, out+errs, command)
	}
	assert.Equal(t, 2, sessions)
}
