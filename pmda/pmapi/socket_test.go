package pmapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			_, err = nc.Write([]byte("x"))
			require.ErrorIs(t, err, net.ErrClosed, "the connection has been taken over")
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

// The one epoll instance that knows the socket is its own: Go's poller has not registered it.
func TestSocketIsNotInGosPoller(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, peer net.Conn) {
		result := begin(s.waitReadable)
		_, err := peer.Write([]byte("answer"))
		require.NoError(t, err)
		require.NoError(t, <-result)

		entry := regexp.MustCompile(fmt.Sprintf(`(?m)^tfd: +%d events: +([0-9a-f]+) `, s.fd))
		infos, err := filepath.Glob("/proc/self/fdinfo/*")
		require.NoError(t, err)
		var masks []string
		for _, info := range infos {
			text, err := os.ReadFile(info)
			if errors.Is(err, os.ErrNotExist) { // closed meanwhile
				continue
			}
			require.NoError(t, err)
			for _, found := range entry.FindAllSubmatch(text, -1) {
				masks = append(masks, string(found[1]))
			}
		}
		assert.Equal(t, []string{"40000000"}, masks, "EPOLLONESHOT, and it has told")
	})
}

func TestSocketIsAStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, peer net.Conn) {
		b := make([]byte, 10)
		_, err := s.readNow(b)
		require.ErrorIs(t, err, syscall.EAGAIN)

		const size = 8 << 20 // more than there is room for
		result := begin(func() error {
			n, err := s.Write(make([]byte, size))
			assert.Equal(t, size, n)
			return err
		})
		_, err = io.ReadFull(peer, make([]byte, size))
		require.NoError(t, err)
		require.NoError(t, <-result)

		result = begin(func() error {
			n, err := s.Read(b)
			assert.Equal(t, "answer", string(b[:n]))
			return err
		})
		_, err = peer.Write([]byte("answer"))
		require.NoError(t, err)
		require.NoError(t, <-result)

		require.NoError(t, peer.Close())
		_, err = s.Read(b)
		require.ErrorIs(t, err, io.EOF)
		for err = nil; err == nil; { // over TCP the first one is on its way
			_, err = s.Write(b)
		}
		assert.True(t, closedByPeer(err), "%v", err)
	})
}

// fill writes until there is no room, whatever the peer's end of the socket takes meanwhile.
func fill(t *testing.T, s *socket) {
	t.Helper()
	var err error
	for err == nil {
		_, err = s.writeSoon(make([]byte, 1<<20), 20*time.Millisecond)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestSocketDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, _ net.Conn) {
		fill(t, s)
		calls := map[string]func() error{
			"Read":         func() error { _, err := s.Read(make([]byte, 1)); return err },
			"Write":        func() error { _, err := s.Write(make([]byte, 1<<20)); return err },
			"waitReadable": s.waitReadable,
		}
		for name, call := range calls {
			require.NoError(t, s.SetDeadline(time.Now().Add(time.Millisecond)))
			require.ErrorIs(t, call(), os.ErrDeadlineExceeded, name)
			require.NoError(t, s.SetDeadline(time.Time{}))
			result := begin(call)
			require.NoError(t, s.SetDeadline(time.Unix(1, 0)))
			require.ErrorIs(t, <-result, os.ErrDeadlineExceeded, name)
		}
	})
}

// What waits for room for a short time has nothing to do with what waits for an answer.
func TestSocketWriteSoon(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, peer net.Conn) {
		result := begin(s.waitReadable)
		fill(t, s)
		soon := begin(func() error {
			_, err := s.writeSoon(make([]byte, 8<<20), time.Minute)
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

// After Close the number of the descriptor is somebody else's.
func TestSocketClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *socket, _ net.Conn) {
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		others := make(map[int]int) // pipes
		for range 10 {
			var ends [2]int
			require.NoError(t, syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK))
			defer func() { require.NoError(t, errors.Join(syscall.Close(ends[0]), syscall.Close(ends[1]))) }()
			others[ends[0]], others[ends[1]] = ends[1], ends[0]
		}
		require.Contains(t, others, s.fd, "this shows nothing")
		b := make([]byte, 1)
		for _, call := range []func([]byte) (int, error){
			s.readNow, s.Read, s.writeNow, s.Write,
			func(b []byte) (int, error) { return s.writeSoon(b, time.Minute) },
			func([]byte) (int, error) { return 0, s.awaitRoom(time.Minute) },
		} {
			_, err := call(b)
			require.ErrorIs(t, err, net.ErrClosed)
		}
		require.Error(t, s.waitReadable())
		require.Error(t, s.SetDeadline(time.Now()))
	})
}

// Close ends whatever is under way, at any moment of it.
func TestSocketCloseMeanwhile(t *testing.T) {
	calls := map[string]func(s *socket) error{
		"Read":         func(s *socket) error { _, err := s.Read(make([]byte, 1)); return err },
		"readNow":      func(s *socket) error { _, err := s.readNow(make([]byte, 1)); return err },
		"Write":        func(s *socket) error { _, err := s.Write(make([]byte, 1<<20)); return err },
		"writeSoon":    func(s *socket) error { _, err := s.writeSoon(make([]byte, 1<<20), time.Millisecond); return err },
		"waitReadable": (*socket).waitReadable,
		"SetDeadline":  func(s *socket) error { return s.SetDeadline(time.Time{}) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *socket, _ net.Conn) {
				var under sync.WaitGroup
				closed := make(chan struct{})
				under.Go(func() {
					for {
						select {
						case <-closed:
							return
						default:
							_ = call(s)
						}
					}
				})
				time.Sleep(time.Millisecond) // it may be anywhere
				require.NoError(t, s.Close())
				close(closed)
				under.Wait()
				require.Error(t, call(s))
			})
		})
	}
}

func TestNoSocket(t *testing.T) {
	ours, theirs := net.Pipe()
	_, err := newSocket(ours)
	require.ErrorContains(t, err, "no socket")
	_, err = theirs.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "it is closed")

	nc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	require.NoError(t, nc.Close())
	_, err = newSocket(nc)
	require.ErrorIs(t, err, net.ErrClosed)
}
