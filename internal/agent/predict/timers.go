package predict

import (
	"container/heap"
	"time"
)

// maxEntries bounds for how many contexts an Agenda has plans at once.
const maxTimers = 4096

// Entry is a plan, and what it is for. The zero value is on no Agenda.
type Timer[T any] struct {
	schedule Schedule
	value    T
	position int // in the heap, from 1 on; 0: not in it
}

// Planned reports whether the entry is on an agenda.
func (e *Timer[T]) Active() bool { return e.position > 0 }

// Agenda is the plans of many contexts, by time.
type Timers[T any] struct{ heap timerHeap[T] }

// Put puts a plan onto the agenda, in place of the one that the entry had.
func (t *Timers[T]) Set(e *Timer[T], schedule Schedule, value T) {
	e.schedule, e.value = schedule, value
	switch {
	case schedule.Next.IsZero():
		t.Remove(e)
	case e.position > 0:
		heap.Fix(&t.heap, e.position-1)
	case len(t.heap) < maxTimers:
		heap.Push(&t.heap, e)
	}
}

// Remove takes an entry from the agenda, if it is there.
func (t *Timers[T]) Remove(e *Timer[T]) {
	if e.position > 0 {
		heap.Remove(&t.heap, e.position-1)
	}
}

// Next is when the next sample is to be taken; zero: never.
func (t *Timers[T]) Next() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].schedule.Next
}

// Sampled takes the next sample for taken, and returns what it is for.
func (t *Timers[T]) Advance(now time.Time) T {
	e := t.heap[0]
	value := e.value
	if e.schedule.Advance(now); e.schedule.Next.IsZero() {
		heap.Pop(&t.heap)
	} else {
		heap.Fix(&t.heap, 0)
	}
	return value
}

// entries is a heap by time.
type timerHeap[T any] []*Timer[T]

func (h timerHeap[T]) Len() int           { return len(h) }
func (h timerHeap[T]) Less(i, j int) bool { return h[i].schedule.Next.Before(h[j].schedule.Next) }
func (h timerHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i+1, j+1
}

// Push implements heap.Interface.
func (h *timerHeap[T]) Push(x any) {
	e := x.(*Timer[T])
	*h = append(*h, e)
	e.position = len(*h)
}

// Pop implements heap.Interface.
func (h *timerHeap[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	var none T
	e.position, e.value = 0, none
	return e
}
