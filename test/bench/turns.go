package bench

import (
	"time"

	"pmdaderived/test/rig"
)

// pair has the costs of two sides, measured in turns.
type pair struct{ ours, theirs, ratios []float64 }

func (p *pair) ratio() float64 { return rig.Median(p.ratios) }

// minRounds is the least number of measurements of each side, however short the time.
const minRounds = 5

// inTurns measures ours and theirs in turns, for about the given time and at least the given number of rounds. The side
// that was last goes first in the next round. A disturbance longer than a turn affects both sides, and the median of
// the ratios leaves out shorter ones.
func inTurns(budget time.Duration, least int, ours, theirs func() (float64, error)) (pair, error) {
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

// compare measures two costs in ns in turns and returns the ratio.
func (b *bench) compare(what string, least int, ours, theirs func() (float64, error)) (float64, error) {
	p, err := inTurns(b.Time, least, ours, theirs)
	if err != nil {
		return 0, err
	}
	b.Log.Verbosef("%s: %.1f µs against %.1f µs; quartiles of the ratio %.3f to %.3f, %d turns", what,
		rig.Median(p.ours)/1e3,
		rig.Median(p.theirs)/1e3, rig.Quantile(p.ratios, 0.25), rig.Quantile(p.ratios, 0.75), len(p.ratios))
	return p.ratio(), nil
}
