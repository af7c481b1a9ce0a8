//go:build pcp

package test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// hugeVariable makes the test program a small agent whose only metric has hugeInstances values; the file that
// the variable names grows by a byte with each fetch.
const hugeVariable = "PMDADERIVED_TEST_HUGE"

const (
	hugeInstances = 200_000
	hugeReply     = hugeInstances * 20 // bytes at least: number and index of each instance, header and body of its value
)

type huge struct {
	file  string
	insts []pdu.Inst
	bits  []uint64
}

func newHuge(file string) *huge {
	h := &huge{file: file, insts: make([]pdu.Inst, hugeInstances), bits: make([]uint64, hugeInstances)}
	for i := range h.insts {
		h.insts[i] = pdu.Inst(i)
	}
	return h
}

// Desc implements pmda.Agent.
func (h *huge) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if id.Item() != 0 || id.Cluster() != 0 {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return pdu.Desc{
		PMID: id, Type: pdu.TypeU64, InDom: pdu.NewInDom(id.Domain(), 0), Sem: pdu.SemCounter, Units: pdu.Units{Count: 1},
	}, nil
}

// Instances implements pmda.Agent: nobody needs the names.
func (h *huge) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, nil }

// Fetch implements pmda.Agent.
func (h *huge) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString("."); err != nil {
		return err
	}
	for i := range h.bits {
		h.bits[i]++
	}
	for _, id := range req.PMIDs {
		w.Numbers(id, pdu.TypeU64, h.insts, h.bits)
	}
	return nil
}

// bystander is another client of a pmcd. The time of its fetches shows how long pmcd is blocked.
type bystander struct {
	longest atomic.Int64 // ns
	stop    chan struct{}
	ended   chan error
}

// blocked is the time of a fetch that shows that pmcd waits for another process: far less than the 5 s that it waits,
// and more than a fetch takes on a busy machine.
const blocked = 3 * time.Second

// watch fetches until the returned function is called, which returns the time of the longest fetch.
func watch(t *testing.T, p *pmcdtest.PMCD) (longest func() time.Duration) {
	t.Helper()
	conn := dial(t, p)
	found := must(conn.LookupNames(t.Context(), []string{"sample.long.one"}))(t)
	require.Zero(t, found[0].Code)
	b := &bystander{stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() { b.ended <- b.fetch(t, conn, found[0].PMID) }()
	return func() time.Duration {
		t.Helper()
		close(b.stop)
		require.NoError(t, <-b.ended)
		return time.Duration(b.longest.Load())
	}
}

func (b *bystander) fetch(t *testing.T, conn *pmapi.Conn, id pdu.PMID) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return nil
		case <-tick.C:
		}
		start := time.Now()
		if _, err := conn.Fetch(t.Context(), []pdu.PMID{id}); err != nil {
			return err
		}
		b.longest.Store(max(b.longest.Load(), int64(time.Since(start))))
	}
}

// pmcd writes to its clients without a time limit, so a client that does not read blocks it. The agent is such a
// client, with replies of megabytes. If its request loop blocks, or the whole process is stopped, pmcd is not blocked
// for longer than that.
func TestPMCDNeverWaitsForTheAgentToRead(t *testing.T) {
	work := worldReadableDir(t)
	agent, count := copySelf(t, work, "huge"), filepath.Join(work, "count")
	require.NoError(t, os.WriteFile(count, nil, 0o666))
	require.NoError(t, os.Chmod(count, 0o666)) // the agent may be another user
	upstream := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{{Name: "huge", Domain: 400, Command: []string{agent}, PMNS: "huge {\n\tvalue 400:0:0\n}\n"}},
		Env:    []string{hugeVariable + "=" + count},
	})
	fetched := func() int {
		info := must(os.Stat(count))(t)
		return int(info.Size())
	}
	conf := writeFile(t, work, "derived.conf",
		"all = huge.value\ntotal = sum(delta(huge.value))\nsmall = sample.long.one\n")
	// The daemon samples total, and so all instances, without any request: it keeps the history warm.
	p := startProbe(t, "-d", "510", "-c", conf, "--pmcd", "unix:"+upstream.Socket, "--interval", "0.1",
		"--state", filepath.Join(work, "state"), "-l", filepath.Join(work, "derived.log"), "-U", "root")
	all, small := p.pmid("derived.all"), p.pmid("derived.small")
	p.until("derived.all", all)
	p.until("derived.small", small)

	t.Run("nobody takes the replies of the request loop", func(t *testing.T) {
		longest := watch(t, upstream)
		// The reply fills the pipe, and blocks the request loop.
		require.NoError(t, p.out.Write(&pdu.Fetch{PMIDs: []pdu.PMID{all}}, 0))
		before := fetched()
		const more = 5 // many times the size of socket buffers
		await.Until(t, "sampling goes on", func() bool { return fetched() >= before+more })
		took := longest()
		t.Logf("%d MB sampled; the longest fetch of another client took %v", more*hugeReply>>20, took)
		assert.Less(t, took, 3*time.Second)
		f := must(p.in.Next())(t)
		reply := must(pdu.Decode(f))(t)
		require.IsType(t, &pdu.Result{}, reply)
		assert.Len(t, reply.(*pdu.Result).Sets[0].Values, hugeInstances)
	})
	const stopped = time.Second
	t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }) // it must end in any case
	t.Run("the agent is stopped", func(t *testing.T) {
		longest := watch(t, upstream)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		rig.Sleep(t.Context(), stopped)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		p.until("derived.all", all)
		took := longest()
		t.Logf("the longest fetch of another client took %v", took)
		assert.Less(t, took, stopped+3*time.Second, "pmcd waits at most for one reply until the agent goes on")
	})
	t.Run("the agent is stopped and has small operands", func(t *testing.T) {
		require.NoError(t, os.WriteFile(conf, []byte("small = sample.long.one\n"), 0o644))
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
		p.gone("derived.all")
		for range 100 {
			p.round("derived.small", small) // a sample is on its way now and then
		}
		longest := watch(t, upstream)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		rig.Sleep(t.Context(), stopped)
		took := longest()
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		p.until("derived.small", small)
		t.Logf("the longest fetch of another client took %v", took)
		assert.Less(t, took, blocked, "replies that fit into a socket's buffer do not make pmcd wait")
	})
	assert.NotContains(t, strings.ToLower(upstream.Log()), "timeout")
}

// gone looks a name up until it does not exist.
func (p *probe) gone(name string) {
	p.t.Helper()
	await.Until(p.t, name, func() bool {
		_, refused := p.ask(&pdu.PMNSNames{Names: []string{name}}).(*pdu.Error)
		return refused
	})
}
