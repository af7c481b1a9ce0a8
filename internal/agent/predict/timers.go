package predict

import (
	"container/heap"
	"time"
)

// Timer has the schedule of one context, and a value: what is to be sampled. The zero value is not active.
type Timer[T any] struct {
	schedule Schedule
	value    T
	position int // in the heap, from 1 on; 0: not active
}

// Active reports whether the timer is among its Timers.
func (e *Timer[T]) Active() bool { return e.position > 0 }

// Timers orders the active timers by the time of their next sample. Their number has no bound of its own: their owner
// bounds what they belong to.
type Timers[T any] struct{ heap timerHeap[T] }

// Set sets the schedule and the value of a timer. A schedule without a next sample stops it.
func (t *Timers[T]) Set(e *Timer[T], schedule Schedule, value T) {
	e.schedule, e.value = schedule, value
	switch {
	case schedule.Next.IsZero():
		t.Remove(e)
	case e.position > 0:
		heap.Fix(&t.heap, e.position-1)
	default:
		heap.Push(&t.heap, e)
	}
}

// Remove stops a timer, if it is active.
func (t *Timers[T]) Remove(e *Timer[T]) {
	if e.position > 0 {
		heap.Remove(&t.heap, e.position-1)
	}
}

// Next returns the time of the next sample of all timers, zero if there is none.
func (t *Timers[T]) Next() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].schedule.Next
}

// Advance advances the timer that is next, whose sample is requested now, and returns its value.
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

// timerHeap implements heap.Interface: the timer that is next comes first.
type timerHeap[T any] []*Timer[T]

func (h timerHeap[T]) Len() int           { return len(h) }
func (h timerHeap[T]) Less(i, j int) bool { return h[i].schedule.Next.Before(h[j].schedule.Next) }
func (h timerHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i+1, j+1
}

func (h *timerHeap[T]) Push(x any) {
	e := x.(*Timer[T])
	*h = append(*h, e)
	e.position = len(*h)
}

func (h *timerHeap[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	var none T
	e.position, e.value = 0, none
	return e
}
