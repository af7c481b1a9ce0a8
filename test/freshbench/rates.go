package freshbench

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// stockDefinitions are those that libpcp evaluates in the client.
const stockDefinitions = `stock.ticks = rate(clock.ticks)
stock.swing = rate(clock.swing)
`

const (
	mostError = 0.01 // median of the relative errors

	// A mean error is no bias when it is not larger than its uncertainty, three standard errors, or than noBias.
	sigmas = 3
	noBias = 0.0001
)

// rates has one client, pmrep, fetch rate() from the daemon and from libpcp itself together.
func rates(ctx context.Context, b *bench) ([]Row, error) {
	n := b.options.Plan.Rates
	if n == 0 {
		return nil, nil
	}
	if err := os.WriteFile(b.file("stock.conf"), []byte(stockDefinitions), 0o644); err != nil {
		return nil, err
	}
	// The first fetch has no rate in libpcp.
	lines, err := run(ctx, b.pmcd, []string{"PCP_DERIVED_CONFIG=" + b.file("stock.conf")},
		"pmrep", "-ocsv", "-r", "-P6", "-t"+seconds(b.options.Plan.RateInterval), "-s"+strconv.Itoa(n+1),
		"derived.rate.ticks", "stock.ticks", "derived.rate.swing", "stock.swing")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, counter := range []string{"an even", "a swinging"} {
		var errors []float64
		for _, l := range lines {
			cells, ok := numbers(l.text)
			if ok[1+2*i] && ok[2+2*i] {
				errors = append(errors, cells[1+2*i]/cells[2+2*i]-1)
			}
		}
		rows = append(rows, rateRows(counter, n, errors)...)
	}
	return rows, nil
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

func rateRows(counter string, wanted int, errors []float64) []Row {
	what := fmt.Sprintf("rate() of %s counter against libpcp's", counter)
	size := make([]float64, len(errors))
	for i, e := range errors {
		size[i] = math.Abs(e)
	}
	slices.Sort(size)
	median := math.Inf(1)
	if len(size) > 0 {
		median = size[len(size)/2]
	}
	mean, standard := meanError(errors)
	return []Row{
		{
			What: what + ": samples", Measured: strconv.Itoa(len(errors)), Target: strconv.Itoa(wanted),
			OK: len(errors) == wanted,
		},
		{
			What: what + ": median error", Measured: percent(median), Target: "≤ " + percent(mostError),
			OK: median <= mostError, Timed: true,
		},
		{
			What: what + ": mean error, with its sign", Measured: percent(mean) + " ± " + percent(standard),
			Target: "0 within 3 standard errors, or " + percent(noBias), OK: math.Abs(mean) <= max(sigmas*standard, noBias), Timed: true,
		},
	}
}

// meanError is the mean and how uncertain it is.
func meanError(all []float64) (mean, standard float64) {
	n := float64(len(all))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
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
