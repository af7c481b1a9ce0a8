package pmda

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// patience is how long what must happen soon may take.
const patience = 10 * time.Second

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

// newPipe returns the two ends of a pipe, closed by the test's cleanup.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// pacing is a pacedPipe and pmcd's end of it.
type pacing struct {
	*pacedPipe
	t    *testing.T
	pmcd *os.File
}

func newPacing(t *testing.T) pacing {
	t.Helper()
	in, pmcd := newPipe(t)
	end := new(pipeEnd)
	require.NoError(t, end.init(in, unix.O_WRONLY))
	p, err := newPacedPipe(in, end)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return pacing{p, t, pmcd}
}

func (p pacing) ask() {
	p.t.Helper()
	_, err := p.pmcd.WriteString("request")
	require.NoError(p.t, err)
	b := make([]byte, 10)
	n, err := p.Read(b)
	require.NoError(p.t, err)
	require.Equal(p.t, "request", string(b[:n]))
}

// busy makes requests until read(2) blocks.
func (p pacing) busy() {
	p.t.Helper()
	for deadline := time.Now().Add(patience); p.polled != nil; p.ask() {
		require.True(p.t, time.Now().Before(deadline))
	}
}

// begin begins to read.
func (p pacing) begin() <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := p.Read(make([]byte, 10))
		done <- err
	}()
	return done
}

// A stream that is slow at first, then busy, then slow again is waited for in both ways.
func TestPipeAtEveryPace(t *testing.T) {
	p := newPacing(t)
	for range 2 {
		require.NotNil(t, p.polled)
		p.busy()
		done := p.begin()
		time.Sleep(2 * pacePause)
		_, err := p.pmcd.WriteString("late")
		require.NoError(t, err)
		require.NoError(t, within(t, done))
	}
	require.NoError(t, p.pmcd.Close())
	_, err := p.Read(make([]byte, 10))
	require.Equal(t, io.EOF, err)
}

// A process with no descriptor left goes on in read(2), and returns to the poller when it can.
func TestPipeWithoutDescriptors(t *testing.T) {
	p := newPacing(t)
	p.busy()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 3 // those that are open stay open
	pause := func() {
		time.Sleep(2 * pacePause)
		p.ask()
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) })
	pause()
	require.Nil(t, p.polled)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	pause()
	require.NotNil(t, p.polled)
}

func TestPipeIsInterrupted(t *testing.T) {
	for name, before := range map[string]func(p pacing){
		"while it is polled": func(pacing) {},
		"while it blocks":    pacing.busy,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacing(t)
			before(p)
			done := p.begin()
			select {
			case <-done:
				require.FailNow(t, "it does not wait")
			case <-time.After(20 * time.Millisecond):
			}
			p.interrupt()
			require.Equal(t, errInterrupted, within(t, done))
			require.Equal(t, errInterrupted, within(t, p.begin()), "and later")
		})
	}
}

// What is no pipe of ours is read as the file that it is.
func TestNotAPipe(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	a, b := os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	defer a.Close()
	defer b.Close()
	in, out := newPipe(t)
	assert.Nil(t, newPipes(a, out))
	assert.Nil(t, newPipes(in, b))
	assert.NotNil(t, newPipes(in, out))
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
