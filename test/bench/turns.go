package bench

import (
	"time"

	"pmdaderived/test/rig"
)

// pair is two costs measured in turns.
type pair struct{ ours, theirs, ratios []float64 }

func (p *pair) ratio() float64 { return rig.Median(p.ratios) }

// minRounds is how often each side is measured at least, however short the time.
const minRounds = 5

// inTurns measures ours and theirs by turns, the one first that was last before, for about the given time and at
// least so many rounds. What disturbs the machine for longer than a turn disturbs both, and the median of the ratios
// leaves out what was shorter.
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

// compare compares two costs in ns by turns and returns the ratio.
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
