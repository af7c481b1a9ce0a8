package window

import (
	"slices"

	"pmdaderived/derived"
)

// A percentile and a slope are computed from all values of a window: they have no parts that could be joined.

// insertSorted adds a word to the sorted words of a slot.
func (w *Window) insertSorted(s int32, word uint64) {
	for len(w.sorted) <= int(s) {
		w.sorted = append(w.sorted, nil)
	}
	at, _ := slices.BinarySearch(w.sorted[s], word)
	w.sorted[s] = slices.Insert(w.sorted[s], at, word)
}

// removeSorted removes a word from the sorted words of a slot.
func (w *Window) removeSorted(s int32, word uint64) {
	at, _ := slices.BinarySearch(w.sorted[s], word)
	w.sorted[s] = slices.Delete(w.sorted[s], at, at+1)
}

// percentile returns the result of a slot that has values.
func (w *Window) percentile(s int32) uint64 {
	sorted := w.sorted[s]
	return fromOrdered(w.valueType, sorted[derived.NearestRank(w.percent, len(sorted))-1])
}

// lineFit fits a straight line to the values of an instance. It has the means, and the sums of products of differences
// from them.
type lineFit struct {
	n, tick, value float64
	ticks, product float64 // Σ(t − mean)², Σ(t − mean)(v − mean)
}

// add adds a value. It subtracts no sums of large numbers from each other, so that a small growth of a large value is
// not lost.
func (l *lineFit) add(tick, value float64) {
	l.n++
	off := tick - l.tick
	l.tick += off / l.n
	l.value += (value - l.value) / l.n
	l.ticks += off * (tick - l.tick)
	l.product += off * (value - l.value)
}

// slope returns the growth of the value per tick, NaN for one tick.
func (l *lineFit) slope() float64 { return l.product / l.ticks }

// lineFits returns the fits of all slots.
func (w *Window) lineFits() []lineFit {
	lines := make([]lineFit, len(w.ids))
	add := func(r *run) {
		for tick := r.removed; tick < r.ticks; tick++ {
			words := atTick(r, r.words, tick)
			for i, s := range r.layout.slots {
				lines[s].add(float64(r.tick+int64(tick)-w.newestTick), double(words[i]))
			}
		}
	}
	for i := range w.front {
		add(&w.front[len(w.front)-1-i])
	}
	for i := range w.back {
		add(&w.back[i])
	}
	return lines
}
