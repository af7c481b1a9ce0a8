package freshbench

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pmdaderived/test/rig"
)

// stockDefinitions are those that libpcp evaluates in the client.
const stockDefinitions = `stock.ticks = rate(wave.ticks)
stock.swing = rate(wave.swing)
`

const (
	mostError = 0.01 // median of the relative errors

	// A mean error is no bias when it is not larger than its uncertainty, three standard errors, or than noBias.
	sigmas = 3
	noBias = 0.0001
)

// rates has one client, pmrep, fetch rate() from the daemon and from libpcp itself together.
func (b *bench) rates(ctx context.Context) (rows []rig.Row, err error) {
	stock, err := b.folder.Write("stock.conf", stockDefinitions)
	if err != nil {
		return nil, err
	}
	// The first fetch has no rate in libpcp.
	lines, _, err := rig.Output(ctx, b.pmcd, []string{"PCP_DERIVED_CONFIG=" + stock},
		"pmrep", "-ocsv", "-r", "-P6", "-t"+seconds(b.plan.RateInterval), "-s"+strconv.Itoa(b.plan.Rates+1),
		"derived.rate.ticks", "stock.ticks", "derived.rate.swing", "stock.swing")
	for i, counter := range []string{"an even", "a swinging"} {
		var errors []float64
		for _, l := range lines {
			cells, ok := numbers(l.Text)
			if ok[1+2*i] && ok[2+2*i] {
				errors = append(errors, cells[1+2*i]/cells[2+2*i]-1)
			}
		}
		rows = append(rows, rateRows(counter, b.plan.Rates, errors)...)
	}
	return rows, err
}

// maxCells is how many columns of pmrep are looked at.
const maxCells = 5

// numbers reads a line of pmrep -o csv: its first cell is a time, and cells without a value are empty.
func numbers(text string) (cells [maxCells]float64, ok [maxCells]bool) {
	for i, cell := range strings.Split(text, ",") {
		if i >= maxCells {
			break
		}
		n, err := strconv.ParseFloat(cell, 64)
		cells[i], ok[i] = n, err == nil
	}
	return cells, ok
}

func rateRows(counter string, wanted int, errors []float64) []rig.Row {
	what := fmt.Sprintf("rate() of %s counter against libpcp's", counter)
	size := make([]float64, len(errors))
	for i, e := range errors {
		size[i] = math.Abs(e)
	}
	median, mean, standard := rig.Median(size), math.NaN(), math.NaN()
	if len(errors) > 1 {
		mean, standard = meanError(errors)
	}
	return []rig.Row{
		rig.Equal(what+": samples", len(errors), wanted),
		{
			What: what + ": median error", Measured: percent(median), Target: "≤ " + percent(mostError),
			OK: median <= mostError && len(errors) > 0, Timed: true,
		},
		{
			What: what + ": mean error, with its sign", Measured: percent(mean) + " ± " + percent(standard),
			Target: "0 within 3 standard errors, or " + percent(noBias), OK: math.Abs(mean) <= max(sigmas*standard, noBias), Timed: true,
		},
	}
}

// meanError is the mean of two numbers or more, and how uncertain it is.
func meanError(all []float64) (mean, standard float64) {
	n := float64(len(all))
	for _, e := range all {
		mean += e / n
	}
	variance := 0.0
	for _, e := range all {
		variance += (e - mean) * (e - mean) / (n - 1)
	}
	return mean, math.Sqrt(variance / n)
}

func percent(x float64) string { return strconv.FormatFloat(x*100, 'g', 3, 64) + " %" }

// sums has clients of different intervals add up delta() of a counter at the same time, and compares with the counter itself,
// which they fetch as well.
func (b *bench) sums(ctx context.Context) (rows []rig.Row, err error) {
	length := b.plan.Sums
	var intervals []time.Duration
	var tools [][]string
	for _, ms := range []time.Duration{100, 250, 500, 1000, 1700} {
		interval := ms * time.Millisecond
		intervals = append(intervals, interval)
		tools = append(tools, []string{
			"pmrep", "-ocsv", "-r", "-t" + seconds(interval), fmt.Sprintf("-s%d", length/interval+1), "derived.counter", "derived.step",
		})
	}
	err = b.together(ctx, func(i int, lines []rig.Line) {
		s, want := b.addUp(lines), int(length/intervals[i])+1
		rows = append(rows, rig.Row{
			What:     fmt.Sprintf("delta() added up over %v, every %v, beside %d others", length, intervals[i], len(intervals)-1),
			Measured: fmt.Sprintf("%.0f in %d of %d fetches", s.sum, s.fetches, want),
			Target:   fmt.Sprintf("%.0f, as the counter", s.last-s.first),
			OK:       s.sum == s.last-s.first && s.fetches == want && s.fetches > 1,
		})
	}, tools)
	return rows, err
}

// total is what one client has seen. Its numbers are below 2^53, so they are exact.
type total struct {
	fetches     int // with both values
	first, last float64
	sum         float64 // of the deltas after the first fetch
}

func (b *bench) addUp(lines []rig.Line) total {
	var t total
	for _, l := range lines {
		cells, ok := numbers(l.Text)
		if !ok[1] {
			continue
		}
		if t.fetches == 0 {
			t.first = cells[1]
		} else if ok[2] {
			t.sum += cells[2]
			if grown := cells[1] - t.last; grown != cells[2] {
				b.log.Notef("fetch %d: delta %.0f, the counter has grown by %.0f", t.fetches+1, cells[2], grown)
			}
		}
		t.last = cells[1]
		t.fetches++
	}
	return t
}
