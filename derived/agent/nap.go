package agent

import (
	"sync/atomic"
	"time"

	"pmdaderived/pmda/nonblock"
)

// nap is how the scheduler sleeps. One goroutine may wait; the rest is for all.
type nap interface {
	set(d time.Duration) // when wait returns: after d from now, and not when it was set to before
	wait()
	end() // wait returns at once, from now on
}

// newNap returns one on a timer of the kernel, which is not set.
func newNap() nap {
	timer, err := nonblock.NewTimer()
	if err != nil { // the other costs more, and that is all
		return newGoNap()
	}
	return &kernelNap{timer: timer}
}

// goNap is a nap on a timer of Go.
type goNap struct {
	timer *time.Timer
	ended chan struct{} // capacity 1
}

func newGoNap() *goNap {
	n := &goNap{time.NewTimer(time.Hour), make(chan struct{}, 1)}
	n.timer.Stop()
	return n
}

func (n *goNap) set(d time.Duration) { n.timer.Reset(d) }

func (n *goNap) wait() {
	select {
	case <-n.ended:
		n.end() // for the next
	case <-n.timer.C:
	}
}

func (n *goNap) end() { signal(n.ended) }

// kernelNap is a nap on a timer of the kernel, which wakes as few threads as can be.
type kernelNap struct {
	timer *nonblock.Timer
	ended atomic.Bool
}

func (n *kernelNap) set(d time.Duration) { n.timer.Set(d) }

func (n *kernelNap) wait() {
	if !n.ended.Load() { // else perhaps before the timer was set, which has undone it
		n.timer.Wait()
	}
}

func (n *kernelNap) end() {
	n.ended.Store(true)
	n.timer.Set(0)
}
