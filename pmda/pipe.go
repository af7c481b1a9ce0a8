package pmda

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/pmda/nonblock"
)

// pipe is one end of a pipe. While requests follow each other at once its system calls block, with nothing of
// Go's poller between pmcd and the request loop; otherwise the poller waits (docs/decisions/0008). A call that
// blocks cannot be interrupted from outside, and closing the descriptor does not end it. But on Linux the other
// end of a pipe can be opened once more: a byte written there wakes a reader, and reading there makes room for a
// writer. docs/decisions/0004 has the alternatives and what they cost.
type pipe struct {
	fd     int
	other  int              // flags that open the other end
	room   int              // bytes that the pipe holds; what is known of it
	waiter *nonblock.Waiter // of an end to read from
	pace   pace

	ended   atomic.Bool // Read and Write fail from now on
	writing atomic.Bool
}

// errInterrupted is what a pipe says after interrupt. The cause is known to whoever did that.
var errInterrupted = errors.New("interrupted")

// newPipe makes a pipe of the end fd, which it takes over. It fails if the other end cannot be
// opened: the system has no /proc, or the pipe belongs to another user.
func newPipe(fd, other int) (*pipe, error) {
	p := &pipe{fd: fd, other: other, room: pipeSize}
	end, err := p.openOther()
	if err != nil {
		return nil, err
	}
	err = errors.Join(unix.Close(end), unix.SetNonblock(fd, true))
	if err == nil && other == unix.O_WRONLY {
		p.waiter, err = nonblock.NewWaiter(fd)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// openOther opens the other end. It is not kept: while it is open the end of the stream does not
// show.
func (p *pipe) openOther() (fd int, err error) {
	for {
		fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(p.fd), p.other|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, os.NewSyscallError("open", err)
		}
	}
}

// Read blocks until something has arrived.
func (p *pipe) Read(b []byte) (int, error) {
	for !p.ended.Load() {
		n, err := p.read(b)
		switch {
		case p.ended.Load(): // n may be the byte of interrupt
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, p.keepPace(time.Now())
		}
	}
	return 0, errInterrupted
}

// read waits for something to read, in the way that the pace of the requests asks for.
func (p *pipe) read(b []byte) (int, error) {
	if p.pace.busy() {
		return unix.Read(p.fd, b)
	}
	if err := p.waiter.WaitReadable(); err != nil {
		return 0, err
	}
	return nonblock.Read(p.fd, b)
}

// keepPace is called for each request.
func (p *pipe) keepPace(now time.Time) error {
	busy := p.pace.busy()
	if p.pace.due(now) {
		runtime.Gosched()
	}
	if p.pace.busy() == busy {
		return nil
	}
	return os.NewSyscallError("fcntl", unix.SetNonblock(p.fd, busy))
}

// Write blocks until everything is in the pipe. As a rule there is room at once: pmcd has read the reply before
// it sends the next request.
func (p *pipe) Write(b []byte) (int, error) {
	if len(b) > p.room {
		p.widen(len(b))
	}
	p.writing.Store(true)
	defer p.writing.Store(false)
	for done := 0; !p.ended.Load(); {
		n, err := nonblock.Write(p.fd, b[done:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			room := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLOUT}}
			if _, err := unix.Poll(room, -1); err != nil && !errors.Is(err, unix.EINTR) {
				return done, os.NewSyscallError("poll", err)
			}
			continue
		case err != nil:
			return done, os.NewSyscallError("write", err)
		}
		// What interrupt has read is not on its way to anybody.
		if done += n; done == len(b) && !p.ended.Load() {
			return done, nil
		}
	}
	return 0, errInterrupted
}

// Sizes of a pipe in bytes: what it holds at first, and what one that is not root may make of it
// (/proc/sys/fs/pipe-max-size).
const (
	pipeSize    = 64 << 10
	maxPipeSize = 1 << 20
)

// widen lets the pipe hold n bytes, or as many as it can. A reply that does not fit costs a turn of
// both processes for each pipeful. If the system refuses it stays as it is.
func (p *pipe) widen(n int) {
	size := pipeSize
	for size < min(n, maxPipeSize) {
		size *= 2
	}
	if size > p.room {
		_, _ = unix.FcntlInt(uintptr(p.fd), unix.F_SETPIPE_SZ, size)
		p.room = size
	}
}

// interrupt makes the Read or Write under way return, and every later one at once. The stream is
// over: some of it may get lost.
func (p *pipe) interrupt() error {
	p.ended.Store(true)
	end, err := p.openOther()
	if err != nil {
		return err
	}
	if p.other == unix.O_WRONLY {
		_, err = unix.Write(end, []byte{0})
		if errors.Is(err, unix.EAGAIN) { // full: there is enough to wake up for
			err = nil
		}
		return errors.Join(err, unix.Close(end))
	}
	scratch := make([]byte, 64<<10)
	for p.writing.Load() {
		if n, _ := unix.Read(end, scratch); n <= 0 {
			time.Sleep(time.Millisecond) // the writer has not come back to the pipe yet
		}
	}
	return unix.Close(end)
}

// Close closes the descriptor. Nobody may be in Read or Write.
func (p *pipe) Close() error {
	p.ended.Store(true)
	var err error
	if p.waiter != nil {
		err = p.waiter.Close()
	}
	return errors.Join(err, os.NewSyscallError("close", unix.Close(p.fd)))
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
