package pmapi

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// onBoth runs a test with a socket of each kind and what is connected to it.
func onBoth(t *testing.T, test func(t *testing.T, s *socket, peer net.Conn)) {
	t.Helper()
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			address := "127.0.0.1:0"
			if network == "unix" {
				address = filepath.Join(t.TempDir(), "s")
			}
			l, err := net.Listen(network, address)
			require.NoError(t, err)
			defer func() { _ = l.Close() }()
			nc, err := net.Dial(network, l.Addr().String())
			require.NoError(t, err)
			peer, err := l.Accept()
			require.NoError(t, err)
			t.Cleanup(func() { _ = peer.Close() })
			s, err := newSocket(nc)
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			test(t, s, peer)
		})
	}
}

// begin calls f in a goroutine.
func begin(f func() error) (result <-chan error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// readNow reads the bytes that have arrived, up to the end of the stream, whatever the deadline is.
func TestSocketReadNow(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, peer net.Conn) {
		require.NoError(t, s.SetDeadline(time.Unix(1, 0)))
		b := make([]byte, 10)
		_, err := s.readNow(b)
		require.ErrorIs(t, err, syscall.EAGAIN)

		require.NoError(t, s.SetDeadline(time.Time{}))
		result := begin(s.waitReadable)
		_, err = peer.Write([]byte("answer"))
		require.NoError(t, err)
		require.NoError(t, <-result)
		require.NoError(t, s.waitReadable(), "it is there still")
		n, err := s.readNow(b)
		require.NoError(t, err)
		assert.Equal(t, "answer", string(b[:n]))

		result = begin(s.waitReadable)
		require.NoError(t, peer.Close())
		require.NoError(t, <-result, "the end of the stream")
		_, err = s.readNow(b)
		require.ErrorIs(t, err, io.EOF)
		for err = nil; err == nil; { // over TCP the first one is on its way
			err = s.writeSoon(b, time.Minute)
		}
		assert.True(t, closedByPeer(err), "%v", err)
	})
}

// fill writes until there is no room, whatever the peer's end of the socket takes meanwhile.
func fill(t *testing.T, s *socket) {
	t.Helper()
	var err error
	for err == nil {
		err = s.writeSoon(make([]byte, 1<<20), 20*time.Millisecond)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// writeSoon, which waits for space for a short time, does not disturb a goroutine that waits for an answer.
func TestSocketWriteSoon(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, peer net.Conn) {
		result := begin(s.waitReadable)
		fill(t, s)
		soon := begin(func() error {
			err := s.writeSoon(make([]byte, 8<<20), time.Minute)
			return err
		})
		over := begin(func() error {
			_, err := io.Copy(io.Discard, peer)
			return err
		})
		require.NoError(t, <-soon)
		require.Empty(t, result)
		require.NoError(t, s.Close())
		require.Error(t, <-result)
		require.NoError(t, <-over)
	})
}

// Close ends whatever is under way, at any moment of it.
func TestSocketCloseMeanwhile(t *testing.T) {
	calls := map[string]func(s *socket) error{
		"readNow":      func(s *socket) error { _, err := s.readNow(make([]byte, 1)); return err },
		"writeSoon":    func(s *socket) error { return s.writeSoon(make([]byte, 1<<20), time.Millisecond) },
		"waitReadable": (*socket).waitReadable,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *socket, _ net.Conn) {
				var under sync.WaitGroup
				closed := make(chan struct{})
				var calls atomic.Int64
				under.Go(func() {
					for {
						select {
						case <-closed:
							return
						default:
							_ = call(s)
							calls.Add(1)
						}
					}
				})
				if name != "waitReadable" {
					await.Until(t, "it is anywhere in its work", func() bool { return calls.Load() > 10 })
				}
				require.NoError(t, s.Close())
				close(closed)
				under.Wait()
				require.ErrorIs(t, call(s), net.ErrClosed)
			})
		})
	}
}

func TestNoSocket(t *testing.T) {
	ours, theirs := net.Pipe()
	_, err := newSocket(ours)
	require.ErrorContains(t, err, "is not a valid socket")
	_, err = theirs.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "it is closed")
}
