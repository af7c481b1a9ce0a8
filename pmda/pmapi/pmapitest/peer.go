package pmapitest

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"pmdaderived/pdu"
)

// AllFeatures are those that pmcd 6.0.3 announces.
const AllFeatures = pdu.FeatureAuth | pdu.FeatureContainer | pdu.FeatureLabels |
	pdu.FeatureHighRes | pdu.FeatureDescs

// peerTimeout is how long a peer waits for its client.
const peerTimeout = 10 * time.Second

// Listen opens a server on network "unix" or "tcp" and runs script for each connection, in a
// goroutine of its own. The connection is closed when the script returns. At the end of the test the
// scripts find the connections closed by their clients and are waited for.
func Listen(tb TB, network string, script func(p *Peer)) (address string) {
	tb.Helper()
	switch network {
	case "tcp":
		address = "127.0.0.1:0"
	case "unix": // the path of a socket has to be short
		dir, err := os.MkdirTemp("", "pmapi")
		if err != nil {
			tb.Fatalf("%v", err)
		}
		tb.Cleanup(func() { _ = os.RemoveAll(dir) })
		address = filepath.Join(dir, "pmcd.socket")
	default:
		tb.Fatalf("no such network: %q", network)
	}
	l, err := net.Listen(network, address)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	s := &server{tb: tb, script: script}
	s.wait.Add(1)
	go s.accept(l)
	tb.Cleanup(func() { s.close(l) })
	return l.Addr().String()
}

// server owns the goroutines of one Listen.
type server struct {
	tb     TB
	script func(p *Peer)
	wait   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (s *server) accept(l net.Listener) {
	defer s.wait.Done()
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			_ = nc.Close()
		} else {
			s.conns = append(s.conns, nc)
			s.wait.Add(1)
			go s.run(nc)
		}
		s.mu.Unlock()
	}
}

func (s *server) run(nc net.Conn) {
	defer s.wait.Done()
	defer func() { _ = nc.Close() }()
	s.script(&Peer{tb: s.tb, nc: nc, in: pdu.NewReader(nc, pdu.AgentLimit)})
}

func (s *server) close(l net.Listener) {
	_ = l.Close()
	s.mu.Lock()
	s.closed = true
	for _, nc := range s.conns {
		// What the client has sent can still be read, then its end is reached.
		if half, ok := nc.(interface{ CloseRead() error }); ok {
			_ = half.CloseRead()
		}
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// Peer is pmcd's end of one connection. Its methods end the script, with an error of the test, when
// the client does something else than expected.
type Peer struct {
	tb   TB
	nc   net.Conn
	in   *pdu.Reader
	seen []Request

	// lasting is for a client that may be silent for as long as it likes, and may ask for ever: what it
	// sends is not noted.
	lasting bool
}

// Request is what a client has sent: its kind and the whole PDU.
type Request struct {
	Kind  pdu.Kind
	Bytes []byte
}

// Received lists what the client has sent so far.
func (p *Peer) Received() []Request { return p.seen }

// Challenge sends the first PDU of a connection. A code below zero is sent in the old numbering, as
// pmcd does.
func (p *Peer) Challenge(code pdu.Code, features pdu.Features) {
	p.tb.Helper()
	m := pdu.Error{Extended: true}
	if code < 0 {
		m.Code = code + 11345
	} else {
		m.Challenge = pdu.Challenge{Version: pdu.ProtocolVersion, Licensed: 1, Features: features}
	}
	p.Send(&m)
}

// Greet does pmcd's part of pmapi.Dial.
func (p *Peer) Greet(features pdu.Features) {
	p.tb.Helper()
	p.Challenge(0, features)
	p.Expect(pdu.KindCreds)
	p.Expect(pdu.KindProfile)
	p.AnswerFirst()
}

// AnswerFirst answers the request by which pmapi.Dial finds out whether it is welcome.
func (p *Peer) AnswerFirst() {
	p.tb.Helper()
	req := p.Expect(pdu.KindDescReq).(*pdu.DescReq)
	p.Send(&pdu.DescReply{Desc: pdu.Desc{
		PMID: req.PMID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete,
	}})
}

// Next reads the next request; false when the client has closed the connection.
func (p *Peer) Next() (pdu.Message, bool) {
	p.tb.Helper()
	limit := time.Now().Add(peerTimeout)
	if p.lasting {
		limit = time.Time{}
	}
	_ = p.nc.SetReadDeadline(limit)
	f, err := p.in.Next()
	if err != nil {
		if !gone(err) {
			p.failf("peer: %v", err)
		}
		return nil, false
	}
	m, err := pdu.Decode(f)
	if err != nil {
		p.failf("peer: %v", err)
	}
	if !p.lasting {
		p.seen = append(p.seen, Request{f.Kind, Encoded(f)})
	}
	return m, true
}

// gone tells the ways in which a client ends a connection.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// Expect reads the next request, which has to be of the kind.
func (p *Peer) Expect(kind pdu.Kind) pdu.Message {
	p.tb.Helper()
	m, ok := p.Next()
	if !ok {
		p.failf("peer: the client is gone, expected %v", kind)
	} else if m.Kind() != kind {
		p.failf("peer: %v, expected %v", m.Kind(), kind)
	}
	return m
}

// Send sends a PDU. That the client is gone is not an error.
func (p *Peer) Send(m pdu.Message) { p.SendBytes(m.Append(nil, 0)) }

// Fail sends an ERROR.
func (p *Peer) Fail(code pdu.Code) { p.Send(&pdu.Error{Code: code}) }

// SendBytes sends what it is given, PDU or not. That the client is gone is not an error.
func (p *Peer) SendBytes(b []byte) {
	_ = p.nc.SetWriteDeadline(time.Now().Add(peerTimeout))
	_, _ = p.nc.Write(b)
}

// WaitClosed reads until the client closes the connection. It must not send anything more.
func (p *Peer) WaitClosed() {
	p.tb.Helper()
	if m, ok := p.Next(); ok {
		p.failf("peer: %v, expected the end of the connection", m.Kind())
	}
}

// Reset makes the end of the connection a reset, as pmcd does: what the client has not read yet
// may be lost. Nothing else is done with the connection.
func (p *Peer) Reset() {
	if tcp, ok := p.nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// Close ends the connection before the script does. What the client has not read yet still reaches
// it, unless Reset was called.
func (p *Peer) Close() { _ = p.nc.Close() }

func (p *Peer) failf(format string, args ...any) {
	p.tb.Helper()
	p.tb.Errorf(format, args...)
	runtime.Goexit()
}
