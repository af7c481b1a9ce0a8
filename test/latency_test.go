//go:build pcp

package test

import (
	"context"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// slowest is the time within which every request must be answered, whatever pmcd does.
const slowest = 50 * time.Millisecond

// hangVariable makes the test program a small agent whose fetches hang for 4 s while the file that the
// variable names exists.
const hangVariable = "PMDADERIVED_TEST_HANG"

// hanging is an agent with three metrics: one that does not change, the number of its fetches, and one with a dynamic
// name that does not change.
type hanging struct {
	*pmda.Namespace
	file  string
	count uint64
}

func newHanging(file string) *hanging {
	names, err := pmda.NewNamespace("hanging.dynamic",
		[]pmda.Entry{{Name: "hanging.dynamic.value", PMID: pdu.NewPMID(400, 0, 2)}})
	if err != nil {
		panic(err)
	}
	return &hanging{Namespace: names, file: file}
}

const hangTime = 4 * time.Second

func (h *hanging) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	switch {
	case id.Cluster() != 0 || id.Item() > 2:
		return pdu.Desc{}, pdu.ErrPMID
	case id.Item() == 1:
		return pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}, nil
	}
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
}

func (h *hanging) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	return nil, pdu.ErrInDom
}

func (h *hanging) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	if _, err := os.Stat(h.file); err == nil {
		rig.Sleep(context.Background(), hangTime)
	}
	for _, id := range req.PMIDs {
		if id.Item() == 1 {
			h.count++
			w.Numbers(id, pdu.TypeU64, nil, []uint64{h.count})
			continue
		}
		w.Numbers(id, pdu.TypeU32, nil, []uint64{1})
	}
	return nil
}

// probe plays the agent's pmcd, so that the time of every request can be measured from outside while the pmcd that has
// the operands is stopped, killed and started again.
type probe struct {
	*piped
	t       *testing.T
	longest time.Duration
	kind    pdu.Kind // of the request that took longest
	count   int
	slow    int // of them, took longer than slowest
	echo    *echo
}

// echo is a process that only answers at once: cat. Its longest time shows how much the shared machine adds to the time
// of an answer.
type echo struct {
	in      io.Writer
	out     io.Reader
	longest time.Duration
	slow    int // answers that took longer than slowest
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	cmd := exec.Command("cat")
	in, out := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	return &echo{in: in, out: out}
}

func (e *echo) ask(t *testing.T) {
	t.Helper()
	var b [1]byte
	start := time.Now()
	must(e.in.Write(b[:]))(t)
	must(e.out.Read(b[:]))(t)
	took := time.Since(start)
	e.longest = max(e.longest, took)
	if took > slowest {
		e.slow++
	}
}

func startProbe(t *testing.T, options ...string) *probe {
	t.Helper()
	// the directory is that of the machine
	p := &probe{t: t, echo: startEcho(t), piped: startPiped(t, append(options, "--mmv=off")...)}
	t.Cleanup(func() {
		assert.NoError(t, p.to.Close())
		assert.NoError(t, p.cmd.Wait(), "the agent ends well at the end of its input")
	})
	return p
}

// ask sends a request, measures its time, and returns the reply.
func (p *probe) ask(m pdu.Message) pdu.Message {
	p.t.Helper()
	start := time.Now()
	reply := must(p.piped.ask(m))(p.t)
	took := time.Since(start)
	p.count++
	if took > slowest {
		p.slow++
	}
	p.echo.ask(p.t)
	if took > p.longest {
		p.longest, p.kind = took, m.Kind()
	}
	return reply
}

// pmid looks a name up until it exists.
func (p *probe) pmid(name string) pdu.PMID {
	p.t.Helper()
	var id pdu.PMID
	await.Until(p.t, name, func() bool {
		ids, ok := p.ask(&pdu.PMNSNames{Names: []string{name}}).(*pdu.PMNSIDs)
		if ok {
			id = ids.PMIDs[0]
		}
		return ok
	})
	return id
}

// ownLongest returns derived.control.request_longest: the longest request by the agent's own clock.
func (p *probe) ownLongest() time.Duration {
	p.t.Helper()
	id := p.pmid("derived.control.request_longest")
	result, ok := p.ask(&pdu.Fetch{PMIDs: []pdu.PMID{id}}).(*pdu.Result)
	require.True(p.t, ok)
	require.Len(p.t, result.Sets[0].Values, 1)
	ms := math.Float64frombits(result.Sets[0].Values[0].Bits)
	return time.Duration(ms * float64(time.Millisecond))
}

// round sends every kind of request once, as tools do, and returns the value set of the metric.
func (p *probe) round(name string, id pdu.PMID) pdu.ValueSet {
	p.t.Helper()
	p.ask(&pdu.PMNSTraverse{Name: "derived"})
	p.ask(&pdu.PMNSNames{Names: []string{name}})
	p.ask(&pdu.DescReq{PMID: id})
	p.ask(&pdu.TextReq{Ident: uint32(id), Type: pdu.TextPMID | pdu.TextOneLine})
	p.ask(&pdu.LabelReq{Ident: uint32(id), Type: pdu.LabelItem})
	result, ok := p.ask(&pdu.Fetch{PMIDs: []pdu.PMID{id}}).(*pdu.Result)
	require.True(p.t, ok)
	require.Len(p.t, result.Sets, 1)
	return result.Sets[0]
}

// during sends requests without a pause while f runs.
func (p *probe) during(name string, id pdu.PMID, f func() error) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	for {
		select {
		case err := <-done:
			require.NoError(p.t, err)
			return
		default:
			p.round(name, id)
		}
	}
}

// until sends requests without a pause until the metric has a value.
func (p *probe) until(name string, id pdu.PMID) {
	p.t.Helper()
	await.Until(p.t, name+" has a value again", func() bool {
		set := p.round(name, id)
		return len(set.Values) > 0
	})
}

// The agent answers at once while an agent of operands hangs, and while pmcd is stopped, killed and started again.
func TestNoRequestWaits(t *testing.T) {
	work := worldReadableDir(t)
	hang := filepath.Join(work, "hang")
	upstream := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{hangingAgent(copySelf(t, work, "hanger"))},
		Env:    []string{hangVariable + "=" + hang},
	})
	conf := writeFile(t, work, "derived.conf", "slow = hanging.value + 1\nquick = sample.long.one + sum(sample.bin)\n")

	p := startProbe(t, "-d", "510", "-c", conf, "--pmcd", "unix:"+upstream.Socket,
		"--state", filepath.Join(work, "state"), "-l", filepath.Join(work, "derived.log"), "-U", "root")
	quick, slow := p.pmid("derived.quick"), p.pmid("derived.slow")
	p.until("derived.quick", quick)
	p.until("derived.slow", slow)

	t.Run("operand's agent hangs for 4 s", func(t *testing.T) {
		require.NoError(t, os.WriteFile(hang, nil, 0o644))
		p.round("derived.slow", slow) // starts the sample that hangs
		start := time.Now()
		p.during("derived.quick", quick, func() error {
			// Another client of the same pmcd shows how long it is blocked.
			await.Until(t, "pmcd stands still", func() bool { return stands(upstream.Socket) })
			if err := os.Remove(hang); err != nil {
				return err
			}
			await.Until(t, "pmcd serves again", func() bool { return !stands(upstream.Socket) })
			return nil
		})
		t.Logf("pmcd stood still; %v until it served again", time.Since(start).Round(time.Millisecond))
		p.until("derived.quick", quick)
		p.until("derived.slow", slow)
	})
	const stop = time.Second // the shortest time that pmcd stands still here
	t.Run("pmcd is stopped for 1 s", func(t *testing.T) {
		require.NoError(t, upstream.Signal(syscall.SIGSTOP))
		p.during("derived.quick", quick, func() error { rig.Sleep(t.Context(), stop); return upstream.Signal(syscall.SIGCONT) })
		p.until("derived.quick", quick)
	})
	t.Run("pmcd is killed and started again", func(t *testing.T) {
		p.during("derived.quick", quick, upstream.Kill)
		p.during("derived.quick", quick, upstream.Restart)
		p.until("derived.quick", quick)
		p.until("derived.slow", slow)
	})
	own := p.ownLongest()
	t.Logf("%d requests, %d slow; the longest took %v (%s); of as many echoes of the same machine %d were slow, the longest took %v",
		p.count, p.slow, p.longest, p.kind, p.echo.slow, p.echo.longest)
	t.Logf("by the agent's own clock, from the arrival of a request to the end of its reply: %v", own)
	// Both clocks also count the time in which a busy machine does not run the agent. The echoes show how long that is.
	assert.Less(t, own, slowest+p.echo.longest)
	const unlucky = 5
	assert.Less(t, p.longest, stop/2+p.echo.longest, "none waits for pmcd")
	assert.LessOrEqual(t, p.slow, p.echo.slow+unlucky)
}

// stands reports whether a pmcd does not greet a new client within 0.2 s.
func stands(socket string) bool {
	c, err := net.DialTimeout("unix", socket, 200*time.Millisecond)
	if err != nil {
		return true
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return true
	}
	_, err = c.Read(make([]byte, 1))
	return err != nil
}
