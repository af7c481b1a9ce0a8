package predict

import (
	"container/heap"
	"time"
)

// maxEntries bounds for how many contexts an Agenda has plans at once.
const maxEntries = 4096

// Entry is a plan, and what it is for. The zero value is on no Agenda.
type Entry[T any] struct {
	plan  Plan
	what  T
	place int // in the heap, from 1 on; 0: not in it
}

// Planned reports whether the entry is on an agenda.
func (e *Entry[T]) Planned() bool { return e.place > 0 }

// Agenda is the plans of many contexts, by time.
type Agenda[T any] struct{ entries entries[T] }

// Put puts a plan onto the agenda, in place of the one that the entry had.
func (a *Agenda[T]) Put(e *Entry[T], plan Plan, what T) {
	e.plan, e.what = plan, what
	switch {
	case plan.At.IsZero():
		a.Remove(e)
	case e.place > 0:
		heap.Fix(&a.entries, e.place-1)
	case len(a.entries) < maxEntries:
		heap.Push(&a.entries, e)
	}
}

// Remove takes an entry from the agenda, if it is there.
func (a *Agenda[T]) Remove(e *Entry[T]) {
	if e.place > 0 {
		heap.Remove(&a.entries, e.place-1)
	}
}

// Next is when the next sample is to be taken; zero: never.
func (a *Agenda[T]) Next() time.Time {
	if len(a.entries) == 0 {
		return time.Time{}
	}
	return a.entries[0].plan.At
}

// Sampled takes the next sample for taken, and returns what it is for.
func (a *Agenda[T]) Sampled(now time.Time) T {
	e := a.entries[0]
	what := e.what
	if e.plan.Sampled(now); e.plan.At.IsZero() {
		heap.Pop(&a.entries)
	} else {
		heap.Fix(&a.entries, 0)
	}
	return what
}

// entries is a heap by time.
type entries[T any] []*Entry[T]

func (h entries[T]) Len() int           { return len(h) }
func (h entries[T]) Less(i, j int) bool { return h[i].plan.At.Before(h[j].plan.At) }
func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (h *entries[T]) Push(x any) {
	e := x.(*Entry[T])
	*h = append(*h, e)
	e.place = len(*h)
}

// Pop implements heap.Interface.
func (h *entries[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	var none T
	e.place, e.what = 0, none
	return e
}
