// Package pmdatest tests agents without pmcd. A [PMCD] is a scripted pmcd at the other end of the
// pipes of one agent: it sends what a test tells it to send, and looks at every reply as closely
// as pmcd and its clients do.
//
//	p := pmdatest.Start(t, agent)
//	p.Handshake()
//	reply := p.Request(&pdu.DescReq{PMID: id})   // *pdu.DescReply or *pdu.Error
//	p.Send(&pdu.Profile{}, 3)                    // from client 3
//	p.ExpectSilence()                            // nothing came back for it
//	err := p.Close()                             // what Serve returned
//
// The agent runs in a goroutine of its own behind real pipes. No operation lasts longer than
// [PMCD.Timeout]; what goes wrong ends the test with Fatalf, so that all methods belong in the test's
// own goroutine. Messages returned belong to the caller.
package pmdatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Timeout is how long a reply, or the end of the agent, may take if a test does not say otherwise:
// as long as pmcd waits before it gives an agent up.
const Timeout = 5 * time.Second

// TB is the part of testing.TB that a [PMCD] needs. Every *testing.T, *testing.B and *testing.F is
// one; [Example] is one for Example functions.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// PMCD is a pmcd with one agent.
type PMCD struct {
	// Client is the client that the requests come from, 0 at first.
	Client pmda.Client

	// Timeout is how long each operation may take, the constant of that name at first.
	Timeout time.Duration

	tb     TB
	to     *os.File // requests
	from   *os.File // replies
	reader *pdu.Reader
	writer *pdu.Writer
	probes uint32 // ExpectSilence asks with a different number each time

	cancel context.CancelFunc
	served chan error // what Serve returned
	closed bool
	err    error // what Close returned
}

// Start starts an agent the way pmcd does. The test's cleanup closes it and fails if Serve returned
// an error that nobody has asked for by Close.
func Start(tb TB, agent pmda.Agent) *PMCD {
	tb.Helper()
	return StartServer(tb, &pmda.Server{Agent: agent})
}

// StartServer is [Start] for a Server with a log, a clock or other settings of its own.
func StartServer(tb TB, s *pmda.Server) *PMCD {
	tb.Helper()
	in, to, err := os.Pipe()
	if err != nil {
		tb.Fatalf("pmdatest: %v", err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		in.Close()
		to.Close()
		tb.Fatalf("pmdatest: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &PMCD{
		Timeout: Timeout,
		tb:      tb,
		to:      to,
		from:    from,
		reader:  pdu.NewReader(from, pdu.ClientLimit),
		writer:  pdu.NewWriter(to),
		cancel:  cancel,
		served:  make(chan error, 1),
	}
	go func() {
		err := s.Serve(ctx, in, out)
		in.Close()
		out.Close()
		p.served <- err
	}()
	tb.Cleanup(func() {
		if p.closed {
			return
		}
		if err := p.Close(); err != nil {
			tb.Fatalf("pmdatest: Serve: %v", err)
		}
	})
	return p
}

// Handshake does pmcd's part of the handshake and returns the agent's CREDS.
func (p *PMCD) Handshake() pdu.Creds {
	p.tb.Helper()
	creds := As[*pdu.Creds](p, p.Expect(pdu.KindCreds))
	p.Send(&pdu.Creds{Version: pdu.ProtocolVersion, Features: creds.Features & pdu.FeatureAuth}, int32(os.Getpid()))
	return *creds
}

// Send sends a message and does not wait for a reply. from is the number of the client.
func (p *PMCD) Send(m pdu.Message, from int32) {
	p.tb.Helper()
	p.setDeadline(p.to)
	if err := p.writer.Write(m, from); err != nil {
		p.fatalf("send %s: %v", m.Kind(), err)
	}
}

// SendBytes sends bytes as they are, for PDUs that no Message can be.
func (p *PMCD) SendBytes(b []byte) {
	p.tb.Helper()
	p.setDeadline(p.to)
	if err := p.writer.WriteFrame(b); err != nil {
		p.fatalf("send %d bytes: %v", len(b), err)
	}
}

// EndContext tells the agent that a client has gone.
func (p *PMCD) EndContext(c pmda.Client) {
	p.tb.Helper()
	p.Send(&pdu.Error{Code: pdu.ErrNotConn}, int32(c))
}

// Expect reads the next PDU, which has to be of kind k.
func (p *PMCD) Expect(k pdu.Kind) pdu.Message {
	p.tb.Helper()
	m := p.next("wait for " + k.String())
	if m.Kind() != k {
		p.fatalf("got %v instead of %s", m, k)
	}
	return m
}

// Request sends a request from p.Client and returns the reply: the message that belongs to the
// request or *pdu.Error. The reply has been checked against the request.
func (p *PMCD) Request(m pdu.Message) pdu.Message {
	p.tb.Helper()
	p.Send(m, int32(p.Client))
	reply := p.next("reply to " + m.Kind().String())
	if err := checkReply(m, reply); err != nil {
		p.fatalf("%v", err)
	}
	return reply
}

// Refused sends a request from p.Client that has to be answered with an ERROR, and returns its
// code. It is also the way to see the reply to a store, which is always an ERROR, 0 for success.
func (p *PMCD) Refused(m pdu.Message) pdu.Code {
	p.tb.Helper()
	return As[*pdu.Error](p, p.Request(m)).Code
}

// As asserts the type of a reply.
func As[M pdu.Message](p *PMCD, m pdu.Message) M {
	p.tb.Helper()
	typed, ok := m.(M)
	if !ok {
		p.fatalf("got %v (%T), want %T", m, m, typed)
	}
	return typed
}

// ExpectSilence waits until everything sent so far has been handled: it asks for the labels of a domain that nobody has.
// Anything else that comes back fails the test. A reply that nobody has read by then the server takes
// back, as from a pmcd that has gone on without it: [Play] shows those.
func (p *PMCD) ExpectSilence() {
	p.tb.Helper()
	p.probes++
	probe := &pdu.LabelReq{Ident: 1<<31 | p.probes, Type: pdu.LabelDomain}
	p.Send(probe, int32(p.Client))
	reply := p.next("silence, then the reply to a probe")
	if err := checkReply(probe, reply); err != nil {
		p.fatalf("unasked reply %v", reply)
	}
}

// ExpectEnd checks that the agent has sent nothing more and closes its end of the pipes, without
// being told to.
func (p *PMCD) ExpectEnd() {
	p.tb.Helper()
	p.setDeadline(p.from)
	switch f, err := p.reader.Next(); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.fatalf("wait for the end: %v", err)
	default:
		p.fatalf("unasked %s at the end", pdu.Trace(f))
	}
}

// Cancel ends the context of Serve.
func (p *PMCD) Cancel() { p.cancel() }

// Close closes the pipe to the agent, waits for its end and returns what Serve returned: nil for
// an agent that ends as it should. A reply that nobody has read fails the test. Further calls
// return the same.
func (p *PMCD) Close() error {
	p.tb.Helper()
	if p.closed {
		return p.err
	}
	p.closed = true
	defer p.from.Close()
	defer p.cancel()
	p.to.Close()
	p.ExpectEnd()
	select {
	case p.err = <-p.served:
	case <-time.After(p.Timeout):
		p.tb.Fatalf("pmdatest: Serve has not returned %v after the end of the pipe", p.Timeout)
	}
	return p.err
}

// next reads a PDU; what says why, for the message if there is none.
func (p *PMCD) next(what string) pdu.Message {
	p.tb.Helper()
	p.setDeadline(p.from)
	f, err := p.reader.Next()
	if err != nil {
		p.fatalf("%s: %v", what, err)
	}
	f.Body = slices.Clone(f.Body)
	m, err := pdu.Decode(f)
	if err != nil {
		p.fatalf("%s: %v", what, err)
	}
	return m
}

// fatalf ends the test. What Serve has returned, if it has, explains most of the trouble.
func (p *PMCD) fatalf(format string, args ...any) {
	p.tb.Helper()
	text := fmt.Sprintf(format, args...)
	select {
	case err := <-p.served:
		p.served <- err // still Close's to return
		p.tb.Fatalf("pmdatest: %s (Serve has returned: %v)", text, err)
	default:
		p.tb.Fatalf("pmdatest: %s", text)
	}
}

// setDeadline gives one operation on a pipe its time.
func (p *PMCD) setDeadline(f *os.File) {
	p.tb.Helper()
	if err := f.SetDeadline(time.Now().Add(p.Timeout)); err != nil {
		p.fatalf("%v", err)
	}
}

// Example is a [TB] for Example functions, which have no testing.T. It panics where a test fails,
// and cleans nothing up: the example calls Close.
type Example struct{}

// Helper does nothing.
func (Example) Helper() {}

// Cleanup does nothing.
func (Example) Cleanup(func()) {}

// Fatalf panics.
func (Example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
