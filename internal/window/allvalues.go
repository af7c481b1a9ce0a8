package window

import (
	"slices"

	"pmdaderived/derived"
)

// What takes all values of a window for each result: no parts of it tell what the whole comes to.

// insertSorted puts a word among those of a slot.
func (w *Window) insertSorted(s int32, word uint64) {
	for len(w.sorted) <= int(s) {
		w.sorted = append(w.sorted, nil)
	}
	at, _ := slices.BinarySearch(w.sorted[s], word)
	w.sorted[s] = slices.Insert(w.sorted[s], at, word)
}

// removeSorted takes a word out of those of a slot.
func (w *Window) removeSorted(s int32, word uint64) {
	at, _ := slices.BinarySearch(w.sorted[s], word)
	w.sorted[s] = slices.Delete(w.sorted[s], at, at+1)
}

// percentile is the number of a slot that has values.
func (w *Window) percentile(s int32) uint64 {
	sorted := w.sorted[s]
	return fromOrdered(w.valueType, sorted[derived.NearestRank(w.percent, len(sorted))-1])
}

// lineFit is what the values of an instance come to for the straight line that fits them best: their means, and the sums of what
// each is off these.
type lineFit struct {
	n, tick, value float64
	ticks, product float64 // Σ(t − mean)², Σ(t − mean)(v − mean)
}

// add adds a value. Sums of large numbers are not subtracted from each other: what a file system of terabytes grows by in a second is not lost.
func (l *lineFit) add(tick, value float64) {
	l.n++
	off := tick - l.tick
	l.tick += off / l.n
	l.value += (value - l.value) / l.n
	l.ticks += off * (tick - l.tick)
	l.product += off * (value - l.value)
}

// slope is how much the value grows from tick to tick; NaN of one tick.
func (l *lineFit) slope() float64 { return l.product / l.ticks }

// lineFits are those of all slots.
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
