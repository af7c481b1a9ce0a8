package pmapitest

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"testing"

	"pmdaderived/pdu"
)

// Relay is a pmcd between clients and a [Collector]. It passes on all PDUs. A test can see them, delay them, close
// connections and replace replies. Its methods may be called by any goroutine.
type Relay struct {
	*Collector
	Address string // of its unix socket, for pmapi.Dial

	mu      sync.Mutex
	watch   func(conn int, f pdu.Frame) bool // called for each request; false: the connection is closed
	replies func(conn int, f pdu.Frame) bool // called for each reply; false: likewise
	attack  func(conn int, f pdu.Frame, to net.Conn) (handled, goOn bool)
	conns   []net.Conn   // of clients
	fetches [][]pdu.PMID // PMIDs of all fetches so far

	accepted int // number of connections so far
}

// NewRelay starts a relay for a collector. It ends with the test.
func NewRelay(tb testing.TB, c *Collector) *Relay {
	tb.Helper()
	r := &Relay{Collector: c}
	behind := Listen(tb, "unix", r.Serve)
	r.Address = Listen(tb, "unix", func(p *Peer) { r.connect(p.nc, behind) })
	return r
}

// connect passes on the PDUs of a client and of the collector, until one of them closes its connection.
func (r *Relay) connect(front net.Conn, behind string) {
	back, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	r.mu.Lock()
	n := r.accepted
	r.accepted++
	r.conns = append(r.conns, front)
	r.mu.Unlock()
	var replies sync.WaitGroup
	replies.Go(func() {
		r.relayReplies(n, back, front)
		_ = front.Close()
	})
	if passed := relay(n, front, back, r.request); passed == 0 {
		_, _ = back.Write((&pdu.Creds{}).Append(nil, 0)) // without CREDS the collector would fail the test
	}
	_ = back.Close()
	_ = front.Close()
	replies.Wait()
}

// HangUp closes the connections of all clients. New ones can be made.
func (r *Relay) HangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// OnRequest sets a function that is called for each request before it is passed on. conn is the number of the
// connection, from 0 in the order of their begin. If watch returns false, the connection is closed. While it waits, no
// request of that connection is passed on. f is valid until it returns.
func (r *Relay) OnRequest(watch func(conn int, f pdu.Frame) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = watch
}

// OnReply sets a function that is called for each reply before it is passed on, as OnRequest does for requests.
func (r *Relay) OnReply(replies func(conn int, f pdu.Frame) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies = replies
}

// OnAttack sets a function that can replace replies, to test a client against a bad pmcd. to is the connection to the
// client. If attack returns handled, the reply is not passed on: attack has written another one to the client, or none.
// If goOn is false, the connection is closed.
func (r *Relay) OnAttack(attack func(conn int, f pdu.Frame, to net.Conn) (handled, goOn bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attack = attack
}

// HoldFetches makes fetches wait until release is called. It replaces the function of OnRequest.
func (r *Relay) HoldFetches() (release func()) {
	gate := make(chan struct{})
	r.OnRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			<-gate
		}
		return true
	})
	return sync.OnceFunc(func() { close(gate) })
}

// Fetched returns the metrics of each fetch so far, of all connections, since the last Forget.
func (r *Relay) Fetched() [][]pdu.PMID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fetches)
}

// Forget empties the list of Fetched.
func (r *Relay) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetches = nil
}

func (r *Relay) request(n int, f pdu.Frame) bool {
	var fetch pdu.HighResFetch
	r.mu.Lock()
	if f.Kind == pdu.KindHighResFetch && fetch.Decode(f.Body) == nil {
		r.fetches = append(r.fetches, fetch.PMIDs)
	}
	watch := r.watch
	r.mu.Unlock()
	return watch == nil || watch(n, f)
}

// relay passes frames on until one end is closed or pass returns false. It returns how many it has passed on.
func relay(n int, from, to net.Conn, pass func(int, pdu.Frame) bool) (passed int) {
	in := pdu.NewReader(from, pdu.ClientLimit)
	for {
		f, err := in.Next()
		if err != nil || !pass(n, f) {
			return passed
		}
		if _, err := to.Write(Encoded(f)); err != nil {
			return passed
		}
		passed++
	}
}

// relayReplies passes on the replies of the collector, unless the functions of OnReply and OnAttack change that.
func (r *Relay) relayReplies(n int, from, to net.Conn) {
	in := pdu.NewReader(from, pdu.ClientLimit)
	for {
		f, err := in.Next()
		if err != nil {
			return
		}
		r.mu.Lock()
		replies, attack := r.replies, r.attack
		r.mu.Unlock()
		if replies != nil && !replies(n, f) {
			return
		}
		handled, goOn := false, true
		if attack != nil {
			handled, goOn = attack(n, f, to)
		}
		if !handled {
			_, err = to.Write(Encoded(f))
		}
		if err != nil || !goOn {
			return
		}
	}
}

// Encoded returns a copy of a whole PDU, header and body.
func Encoded(f pdu.Frame) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(pdu.HeaderSize+len(f.Body)))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.From))
	return append(b, f.Body...)
}
