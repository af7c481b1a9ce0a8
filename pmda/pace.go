package pmda

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// pacedPipe is the pipe from pmcd. After a pause Go's poller waits for a request. While requests follow each other at
// once read(2) blocks, and the poller does not know the pipe, or it would wake a thread for each of them
// (docs/decisions/0018).
//
// Nothing from outside ends a read(2) that blocks, not even closing its descriptor. But on Linux a pipe can be opened once
// more for writing: a byte wakes the reader.
type pacedPipe struct {
	end    *pipeEnd
	pipe   *os.File   // of end
	polled *os.File   // another descriptor of it, in the poller; nil while busy, or if there can be none
	quiet  *quietFile // polled
	pace   pace
	ended  atomic.Bool // Read fails from now on
}

func newPacedPipe(pipe *os.File, end *pipeEnd) (*pacedPipe, error) {
	p := &pacedPipe{pipe: pipe, end: end}
	return p, p.poll()
}

// errInterrupted is what a pacedPipe says after interrupt. The cause is known to whoever did that.
var errInterrupted = errors.New("interrupted")

// Read waits until something has arrived.
func (p *pacedPipe) Read(b []byte) (n int, err error) {
	switch {
	case p.ended.Load():
	case p.polled != nil:
		n, err = p.quiet.Read(b)
	default:
		n, err = p.pipe.Read(b)
	}
	switch {
	case p.ended.Load(): // n may be the byte of interrupt
		return 0, errInterrupted
	case err != nil:
		return n, err
	}
	if p.pace.due(time.Now()) {
		runtime.Gosched()
	}
	if p.pace.busy() == (p.polled != nil) {
		err = p.change()
	}
	return n, err
}

// change goes from one way of waiting to the other. O_NONBLOCK belongs to both descriptors.
func (p *pacedPipe) change() error {
	if p.polled == nil {
		return p.poll()
	}
	err := p.polled.Close()
	p.polled = nil
	return errors.Join(err, p.end.setNonblock(false))
}

// poll leaves everything as it is if the process has no descriptor left: read(2) waits, too.
func (p *pacedPipe) poll() error {
	fd, err := p.end.duplicate()
	if err != nil {
		return nil
	}
	if err := p.end.setNonblock(true); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	p.polled = os.NewFile(uintptr(fd), p.pipe.Name())
	p.quiet, err = newQuietFile(p.polled)
	return err
}

// interrupt makes the Read under way return, and every later one at once.
func (p *pacedPipe) interrupt() {
	p.ended.Store(true)
	if end, err := p.end.reopen(); err == nil { // without a descriptor it waits for pmcd's next request
		_, _ = unix.Write(end, []byte{0}) // if the pipe is full there is enough to wake up for
		_ = unix.Close(end)
	}
}

// close closes what Read has opened. Nobody may be in Read.
func (p *pacedPipe) close() {
	if p.polled != nil {
		_ = p.polled.Close()
	}
}

// pace keeps the scheduler of Go from mistaking a goroutine that only ever blocks in system calls for one that
// computes too long. It takes it for that when it has not been scheduled for 10 ms: then it takes the
// processor away in every system call, looks again every 20 µs, and wakes another thread to care
// for the processor; and the next request waits until there is one again. A goroutine that yields now and
// then is left alone.
type pace struct {
	last    time.Time // of the calls of due
	row     int       // of requests without a pause
	yielded time.Time // or the first call after a pause
}

// After a pause this long the processor is gone in any case, and to yield would only keep the
// scheduler's monitor awake. Both together are less than 10 ms.
const (
	pacePause = 4 * time.Millisecond
	paceYield = 4 * time.Millisecond
)

// busyRow is how many requests without a pause make it worth while to block in read(2) and not in the poller.
const busyRow = 32

// busy reports whether a request is expected at once.
func (p *pace) busy() bool { return p.row >= busyRow }

// due is called for each request and reports whether the goroutine should yield before it.
func (p *pace) due(now time.Time) bool {
	paused := now.Sub(p.last) > pacePause
	p.last = now
	if paused {
		p.row = 0
	} else if p.row < busyRow {
		p.row++
	}
	yield := !paused && now.Sub(p.yielded) > paceYield
	if paused || yield {
		p.yielded = now
	}
	return yield
}
