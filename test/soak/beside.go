package soak

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/test/rig"
)

// Each of these is recorded twice: as our definition, and as libpcp's derived metric of another pmlogger. The operands are counters that grow
// evenly, so that the two agree although they are sampled at different moments.
const (
	besideText = `%[1]snanos = rate(wave.nanos)
%[1]sticks = rate(wave.ticks)
%[1]sstep = delta(wave.nanos)
%[1]sgrown = delta(wave.ticks)
%[1]sload = rate(wave.load)
%[1]sgain = delta(wave.load)
%[1]sratio = 100 * delta(wave.ticks) / delta(wave.nanos)
`
	ourBeside = "beside."
	libpcps   = "libpcp."
)

// Those that are delta().
var deltas = regexp.MustCompile(`^(step|grown|gain)`)

func besideNames(prefix string) (names []string) {
	for line := range strings.Lines(fmt.Sprintf(besideText, prefix)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}

// beside has two pmloggers record the same expressions, one through us, and returns what compares the two archives.
func (t *told) beside(run func(*tool)) (judge func(context.Context), err error) {
	if t.plan.Recorded == 0 {
		return func(context.Context) {}, nil
	}
	derived, err := t.orders.Write("libpcp.conf", fmt.Sprintf(besideText, libpcps))
	if err != nil {
		return nil, err
	}
	archives := make(map[string]string)
	for prefix, env := range map[string]string{"derived." + ourBeside: "", libpcps: derived} {
		config, err := t.orders.Write(prefix+"config", fmt.Sprintf("log mandatory on %d sec { %s }\n", t.plan.Recorded/time.Second,
			strings.Join(besideNames(prefix), " ")))
		if err != nil {
			return nil, err
		}
		archive := filepath.Join(filepath.Dir(t.pmcd.LogFile), prefix+startMark)
		archives[prefix] = strings.ReplaceAll(archive, startMark, "1")
		run(&tool{
			scene: t.scene, env: []string{"PCP_DERIVED_CONFIG=" + env}, pause: redial, line: func(string) string { return "" },
			args: []string{"pmlogger", "-c", config, "-l", archive + ".log", archive},
		})
	}
	return func(ctx context.Context) {
		var read [2]recording
		for i, prefix := range []string{"derived." + ourBeside, libpcps} {
			lines, _, err := rig.Output(ctx, t.pmcd, []string{"PCP_DERIVED_CONFIG="}, slices.Concat(
				[]string{"pmrep", "-a", archives[prefix], "-u", "-ocsv", "-r", "-P", "9", "-f", "%s"}, besideNames(prefix))...)
			if err == nil {
				read[i], err = newRecording(prefix, lines)
			}
			if err != nil {
				t.tally.problem(failedTool, "%v", err)
				return
			}
		}
		t.agree(read[0], read[1])
	}, nil
}

// recording is what an archive has: at times in seconds, values by metric and instance.
type recording struct {
	at     []float64
	values []map[string]float64
}

// newRecording reads what pmrep prints of metrics whose names begin with a prefix, which it takes off.
func newRecording(prefix string, lines []rig.Line) (r recording, err error) {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.Text + "\n")
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) == 0 {
		return r, errors.Join(fmt.Errorf("%s: %d lines", prefix, len(rows)), err)
	}
	for _, row := range rows[1:] {
		at, err := strconv.ParseFloat(row[0], 64)
		if err != nil {
			return r, err
		}
		values := make(map[string]float64)
		for i, name := range rows[0][1:] {
			if x, err := strconv.ParseFloat(row[i+1], 64); err == nil {
				values[strings.TrimPrefix(name, prefix)] = x
			}
		}
		r.at, r.values = append(r.at, at), append(r.values, values)
	}
	return r, nil
}

// agree compares: whenever libpcp has a value in a record, so have we in the one of the same time, and it is the same to what the times of the samples
// may be apart. The first and the last record may be one pmlogger's alone. In a record that pmcd has delayed we may have the sample from before: a delta()
// is too small then and the next one too large, and their sum is right (docs/reliability.md).
func (t *told) agree(ours, libpcp recording) {
	interval := t.plan.Recorded.Seconds()
	short := make(map[string]float64) // what deltas lack so far
	for i, at := range libpcp.at {
		delayed := 0.0 // the part of the interval that our sample may be from before
		if i > 0 && at-libpcp.at[i-1] > interval+mostApart {
			delayed = 1 - (interval-mostApart)/(at-libpcp.at[i-1])
		}
		n := slices.IndexFunc(ours.at, func(x float64) bool { return math.Abs(x-at) < interval/2 })
		if n < 0 {
			if i > 0 && i < len(libpcp.at)-1 {
				t.tally.problem(missingValue, "no record of ours at %.0f", at)
			}
			continue
		}
		for name, want := range libpcp.values[i] {
			t.compared++
			got, ok := ours.values[n][name]
			due := want + short[name]
			lacks := due - got
			delete(short, name)
			switch {
			case !ok:
				t.tally.problem(missingValue, "pmlogger at %.0f: no value of %s, and libpcp has %v", at, name, want)
			case deltas.MatchString(name) && lacks > 0 && lacks <= delayed*want:
				short[name] = lacks
			case math.Abs(lacks) > 2*mostApart/interval*math.Abs(due):
				t.tally.problem(wrongValue, "pmlogger at %.0f: %s is %v, and libpcp's is %v", at, name, got, want)
			}
		}
	}
}
