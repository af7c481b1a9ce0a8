package agent

import (
	"sync/atomic"
	"time"

	"pmdaderived/pmda/nonblock"
)

// nap is how the scheduler sleeps.
type nap interface {
	// sleep returns after d, or after a rouse since it returned last. One goroutine may sleep.
	sleep(d time.Duration)
	rouse()
}

// newNap returns one on a timer of the kernel.
func newNap() nap {
	timer, err := nonblock.NewTimer()
	if err != nil { // the other costs more, and that is all
		return newGoNap()
	}
	return &kernelNap{timer: timer}
}

// goNap is a nap on a timer of Go.
type goNap struct {
	timer  *time.Timer
	roused chan struct{} // capacity 1
}

func newGoNap() *goNap { return &goNap{time.NewTimer(0), make(chan struct{}, 1)} }

func (n *goNap) sleep(d time.Duration) {
	n.timer.Reset(d)
	select {
	case <-n.roused:
	case <-n.timer.C:
	}
}

func (n *goNap) rouse() { signal(n.roused) }

// kernelNap is a nap on a timer of the kernel, which wakes as few threads as can be.
type kernelNap struct {
	timer  *nonblock.Timer
	roused atomic.Bool
}

func (n *kernelNap) sleep(d time.Duration) {
	n.timer.Set(d)
	if !n.roused.Load() { // else perhaps before Set, which has undone it
		n.timer.Wait()
	}
	n.roused.Store(false)
}

func (n *kernelNap) rouse() {
	n.roused.Store(true)
	n.timer.Set(0)
}
