package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
)

// A SIGHUP that comes while pmcd 6.0 waits for an agent's reply interrupts that. If pmcd has asked for anything but values
// it drops the agent. In a fetch it goes on without the reply, drops the agent if the reply has come by the time
// it looks after its agents, and otherwise takes it for the reply to its next request. The tests here show that it is so
// with an agent of PCP's own, written in C with libpcp_pmda, and what is lost when it is ours: nothing but
// the time until pmcd has started it again.

// stockMetric is of PCP's agent sample, which pmcd runs as a process, like ours.
const stockMetric = "sample.long.one"

// drops is how often pmcd has dropped an agent, by its log.
func (f *faulty) drops(agent string) int {
	f.t.Helper()
	text, err := os.ReadFile(f.p.LogFile)
	require.NoError(f.t, err)
	return len(regexp.MustCompile(`Cleanup "`+agent+`" agent \(dom \d+\): protocol failure`).FindAllIndex(text, -1))
}

// hangup tells pmcd to look after its agents.
func (f *faulty) hangup() { require.NoError(f.t, f.p.Signal(syscall.SIGHUP)) }

// While pmcd waits for the identifier of a name: it drops the agent, whichever it is, and starts it again; the same
// metrics are there as before.
func TestFaultHangupInALookup(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	before := f.identity("derived.value")
	for _, row := range []struct {
		agent, program string
		ask            func(ctx context.Context, conn *pmapi.Conn) error
	}{
		{"sample", "pmdasample", func(ctx context.Context, conn *pmapi.Conn) error {
			_, err := conn.Desc(ctx, f.identity(stockMetric)) // its names are pmcd's to know
			return err
		}},
		{"derived", "pmdaderived", func(ctx context.Context, conn *pmapi.Conn) error {
			_, err := conn.LookupNames(ctx, []string{"derived.value"})
			return err
		}},
	} {
		conn := f.dial()
		old, asked := f.stop(row.program), make(chan error, 1)
		go func() { asked <- row.ask(t.Context(), conn) }()
		f.hangUpUntil(asked)
		assert.Equal(t, 1, f.drops(row.agent), row.agent)
		require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
		f.revive(row.program, old)
		f.recovers("all is well after "+row.agent+" was dropped", func() bool { return f.sound() && f.has(stockMetric) })
		assert.Equal(t, before, f.identity("derived.value"))
		f.recovers("the one that was dropped has ended", func() bool {
			return !slices.ContainsFunc(f.p.Processes(), func(p pmcdtest.Process) bool { return p.Pid == old })
		})
	}
}

// While it waits for values: it goes on, and takes the reply for that to its next request. PCP's agent lets it; ours takes
// the reply back.
func TestFaultHangupInAFetch(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	for _, row := range []struct{ program, metric, other string }{
		{"pmdaderived", "derived.value", "derived.other"},
		{"pmdasample", stockMetric, "sample.bin"},
	} {
		conn, id, other := f.dial(), f.identity(row.metric), f.identity(row.other)
		old, asked := f.stop(row.program), make(chan error, 1)
		go func() {
			_, err := conn.Fetch(t.Context(), []pdu.PMID{id})
			asked <- err
		}()
		f.hangUpUntil(asked)
		require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
		require.NoError(t, until(wellAgain, func() bool { return f.unread() > 0 }), "the reply is in the pipe")
		next, err := f.dial().Fetch(t.Context(), []pdu.PMID{other})
		if row.program != "pmdaderived" { // pmapi has noticed that pmcd has given it something else
			t.Logf("%s: the next fetch: %v", row.program, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, other, next.Sets[0].PMID)
		for range 100 {
			require.True(t, f.sound())
		}
		assert.Equal(t, old, f.pid(row.program))
		assert.Contains(t, f.p.Log(), "taken back")
	}
}

// dial connects a client that lives as long as the test.
func (f *faulty) dial() *pmapi.Conn {
	f.t.Helper()
	conn, err := pmapi.Dial(f.t.Context(), "unix", f.p.Socket)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// stop lets a program stand still; it goes on when the test ends at the latest.
func (f *faulty) stop(program string) (pid int) {
	f.t.Helper()
	pid = f.pid(program)
	f.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	require.NoError(f.t, syscall.Kill(pid, syscall.SIGSTOP))
	return pid
}

// hangUpUntil sends SIGHUPs until a request has been answered, with an error.
func (f *faulty) hangUpUntil(asked <-chan error) {
	f.t.Helper()
	begin := time.Now()
	require.NoError(f.t, until(wellAgain, func() bool {
		f.hangup()
		time.Sleep(pollInterval)
		return len(asked) > 0
	}))
	f.t.Logf("pmcd gives up after %v; without a SIGHUP it waits for 5 s", time.Since(begin).Round(time.Millisecond))
}

// unread is how many bytes of replies pmcd has not read.
func (f *faulty) unread() (total int) {
	f.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", f.p.Pid())
	fds, err := os.ReadDir(dir)
	require.NoError(f.t, err)
	for _, fd := range fds {
		path := filepath.Join(dir, fd.Name())
		if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(to, "pipe:") {
			continue
		}
		pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
		require.NoError(f.t, err)
		total += n
		require.NoError(f.t, pipe.Close())
	}
	return total
}
