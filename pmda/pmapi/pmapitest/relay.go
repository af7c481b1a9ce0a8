package pmapitest

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"testing"

	"pmdaderived/pdu"
)

// Relay is a pmcd between clients and a [Collector]. It shows a test what passes and does with it what the test says.
type Relay struct {
	*Collector
	Address string // of its unix socket

	mu      sync.Mutex
	watch   func(conn int, f pdu.Frame) bool // of requests; false: the client is cut off
	replies func(conn int, f pdu.Frame) bool // of replies, likewise
	attack  func(conn int, f pdu.Frame, to net.Conn) (handled, goOn bool)
	conns   []net.Conn   // of clients
	fetches [][]pdu.PMID // PMIDs of all fetches so far

	accepted int // connections
}

// NewRelay starts a relay in front of a collector. It ends with the test.
func NewRelay(tb testing.TB, c *Collector) *Relay {
	tb.Helper()
	r := &Relay{Collector: c}
	behind := Listen(tb, "unix", r.Serve)
	r.Address = Listen(tb, "unix", func(p *Peer) { r.connect(p.nc, behind) })
	return r
}

// connect passes on what comes from a client, and what the collector answers, until one of them has gone.
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
		_, _ = back.Write((&pdu.Creds{}).Append(nil, 0)) // the collector insists
	}
	_ = back.Close()
	_ = front.Close()
	replies.Wait()
}

// HangUp ends all connections.
func (r *Relay) HangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// OnRequest sets what is done with each request. It may wait: then the connection stands still.
func (r *Relay) OnRequest(watch func(conn int, f pdu.Frame) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = watch
}

// OnReply is OnRequest for replies.
func (r *Relay) OnReply(replies func(conn int, f pdu.Frame) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies = replies
}

// OnAttack sets what is done to replies instead of passing them on: attack reports whether it has dealt
// with a reply, and if so whether the connection goes on.
func (r *Relay) OnAttack(attack func(conn int, f pdu.Frame, to net.Conn) (handled, goOn bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attack = attack
}

// HoldFetches makes fetches wait until release is called.
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

// Fetched lists what has been fetched so far.
func (r *Relay) Fetched() [][]pdu.PMID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fetches)
}

// Forget drops what Fetched lists.
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

// relay passes frames on until one end has gone or pass is false, and returns how many.
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

// relayReplies is relay for what the collector answers, which may be attacked.
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

// Encoded puts the header back in front of a body.
func Encoded(f pdu.Frame) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(pdu.HeaderSize+len(f.Body)))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.From))
	return append(b, f.Body...)
}
