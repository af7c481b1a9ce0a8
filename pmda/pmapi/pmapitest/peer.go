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

// AllFeatures are the features that pmcd 6.0.3 announces.
const AllFeatures = pdu.FeatureAuth | pdu.FeatureContainer | pdu.FeatureLabels |
	pdu.FeatureHighRes | pdu.FeatureDescs

// peerTimeout is how long a peer waits for its client.
const peerTimeout = time.Minute

// Listen opens a server on network "unix" or "tcp" and runs script for each connection, in a
// goroutine of its own. It returns the address for pmapi.Dial. A connection is closed when its script
// returns. At the end of the test all connections look to their scripts as if the clients had closed them. The test
// waits until all scripts have returned.
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
		// The script can still read the bytes that the client has sent, then the end.
		if half, ok := nc.(interface{ CloseRead() error }); ok {
			_ = half.CloseRead()
		}
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// Peer is pmcd's end of one connection. If the client does something else than a method expects, the test fails and the
// script ends. A Peer belongs to the goroutine of its script.
type Peer struct {
	tb       TB
	nc       net.Conn
	in       *pdu.Reader
	received []Request

	// lasting is set for a client that may be silent for any time and may send any number of requests: they are not
	// recorded.
	lasting bool
}

// Request is a PDU from a client: its kind and all its bytes, the header included.
type Request struct {
	Kind  pdu.Kind
	Bytes []byte
}

// Received returns the PDUs that Next and Expect have read so far.
func (p *Peer) Received() []Request { return p.received }

// Challenge sends the first PDU of a connection. A code below zero refuses the client; it is sent in the old
// numbering, as pmcd does.
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

// Greet does pmcd's part of pmapi.Dial: it sends the challenge and reads the credentials, the profile and the first
// request, which it answers.
func (p *Peer) Greet(features pdu.Features) {
	p.tb.Helper()
	p.Challenge(0, features)
	p.Expect(pdu.KindCreds)
	p.Expect(pdu.KindProfile)
	p.AnswerFirst()
}

// AnswerFirst reads and answers the first request of pmapi.Dial, by which that finds out whether pmcd accepts it.
func (p *Peer) AnswerFirst() {
	p.tb.Helper()
	req := p.Expect(pdu.KindDescReq).(*pdu.DescReq)
	p.Send(&pdu.DescReply{Desc: pdu.Desc{
		PMID: req.PMID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete,
	}})
}

// Next waits for the next request and returns it. It returns false if the client has closed the connection.
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
		p.received = append(p.received, Request{f.Kind, Encoded(f)})
	}
	return m, true
}

// gone reports whether an error means that the client has closed the connection.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// Expect waits for the next request and returns it. The test fails if it is of another kind, or if there is none.
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

// Send sends a PDU. It is no error if the client has closed the connection.
func (p *Peer) Send(m pdu.Message) { p.SendBytes(m.Append(nil, 0)) }

// Fail sends an ERROR.
func (p *Peer) Fail(code pdu.Code) { p.Send(&pdu.Error{Code: code}) }

// SendBytes sends bytes as they are, for PDUs that no Message can encode. It is no error if the client has closed the
// connection.
func (p *Peer) SendBytes(b []byte) {
	_ = p.nc.SetWriteDeadline(time.Now().Add(peerTimeout))
	_, _ = p.nc.Write(b)
}

// WaitClosed waits until the client closes the connection. The test fails if it sends anything before.
func (p *Peer) WaitClosed() {
	p.tb.Helper()
	if m, ok := p.Next(); ok {
		p.failf("peer: %v, expected the end of the connection", m.Kind())
	}
}

// Reset makes the later end of a TCP connection a reset, as pmcd's is. The client may then lose bytes that it has not
// read. Reset does not close the connection.
func (p *Peer) Reset() {
	if tcp, ok := p.nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// Close closes the connection before the script returns. The client can still read the bytes that were sent, unless
// Reset was called.
func (p *Peer) Close() { _ = p.nc.Close() }

func (p *Peer) failf(format string, args ...any) {
	p.tb.Helper()
	p.tb.Errorf(format, args...)
	runtime.Goexit()
}
