package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// Metrics of the upstream, all of agent 60 but the last.
var (
	binDom    = pdu.NewInDom(60, 1)
	procDom   = pdu.NewInDom(3, 9)
	loadID    = pdu.NewPMID(60, 0, 1) // up.load, instant
	countID   = pdu.NewPMID(60, 0, 2) // up.count, counter
	nameID    = pdu.NewPMID(60, 0, 3) // up.name, string
	binID     = pdu.NewPMID(60, 1, 1) // up.bin, for 3 bins
	binTextID = pdu.NewPMID(60, 1, 2) // up.text, for 3 bins
	procID    = pdu.NewPMID(3, 0, 1)  // proc.io, for 2 processes
)

// upstream is the pmcd that an agent under test samples. What clients send goes through a relay that
// shows it to the test and does with it what the test says.
type upstream struct {
	*pmapitest.Collector
	address string

	mu      sync.Mutex
	watch   func(conn int, f pdu.Frame) bool // of requests; false: the client is cut off
	replies func(conn int, f pdu.Frame) bool // of replies, likewise
	attack  func(conn int, f pdu.Frame, to net.Conn) (met, goOn bool)
	conns   []net.Conn // of clients
	closed  bool
	fetches [][]pdu.PMID // PMIDs of all fetches so far
}

func newUpstream(tb testing.TB) *upstream {
	u := &upstream{Collector: &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		Time:     time.Unix(1_000_000, 0),
		Metrics: []pmapitest.Metric{
			{
				Name:   "up.load",
				Desc:   pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)},
			},
			{
				Name:   "up.count",
				Desc:   pdu.Desc{PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
				Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 100)},
			},
			{
				Name:   "up.name",
				Desc:   pdu.Desc{PMID: nameID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
				Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "moss")},
			},
			{
				Name:   "up.bin",
				Desc:   pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30)},
			},
			{
				Name:   "up.text",
				Desc:   pdu.Desc{PMID: binTextID, Type: pdu.TypeString, InDom: binDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.StringValue(1, "a"), pdu.StringValue(2, "b"), pdu.StringValue(3, "c")},
			},
			{
				Name:   "proc.io",
				Desc:   pdu.Desc{PMID: procID, Type: pdu.TypeU64, InDom: procDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
				Values: []pdu.Value{pdu.Uint64Value(1, 7), pdu.Uint64Value(2, 8)},
			},
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{
			binDom: {Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}, {ID: 3, Name: "three"}}},
		},
	}}
	behind := pmapitest.Listen(tb, "unix", u.Serve)
	u.address = filepath.Join(tb.TempDir(), "s")
	l, err := net.Listen("unix", u.address)
	require.NoError(tb, err)
	var relays sync.WaitGroup
	relays.Go(func() {
		for n := 0; ; n++ {
			front, err := l.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("unix", behind)
			if err != nil {
				_ = front.Close()
				return
			}
			u.mu.Lock()
			u.conns = append(u.conns, front)
			closed := u.closed
			u.mu.Unlock()
			relays.Go(func() {
				if passed := relay(n, front, back, u.request); passed == 0 {
					_, _ = back.Write((&pdu.Creds{}).Append(nil, 0)) // the collector insists
				}
				_ = back.Close()
			})
			relays.Go(func() {
				u.relayReplies(n, back, front)
				_ = front.Close()
			})
			if closed {
				_ = front.Close()
			}
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		u.mu.Lock()
		u.closed = true
		u.mu.Unlock()
		u.hangUp()
		relays.Wait()
	})
	return u
}

// dial is an Options.Dial.
func (u *upstream) dial(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
	return pmapi.Dial(ctx, "unix", u.address, opts...)
}

// hangUp ends all connections.
func (u *upstream) hangUp() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.conns {
		_ = c.Close()
	}
	u.conns = nil
}

// onRequest sets what is done with each request. It may wait: then the connection stands still.
func (u *upstream) onRequest(watch func(conn int, f pdu.Frame) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watch = watch
}

// onReply is onRequest for replies.
func (u *upstream) onReply(replies func(conn int, f pdu.Frame) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.replies = replies
}

func (u *upstream) request(n int, f pdu.Frame) bool {
	var fetch pdu.HighResFetch
	u.mu.Lock()
	if f.Kind == pdu.KindHighResFetch && fetch.Decode(f.Body) == nil {
		u.fetches = append(u.fetches, fetch.PMIDs)
	}
	watch := u.watch
	u.mu.Unlock()
	return watch == nil || watch(n, f)
}

func (u *upstream) reply(n int, f pdu.Frame) bool {
	u.mu.Lock()
	replies := u.replies
	u.mu.Unlock()
	return replies == nil || replies(n, f)
}

// onAttack sets what is done to replies instead of passing them on: attack reports whether it has dealt
// with a reply, and if so whether the connection goes on.
func (u *upstream) onAttack(attack func(conn int, f pdu.Frame, to net.Conn) (met, goOn bool)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attack = attack
}

func (u *upstream) attacked(n int, f pdu.Frame, to net.Conn) (met, goOn bool) {
	u.mu.Lock()
	attack := u.attack
	u.mu.Unlock()
	if attack == nil {
		return false, true
	}
	return attack(n, f, to)
}

// fetched lists what has been fetched so far.
func (u *upstream) fetched() [][]pdu.PMID {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.fetches)
}

// forget drops what fetched lists.
func (u *upstream) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fetches = nil
}

// relay passes frames on until one end has gone or pass is false, and returns how many.
func relay(n int, from, to net.Conn, pass func(int, pdu.Frame) bool) (passed int) {
	in := pdu.NewReader(from, pdu.ClientLimit)
	for {
		f, err := in.Next()
		if err != nil || !pass(n, f) {
			return passed
		}
		if _, err := to.Write(encoded(f)); err != nil {
			return passed
		}
		passed++
	}
}

// relayReplies is relay for what the collector answers, which may be attacked.
func (u *upstream) relayReplies(n int, from, to net.Conn) {
	in := pdu.NewReader(from, pdu.ClientLimit)
	for {
		f, err := in.Next()
		if err != nil || !u.reply(n, f) {
			return
		}
		met, goOn := u.attacked(n, f, to)
		if !met {
			_, err = to.Write(encoded(f))
		}
		if err != nil || !goOn {
			return
		}
	}
}

// encoded puts the header back in front of a body.
func encoded(f pdu.Frame) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(pdu.HeaderSize+len(f.Body)))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.From))
	return append(b, f.Body...)
}

// tick moves the collector's clock and changes values.
func (u *upstream) tick(d time.Duration, values map[pdu.PMID][]pdu.Value) {
	u.Update(func() {
		u.Time = u.Time.Add(d)
		for i := range u.Metrics {
			if v, ok := values[u.Metrics[i].Desc.PMID]; ok {
				u.Metrics[i].Values = v
			}
		}
	})
}

// eventually polls until something holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			require.Fail(tb, "never: "+what)
		}
	}
}

// gone is an error of a connection whose other end has closed it.
func gone(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, pdu.ErrEOF) }
