//go:build pcp

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

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// A SIGHUP that comes while pmcd 6.0 waits for an agent's reply interrupts that. If pmcd has asked for anything but
// values it drops the agent. In a fetch it goes on without the reply, drops the agent if the reply has come by the
// time it looks after its agents, and otherwise takes it for the reply to its next request. The tests here show that
// it is so with an agent of PCP's own, written in C with libpcp_pmda, and what is lost when it is ours: nothing but
// the time until pmcd has started it again.

// stockMetric is of PCP's agent sample, which pmcd runs as a process, like ours.
const stockMetric = "sample.long.one"

// drops returns the number of times that pmcd has dropped an agent, by its log.
func (f *faulty) drops(agent string) int {
	f.t.Helper()
	text := must(os.ReadFile(f.p.LogFile))(f.t)
	return len(regexp.MustCompile(`Cleanup "`+agent+`" agent \(dom \d+\): protocol failure`).FindAllIndex(text, -1))
}

// hangup sends a SIGHUP to pmcd, which then checks its agents.
func (f *faulty) hangup() { require.NoError(f.t, f.p.Signal(syscall.SIGHUP)) }

// If pmcd waits for anything but values, it drops the agent, whichever it is, and starts it again. The same metrics are
// there as before.
func TestFaultHangupInALookup(t *testing.T) {
	for _, row := range []struct {
		agent, program string
		ask            func(ctx context.Context, conn *pmapi.Conn, id pdu.PMID) error
		metric         string
	}{
		{"sample", "pmdasample", askDesc, stockMetric}, // pmcd itself knows its names
		{"derived", "pmdaderived", askName, "derived.value"},
	} {
		t.Run(row.agent, func(t *testing.T) {
			f := startFaulty(t, pmcdtest.Config{}, nil)
			conn, id := dial(f.t, f.p), f.identity(row.metric)
			old := f.stop(row.program)
			f.hangUpUntil(f.ask(func(ctx context.Context) error { return row.ask(ctx, conn, id) }))
			assert.Positive(t, f.drops(row.agent))
			require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
			f.revive(row.program, old)
			f.recovers("all is well", func() bool { return f.sound() && f.has(stockMetric) })
			assert.Equal(t, id, f.identity(row.metric))
			f.recovers("the one that was dropped has ended", func() bool {
				return !slices.ContainsFunc(f.p.Processes(), func(p pmcdtest.Process) bool { return p.Pid == old })
			})
		})
	}
}

func askDesc(ctx context.Context, conn *pmapi.Conn, id pdu.PMID) error {
	_, err := conn.Desc(ctx, id)
	return err
}

func askName(ctx context.Context, conn *pmapi.Conn, _ pdu.PMID) error {
	_, err := conn.LookupNames(ctx, []string{"derived.value"})
	return err
}

// While it waits for values: pmcd 6.0 goes on, and would take the reply for that to its next request. We take it back
// as soon as something shows us that pmcd has gone on: a client that connects. Later ones wait on: the reply is to
// the fetch.
func TestFaultHangupInAFetch(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	if !isPMCD60(t, f.p) {
		f.hangUpInAFetch()
		return
	}
	id, other := f.identity("derived.value"), f.identity("derived.other")
	takenBack := func() bool { return strings.Contains(f.p.Log(), "removed it from the pipe") }
	const attempts = 5 // pmcd may look after its agents when the reply has come, and drop us
	for range attempts {
		conn, old := dial(f.t, f.p), f.stop("pmdaderived")
		f.hangUpUntil(f.ask(func(ctx context.Context) error {
			_, err := conn.Fetch(ctx, []pdu.PMID{id})
			return err
		}))
		require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
		next := dial(f.t, f.p)
		if !within(t.Context(), time.Second, takenBack) {
			f.hangup()
			f.recovers("all is well", f.sound)
			continue
		}
		res := must(next.Fetch(t.Context(), []pdu.PMID{other}))(t)
		require.Equal(t, other, res.Sets[0].PMID)
		for range 100 {
			require.Contains(t, []float64{42, -1}, f.number("derived.value"),
				"right, or none as there has been no sample for so long")
			require.Contains(t, []float64{4500, -1}, f.number("derived.other"))
		}
		f.recovers("all is well", f.sound)
		assert.Equal(t, old, pidOf(f.t, f.p, "pmdaderived"))
		return
	}
	t.Fatal("no reply was taken back")
}

// hangUpInAFetch sends SIGHUPs to a pmcd that they do not interrupt, in a fetch from an agent that stands still for a
// while.
func (f *faulty) hangUpInAFetch() {
	f.t.Helper()
	conn, id, old := dial(f.t, f.p), f.identity("derived.other"), f.stop("pmdaderived")
	var res *pmapi.Result
	asked := f.ask(func(ctx context.Context) (err error) {
		res, err = conn.Fetch(ctx, []pdu.PMID{id})
		return err
	})
	for range 3 { // on a busy machine this, too, is over before pmcd gives the agent up, which takes 5 s
		f.hangup()
		require.False(f.t, within(f.t.Context(), 100*time.Millisecond, func() bool { return len(asked) > 0 }), "it waits on")
	}
	require.NoError(f.t, syscall.Kill(old, syscall.SIGCONT))
	require.NoError(f.t, <-asked)
	require.Len(f.t, res.Sets, 1)
	require.Equal(f.t, id, res.Sets[0].PMID)
	f.recovers("all is well", f.sound)
	assert.Equal(f.t, old, pidOf(f.t, f.p, "pmdaderived"))
	assert.Zero(f.t, f.drops("derived"))
}

// PCP's agent lets it: the next fetch, of another metric, gets that reply. No version of pmcd has to do this, so it
// is only told.
func TestFaultHangupOfAnother(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	conn, id, other := dial(f.t, f.p), f.identity(stockMetric), f.identity("sample.bin")
	old := f.stop("pmdasample")
	f.hangUpUntil(f.ask(func(ctx context.Context) error {
		_, err := conn.Fetch(ctx, []pdu.PMID{id})
		return err
	}))
	require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
	rig.Sleep(t.Context(), pollInterval) // it replies
	_, err := dial(f.t, f.p).Fetch(t.Context(), []pdu.PMID{other})
	t.Logf("the next fetch: %v", err)
	f.revive("pmdasample", old)
	f.recovers("all is well", func() bool { return f.sound() && f.has(stockMetric) })
}

// ask makes a request beside the test, which waits for its end.
func (f *faulty) ask(request func(ctx context.Context) error) <-chan error {
	asked, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		asked <- request(f.t.Context())
	}()
	f.t.Cleanup(func() { <-ended }) // the context has ended by then
	return asked
}

// stop stops a program until the end of the test at the latest.
func (f *faulty) stop(program string) (pid int) {
	f.t.Helper()
	pid = pidOf(f.t, f.p, program)
	f.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	require.NoError(f.t, syscall.Kill(pid, syscall.SIGSTOP))
	await.Until(f.t, "all of its threads are stopped", func() bool { return stopped(f.t, pid) })
	return pid
}

// stopped reports whether all threads of a process are stopped: a signal takes a moment, during which one of them may
// answer.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	threads := must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)))(t)
	require.NotEmpty(t, threads)
	return !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(stat), ") T ")
	})
}

// hangUpUntil sends SIGHUPs until a request to an agent that stands still has been answered, with an error or without
// values.
func (f *faulty) hangUpUntil(asked <-chan error) {
	f.t.Helper()
	begin := time.Now()
	pause := 5 * pollInterval
	await.Until(f.t, "pmcd gives up", func() bool {
		f.hangup()
		pause = min(2*pause, time.Second/2) // on a busy machine pmcd would do nothing but look after its agents
		return within(f.t.Context(), pause, func() bool { return len(asked) > 0 })
	})
	f.t.Logf("pmcd gives up after %v; without a SIGHUP it waits for 5 s", time.Since(begin).Round(time.Millisecond))
}
