package pmda

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/pdu"
)

// patience is how long what must happen soon may take.
const patience = 10 * time.Second

// blockingPipe returns a pipe of which one end, that with the index mine, is ours and the other one
// somebody else's.
func blockingPipe(t *testing.T, mine int) (*pipe, *os.File) {
	t.Helper()
	var fds [2]int
	require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	p, err := newPipe(fds[mine], [...]int{unix.O_WRONLY, unix.O_RDONLY}[mine])
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fds[1-mine], true))
	peer := os.NewFile(uintptr(fds[1-mine]), "peer")
	t.Cleanup(func() {
		peer.Close()
		p.Close()
	})
	return p, peer
}

func readPipe(t *testing.T) (*pipe, *os.File)  { return blockingPipe(t, 0) }
func writePipe(t *testing.T) (*pipe, *os.File) { return blockingPipe(t, 1) }

// within returns what done tells, soon.
func within(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		require.FailNow(t, "still blocked")
		return nil
	}
}

func TestPipeIsAStream(t *testing.T) {
	in, pmcd := readPipe(t)
	_, err := pmcd.WriteString("request")
	require.NoError(t, err)
	b := make([]byte, 100)
	n, err := in.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "request", string(b[:n]))
	require.NoError(t, pmcd.Close())
	_, err = in.Read(b)
	require.Equal(t, io.EOF, err)

	out, pmcd := writePipe(t)
	n, err = out.Write([]byte("reply"))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	n, err = pmcd.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "reply", string(b[:n]))
	require.NoError(t, pmcd.Close())
	_, err = out.Write([]byte("reply"))
	require.ErrorIs(t, err, syscall.EPIPE)
}

// A reply larger than the pipe is one Write.
func TestPipeWritesMoreThanThePipeHolds(t *testing.T) {
	out, pmcd := writePipe(t)
	done := make(chan error, 1)
	big := make([]byte, 1<<20)
	big[len(big)-1] = 7
	go func() {
		n, err := out.Write(big)
		if n != len(big) {
			err = errors.Join(err, io.ErrShortWrite)
		}
		done <- err
	}()
	got := make([]byte, len(big))
	_, err := io.ReadFull(pmcd, got)
	require.NoError(t, err)
	require.NoError(t, within(t, done))
	assert.Equal(t, big, got)
	size, err := unix.FcntlInt(uintptr(out.fd), unix.F_GETPIPE_SZ, 0)
	require.NoError(t, err)
	assert.Equal(t, 1<<20, size, "now it holds as much")
}

func TestPipeInterruptsARead(t *testing.T) {
	for name, before := range map[string]func(p *pipe, pmcd *os.File){
		"nothing has arrived": func(*pipe, *os.File) {},
		"the pipe is full": func(_ *pipe, pmcd *os.File) {
			_ = pmcd.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			_, _ = pmcd.Write(make([]byte, 1<<20))
		},
		"pmcd has gone": func(_ *pipe, pmcd *os.File) { pmcd.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p, pmcd := readPipe(t)
			before(p, pmcd)
			require.NoError(t, p.interrupt())
			_, err := p.Read(make([]byte, 10))
			assert.Equal(t, errInterrupted, err)
		})
	}
	t.Run("while it blocks", func(t *testing.T) {
		p, _ := readPipe(t)
		done := make(chan error, 1)
		go func() {
			_, err := p.Read(make([]byte, 10))
			done <- err
		}()
		select {
		case <-done:
			require.FailNow(t, "it does not block")
		case <-time.After(20 * time.Millisecond):
		}
		require.NoError(t, p.interrupt())
		require.Equal(t, errInterrupted, within(t, done))
	})
}

func TestPipeInterruptsAWrite(t *testing.T) {
	for name, size := range map[string]int{"little is missing": maxPipeSize + 1, "much is missing": 8 * maxPipeSize} {
		t.Run(name, func(t *testing.T) {
			p, _ := writePipe(t)
			done := make(chan error, 1)
			go func() {
				_, err := p.Write(make([]byte, size))
				done <- err
			}()
			select {
			case <-done:
				require.FailNow(t, "it does not block")
			case <-time.After(20 * time.Millisecond):
			}
			require.NoError(t, p.interrupt())
			require.Equal(t, errInterrupted, within(t, done))
			_, err := p.Write([]byte{1})
			require.Equal(t, errInterrupted, err, "and later")
		})
	}
}

// What cannot be interrupted is not taken.
func TestNotAPipe(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	_, err = newPipe(fds[0], unix.O_WRONLY)
	require.ErrorIs(t, err, syscall.ENXIO)
}

// The context ends Serve on the pipes of Stdio wherever it waits.
func TestContextEndsServeOnPipes(t *testing.T) {
	fetch := (&pdu.Fetch{PMIDs: make([]pdu.PMID, 40_000)}).Append(nil, 0) // for a reply larger than a pipe
	for name, stream := range map[string][]byte{
		"for a request":                     nil,
		"for the rest of a request":         fetch[:100],
		"for somebody who reads its answer": fetch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, to := readPipe(t)
			out, from := writePipe(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			go func() { done <- (&Server{Agent: newNumbers(), Greeted: true}).Serve(ctx, in, out) }()
			_, err := to.Write(append((&pdu.Creds{Version: pdu.ProtocolVersion}).Append(nil, 0), stream...))
			require.NoError(t, err)
			if len(stream) == len(fetch) {
				_, err := from.Read(make([]byte, 10)) // the reply is under way
				require.NoError(t, err)
			}
			reason := errors.New("told to stop")
			cancel(reason)
			assert.Equal(t, reason, within(t, done))
		})
	}
}

// A stream that is slow at first, then busy, then slow again is waited for in both ways.
func TestPipeAtEveryPace(t *testing.T) {
	in, pmcd := readPipe(t)
	b := make([]byte, 10)
	ask := func() {
		t.Helper()
		_, err := pmcd.WriteString("request")
		require.NoError(t, err)
		n, err := in.Read(b)
		require.NoError(t, err)
		require.Equal(t, "request", string(b[:n]))
	}
	blocks := func() bool {
		t.Helper()
		flags, err := unix.FcntlInt(uintptr(in.fd), unix.F_GETFL, 0)
		require.NoError(t, err)
		return flags&unix.O_NONBLOCK == 0
	}
	for range 2 {
		require.False(t, blocks())
		for deadline := time.Now().Add(patience); !blocks(); ask() {
			require.True(t, time.Now().Before(deadline))
		}
		require.True(t, in.pace.busy())
		done := make(chan error, 1)
		go func() { // it has begun to block
			_, err := in.Read(b)
			done <- err
		}()
		time.Sleep(2 * pacePause)
		_, err := pmcd.WriteString("late")
		require.NoError(t, err)
		require.NoError(t, within(t, done))
	}
	require.NoError(t, pmcd.Close())
	_, err := in.Read(b)
	require.Equal(t, io.EOF, err)
}

// Yielding is for those who are busy: about every 5 ms among many requests, never after a pause.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1_800_000_000, 0)
	yields := func(n int, interval time.Duration) (count int) {
		for range n {
			now = now.Add(interval)
			if p.due(now) {
				count++
			}
		}
		return count
	}
	assert.Zero(t, yields(100, time.Second), "one request per second")
	assert.False(t, p.busy())
	assert.Zero(t, yields(3, time.Millisecond), "a tool that asks three times")
	assert.Zero(t, yields(100, time.Second))
	assert.InDelta(t, 24, yields(100_000, time.Microsecond), 1, "100 ms of requests")
	assert.True(t, p.busy())
	assert.InDelta(t, 20, yields(100, time.Millisecond), 5)
}
