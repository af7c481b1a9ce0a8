package pmdatest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmdatest"
)

var id = pdu.NewPMID(250, 0, 1)

// constant is an agent with one metric, 250.0.1, that is always 42.
type constant struct{}

func (constant) Desc(_ pmda.Client, asked pdu.PMID) (pdu.Desc, error) {
	if asked != id {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, nil
}

func (constant) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }

func (constant) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	for _, asked := range req.PMIDs {
		w.Numbers(asked, pdu.TypeU32, nil, []uint64{42})
	}
	return nil
}

func Example() {
	p := pmdatest.Start(pmdatest.Example{}, constant{}) // in a test: Start(t, constant{})
	p.Handshake()
	p.Send(&pdu.Profile{}, 0)
	p.ExpectSilence()
	desc := pmdatest.As[*pdu.DescReply](p, p.Request(&pdu.DescReq{PMID: id})).Desc
	fmt.Println(desc.PMID, desc.Type, desc.Sem)
	fmt.Println(p.Refused(&pdu.DescReq{PMID: id + 1}))
	fmt.Println(p.Close())
	// Output:
	// 250.0.1 U32 discrete
	// Unknown or illegal metric identifier
	// <nil>
}

// failed is what a test gets that fails.
type failed struct{ text string }

// recorder is a TB that lets a test look at how a test fails.
type recorder struct{ cleanups []func() }

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatalf(format string, args ...any) {
	panic(failed{fmt.Sprintf(format, args...)})
}

// failure runs a test and returns why it failed, "" if it did not. Like the real thing it cleans up.
func failure(test func(tb pmdatest.TB)) (reason string) {
	r := &recorder{}
	run := func(f func()) {
		defer func() {
			if p := recover(); p != nil && reason == "" {
				reason = p.(failed).text
			}
		}()
		f()
	}
	run(func() { test(r) })
	for _, f := range r.cleanups {
		run(f)
	}
	return reason
}

// swapped answers for another metric than it was asked for.
type swapped struct{ constant }

func (swapped) Fetch(_ *pmda.FetchRequest, w *pdu.ResultWriter) error {
	w.Numbers(id+1, pdu.TypeU32, nil, []uint64{42})
	w.Numbers(id, pdu.TypeU32, nil, []uint64{42})
	return nil
}

// stuck answers nothing in time.
type stuck struct {
	constant
	release chan struct{}
}

func (s stuck) Desc(pmda.Client, pdu.PMID) (pdu.Desc, error) {
	<-s.release
	return pdu.Desc{}, nil
}

// A fake that accepts everything proves nothing: every kind of mistake fails the test.
func TestMistakesFailTheTest(t *testing.T) {
	desc := &pdu.DescReq{PMID: id}
	start := func(tb pmdatest.TB, agent pmda.Agent) *pmdatest.PMCD {
		p := pmdatest.Start(tb, agent)
		p.Handshake()
		return p
	}
	tests := []struct {
		name   string
		test   func(tb pmdatest.TB)
		reason string // "": passes
	}{
		{"none", func(tb pmdatest.TB) { start(tb, constant{}).Request(desc) }, ""},
		{"another reply than the one expected", func(tb pmdatest.TB) {
			p := start(tb, constant{})
			p.Send(desc, 0)
			p.Expect(pdu.KindText)
		}, "instead of TEXT"},
		{"an ERROR where an answer is expected", func(tb pmdatest.TB) {
			p := start(tb, constant{})
			pmdatest.As[*pdu.DescReply](p, p.Request(&pdu.DescReq{PMID: 1}))
		}, "(*pdu.Error), want *pdu.DescReply"},
		{"an answer where an ERROR is expected", func(tb pmdatest.TB) {
			start(tb, constant{}).Refused(desc)
		}, "want *pdu.Error"},
		{"a reply that nobody has read", func(tb pmdatest.TB) {
			start(tb, constant{}).Send(desc, 0)
		}, "unasked DESC"},
		{"values in the wrong order", func(tb pmdatest.TB) {
			start(tb, swapped{}).Request(&pdu.Fetch{PMIDs: []pdu.PMID{id, id + 1}})
		}, "metric of value set 0 is 250.0.2, want 250.0.1"},
		{"end of service", func(tb pmdatest.TB) {
			p := start(tb, constant{})
			p.SendBytes(make([]byte, 12))
			p.Expect(pdu.KindDesc)
		}, "wait for DESC: EOF"},
		{"an error of Serve that nobody has asked for", func(tb pmdatest.TB) {
			start(tb, constant{}).SendBytes([]byte{0, 0, 0})
		}, "Serve: pipe from pmcd: unexpected EOF"},
		{"no handshake", func(tb pmdatest.TB) {
			pmdatest.Start(tb, constant{}).Request(desc)
		}, "is no reply to DESC_REQ"},
		{"no agent", func(tb pmdatest.TB) {
			pmdatest.StartServer(tb, &pmda.Server{}).Handshake()
		}, "wait for CREDS: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reason := failure(tt.test)
			if tt.reason == "" {
				assert.Empty(t, reason)
			} else {
				assert.Contains(t, reason, tt.reason)
			}
		})
	}
}

// An agent that hangs does not hang the test.
func TestStuckAgentFailsTheTest(t *testing.T) {
	agent := stuck{release: make(chan struct{})}
	start := time.Now()
	reason := failure(func(tb pmdatest.TB) {
		p := pmdatest.Start(tb, agent)
		defer close(agent.release)
		p.Handshake()
		p.Timeout = 20 * time.Millisecond
		p.Request(&pdu.DescReq{})
	})
	assert.Contains(t, reason, "reply to DESC_REQ: ")
	assert.Contains(t, reason, "timeout")
	assert.Less(t, time.Since(start), pmdatest.Timeout)
}

// Close returns what Serve returned, as often as it is asked.
func TestCloseReturnsTheErrorOfServe(t *testing.T) {
	p := pmdatest.Start(t, constant{})
	p.Handshake()
	p.SendBytes([]byte{0, 0, 0})
	err := p.Close()
	require.Error(t, err)
	assert.Equal(t, err, p.Close())

	p = pmdatest.StartServer(t, &pmda.Server{})
	p.ExpectEnd()
	require.ErrorContains(t, p.Close(), "no agent")
}

// A failing example says so.
func TestExamplePanics(t *testing.T) {
	assert.PanicsWithValue(t, "1 error", func() { pmdatest.Example{}.Fatalf("%d error", 1) })
}
