package bench

import (
	"math"
	"slices"
	"time"
)

// quantile of a non-empty list, q from 0 to 1.
func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// median is the mean of the two in the middle where the length is even.
func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// pair is two costs measured in turns.
type pair struct {
	ours, theirs, ratios []float64
}

func (p *pair) ratio() float64 { return median(p.ratios) }

// minRounds is how often each side is measured at least, however short the time.
const minRounds = 5

// inTurns measures ours and theirs by turns, the one first that was last before, for about the given time. What
// disturbs the machine for longer than a turn disturbs both, and the median of the ratios leaves out
// what was shorter.
func inTurns(budget time.Duration, ours, theirs func() (float64, error)) (pair, error) {
	return inTurnsLeast(budget, minRounds, ours, theirs)
}

// inTurnsLeast is inTurns with another number of rounds to be made at least.
func inTurnsLeast(budget time.Duration, least int, ours, theirs func() (float64, error)) (pair, error) {
	var p pair
	started := time.Now()
	for round := 0; round < least || time.Since(started) < budget; round++ {
		first, second := ours, theirs
		if round%2 == 1 {
			first, second = theirs, ours
		}
		x, err := first()
		if err != nil {
			return p, err
		}
		y, err := second()
		if err != nil {
			return p, err
		}
		if round%2 == 1 {
			x, y = y, x
		}
		p.ours = append(p.ours, x)
		p.theirs = append(p.theirs, y)
		p.ratios = append(p.ratios, x/y)
	}
	return p, nil
}

// repeat measures for about the given time and returns all figures.
func repeat(budget time.Duration, measure func() (float64, error)) ([]float64, error) {
	var all []float64
	started := time.Now()
	for len(all) < minRounds || time.Since(started) < budget {
		x, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// exponent is the steepest slope of log y over log x between neighbours: 1 is linear, 2 quadratic. A fit
// through all points would be flattered by the fixed part of a cost, which hides growth at the small ones.
func exponent(x, y []float64) float64 {
	steepest := math.Inf(-1)
	for i := 1; i < len(x); i++ {
		steepest = max(steepest, math.Log(y[i]/y[i-1])/math.Log(x[i]/x[i-1]))
	}
	return steepest
}
