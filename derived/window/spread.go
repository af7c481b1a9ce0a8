package window

import (
	"math"
	"slices"
)

// spread is what the values of a part are off one of them, its origin. Their mean is about as near to it as they are to each other, so the squares
// are small where the differences are. Values are taken out of it again, which leaves their roundings: if less than a thousandth is left, it is
// computed anew from the values that are left.
type spread struct{ sum, squares float64 }

// add adds a value to a part; the first one is the origin.
func (d *spread) add(p *part, word uint64) {
	if p.n == 0 {
		p.a = word
	}
	p.n++
	off := double(word) - double(p.a)
	d.sum += off
	d.squares += off * off
}

// remove takes a value out of a part.
func (d *spread) remove(p *part, word uint64) {
	p.n--
	off := double(word) - double(p.a)
	d.sum -= off
	d.squares -= off * off
}

// around is the sum of the squares of what so many values are off their mean, times their number.
func (d *spread) around(n float64) float64 { return d.squares*n - d.sum*d.sum }

// limit keeps how small that may become, as an exponent.
func (d *spread) limit(p *part) {
	p.least = uint32(bits(max(0, d.around(float64(p.n)))/1024) >> 52)
}

// deviation is the standard deviation of a slot, which most ticks have at i.
func (w *Window) deviation(s int32, i int) float64 {
	x, y, dx, dy := &w.inFront.of[s], &w.inBack.of[s], &w.inFront.spreads[s], &w.inBack.spreads[s]
	n, m := float64(x.n), float64(y.n)
	if n > 0 && !(dx.around(n) >= double(uint64(x.least)<<52)) { // it may be NaN
		w.again(s, i)
	}
	around, other := dx.around(n), dy.around(m)
	switch {
	case n == 0:
		return math.Sqrt(max(0, other)) / m
	case m == 0:
		return math.Sqrt(max(0, around)) / n
	}
	apart, all := (double(y.a)-double(x.a))*n*m+dy.sum*n-dx.sum*m, n+m
	return math.Sqrt(max(0, ((around*m+other*n)*all+apart*apart)/(n*m*all*all)))
}

// again computes anew what the front of a slot comes to.
func (w *Window) again(s int32, i int) {
	x, d := &w.inFront.of[s], &w.inFront.spreads[s]
	n := x.n
	*x, *d = part{}, spread{}
	for _, r := range w.front {
		at := r.of.at
		if i >= len(at) || at[i] != s {
			i = max(0, slices.Index(at, s))
		}
		for tick := r.left; tick < r.ticks && i < len(at) && at[i] == s; tick++ {
			d.add(x, r.column(tick)[i])
		}
	}
	if x.n < n { // some ticks have it twice
		*x, *d = part{}, spread{}
		for _, r := range w.front {
			for k := r.left * len(r.of.at); k < r.ticks*len(r.of.at); k++ {
				if r.of.at[k%len(r.of.at)] == s {
					d.add(x, r.words[k])
				}
			}
		}
	}
	d.limit(x)
}
