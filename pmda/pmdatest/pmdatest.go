// Package pmdatest tests agents without pmcd. A [PMCD] is a pmcd at the other end of the
// pipes of one agent. It sends the requests of a test, and checks every reply as strictly
// as pmcd and its clients do.
//
//	p := pmdatest.Start(t, agent)
//	p.Handshake()
//	reply := p.Request(&pdu.DescReq{PMID: id})   // *pdu.DescReply or *pdu.Error
//	p.Send(&pdu.Profile{}, 3)                    // from client 3
//	p.ExpectSilence()                            // there was no reply to it
//	err := p.Close()                             // the error of Serve
//
// The agent runs in a goroutine of its own behind real pipes. No operation lasts longer than
// [PMCD.Timeout]. An error ends the test with Fatalf, so methods must be called from the test's
// own goroutine. Messages that are returned belong to the caller.
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

// Timeout is the longest time for a reply, or for the end of the agent, if a test does not set another.
// It is the time after which pmcd drops an agent.
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
	// Client is the client that sends the requests of Request, Refused and ExpectSilence. Start sets 0.
	Client pmda.Client

	// Timeout is the longest time for each operation. Start sets the constant of that name.
	Timeout time.Duration

	tb     TB
	to     *os.File // requests
	from   *os.File // replies
	reader *pdu.Reader
	writer *pdu.Writer
	probes uint32 // calls of ExpectSilence, which asks with a different number each time

	cancel context.CancelFunc
	served chan error // the error of Serve
	closed bool
	err    error // the error of Close
}

// Start starts an agent as pmcd does; the next call is usually [PMCD.Handshake]. At the end of the test, if Close has
// not been called, it is called, and the test fails if it returns an error.
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

// Handshake reads the agent's CREDS, answers them as pmcd does, and returns them.
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

// SendBytes sends bytes as they are, for PDUs that no Message can encode.
func (p *PMCD) SendBytes(b []byte) {
	p.tb.Helper()
	p.setDeadline(p.to)
	if err := p.writer.WriteFrame(b); err != nil {
		p.fatalf("send %d bytes: %v", len(b), err)
	}
}

// EndContext sends the PDU with which pmcd announces that a client has gone.
func (p *PMCD) EndContext(c pmda.Client) {
	p.tb.Helper()
	p.Send(&pdu.Error{Code: pdu.ErrNotConn}, int32(c))
}

// Expect reads the next PDU and returns it. The test fails if it is not of kind k.
func (p *PMCD) Expect(k pdu.Kind) pdu.Message {
	p.tb.Helper()
	m := p.next("wait for " + k.String())
	if m.Kind() != k {
		p.fatalf("got %v instead of %s", m, k)
	}
	return m
}

// Request sends a request from p.Client and returns the reply. That is a message of the kind [Answer], or
// a *pdu.Error. The test fails if pmcd or a client would not accept the reply to this request.
func (p *PMCD) Request(m pdu.Message) pdu.Message {
	p.tb.Helper()
	p.Send(m, int32(p.Client))
	reply := p.next("reply to " + m.Kind().String())
	if err := checkReply(m, reply); err != nil {
		p.fatalf("%v", err)
	}
	return reply
}

// Refused sends a request from p.Client and returns the code of the ERROR that answers it. The test fails if
// the reply is no ERROR. A store is always answered with an ERROR, with code 0 for success.
func (p *PMCD) Refused(m pdu.Message) pdu.Code {
	p.tb.Helper()
	return As[*pdu.Error](p, p.Request(m)).Code
}

// As returns a reply as its type. The test fails if the reply is of another.
func As[M pdu.Message](p *PMCD, m pdu.Message) M {
	p.tb.Helper()
	typed, ok := m.(M)
	if !ok {
		p.fatalf("got %v (%T), want %T", m, m, typed)
	}
	return typed
}

// ExpectSilence waits until everything sent so far has been handled, and fails the test if there was a reply that the
// test has not read. To wait it asks for the labels of a domain that does not exist. It misses a reply that was written
// before its own request: the server removes that from the pipe. [Play] returns such replies, too.
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

// ExpectEnd waits until the agent closes its end of the pipes by itself. The test fails if the agent sends
// anything before.
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

// Cancel ends the context of Serve. Close then returns its error.
func (p *PMCD) Cancel() { p.cancel() }

// Close closes the pipe to the agent, waits for its end and returns the error of Serve: nil for
// an agent that ends as it should. A reply that has not been read fails the test. Further calls
// return the same error.
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

// next reads a PDU. what begins the message of a failure.
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

// fatalf ends the test. If Serve has returned, its error is in the message, because it usually is the cause.
func (p *PMCD) fatalf(format string, args ...any) {
	p.tb.Helper()
	text := fmt.Sprintf(format, args...)
	select {
	case err := <-p.served:
		p.served <- err // for Close
		p.tb.Fatalf("pmdatest: %s (Serve has returned: %v)", text, err)
	default:
		p.tb.Fatalf("pmdatest: %s", text)
	}
}

// setDeadline limits the next operation on a pipe to p.Timeout.
func (p *PMCD) setDeadline(f *os.File) {
	p.tb.Helper()
	if err := f.SetDeadline(time.Now().Add(p.Timeout)); err != nil {
		p.fatalf("%v", err)
	}
}

// Example is a [TB] for Example functions, which have no testing.T. It panics where a test fails.
// It ignores clean-ups: the example has to call Close.
type Example struct{}

// Helper does nothing.
func (Example) Helper() {}

// Cleanup does nothing.
func (Example) Cleanup(func()) {}

// Fatalf panics.
func (Example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
