package nowait_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/nowait"
)

// ends are the files of two connected descriptors, and what closes them and sets their deadlines.
type ends struct {
	read, write *nowait.File
	reader      interface {
		io.Closer
		SetReadDeadline(t time.Time) error
	}
	writer interface {
		io.Closer
		SetWriteDeadline(t time.Time) error
	}
}

// onBoth runs a test with a pipe and with a socket.
func onBoth(t *testing.T, test func(t *testing.T, e ends)) {
	t.Helper()
	newFile := func(t *testing.T, of any) *nowait.File {
		t.Helper()
		f, err := nowait.New(of)
		require.NoError(t, err)
		return f
	}
	t.Run("pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		test(t, ends{newFile(t, r), newFile(t, w), r, w})
	})
	t.Run("socket", func(t *testing.T) {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		w, err := net.Dial("unix", l.Addr().String())
		require.NoError(t, err)
		r, err := l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		test(t, ends{newFile(t, r), newFile(t, w), r, w})
	})
}

func TestNowReturnsWhatIsThere(t *testing.T) {
	onBoth(t, func(t *testing.T, e ends) {
		b := make([]byte, 10)
		_, err := e.read.ReadNow(b)
		require.ErrorIs(t, err, syscall.EAGAIN)

		n, err := e.write.WriteNow([]byte("answer"))
		require.NoError(t, err)
		assert.Equal(t, len("answer"), n)
		n, err = e.read.ReadNow(b)
		require.NoError(t, err)
		assert.Equal(t, "answer", string(b[:n]))

		require.NoError(t, e.writer.Close())
		_, err = e.read.ReadNow(b)
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestReadAndWriteWait(t *testing.T) {
	onBoth(t, func(t *testing.T, e ends) {
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than either buffers
		written := make(chan error, 1)
		go func() {
			n, err := e.write.Write(sent)
			assert.Equal(t, len(sent), n)
			written <- err
			assert.NoError(t, e.writer.Close())
		}()
		got, err := io.ReadAll(e.read)
		require.NoError(t, err)
		require.NoError(t, <-written)
		assert.True(t, bytes.Equal(sent, got))
	})
}

func TestDeadlines(t *testing.T) {
	onBoth(t, func(t *testing.T, e ends) {
		require.NoError(t, e.reader.SetReadDeadline(time.Unix(1, 0)))
		_, err := e.read.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		for err = nil; err == nil; { // until there is no space
			_, err = e.write.WriteNow(make([]byte, 1<<16))
		}
		require.ErrorIs(t, err, syscall.EAGAIN)
		require.NoError(t, e.writer.SetWriteDeadline(time.Unix(1, 0)))
		_, err = e.write.Write(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = e.read.ReadNow(make([]byte, 1))
		require.NoError(t, err, "it does not wait, so it has no deadline")
	})
}

func TestWritesToNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, e ends) {
		require.NoError(t, e.reader.Close())
		_, err := e.write.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		_, err = e.write.WriteNow([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
	})
}

func TestCloseEndsARead(t *testing.T) {
	onBoth(t, func(t *testing.T, e ends) {
		ended := make(chan error, 1)
		go func() {
			_, err := e.read.Read(make([]byte, 1))
			ended <- err
		}()
		require.NoError(t, e.reader.Close())
		require.Error(t, <-ended)
	})
}

func TestUnread(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	f, err := nowait.New(r)
	require.NoError(t, err)
	for _, want := range []int{0, 5} {
		n, err := f.Unread()
		require.NoError(t, err)
		assert.Equal(t, want, n)
		_, err = w.WriteString("bytes")
		require.NoError(t, err)
	}
	require.NoError(t, r.Close())
	_, err = f.Unread()
	require.Error(t, err)
}

func TestRefusesWhatMayBlock(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	_, err = nowait.New(file)
	require.ErrorContains(t, err, "may block")

	var fds [2]int
	require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	for _, fd := range fds {
		end := os.NewFile(uintptr(fd), "pipe")
		defer end.Close()
		_, err = nowait.New(end)
		require.ErrorContains(t, err, "may block")
	}

	ours, _ := net.Pipe()
	_, err = nowait.New(ours)
	require.ErrorContains(t, err, "no descriptor")
}

func TestNothingIsAllocated(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	in, err := nowait.New(r)
	require.NoError(t, err)
	out, err := nowait.New(w)
	require.NoError(t, err)
	b := make([]byte, 4)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = out.Write(b)
		_, _ = in.Unread()
		_, _ = in.Read(b)
		_, _ = in.ReadNow(b)
	}))
}
