package agent

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// exchange says which reply of an upstream is meant: the first of a kind, or the one after it.
type exchange struct {
	name  string
	kind  pdu.Kind
	after int
}

// upstreamExchanges are the steps of a connection. The challenge is an ERROR; and so is the collector's
// answer to the first request, which it does not know.
func upstreamExchanges() []exchange {
	return []exchange{
		{"challenge", pdu.KindError, 0},
		{"welcome", pdu.KindError, 1},
		{"names", pdu.KindPMNSIDs, 0},
		{"descriptors", pdu.KindDescs, 0},
		{"instances", pdu.KindInstance, 0},
		{"values", pdu.KindHighResResult, 0},
		{"later values", pdu.KindHighResResult, 3},
	}
}

// The pmcd that has the operands may send anything at any step: every request of our own pmcd is answered at once, no
// value is wrong, and when the attack is over all values are there again. An answer costs no more than its request: the
// connections stay.
func TestHostileUpstream(t *testing.T) {
	for _, exchange := range upstreamExchanges() {
		for _, attack := range attacks() {
			t.Run(exchange.name+"/"+attack.name, func(t *testing.T) {
				t.Parallel()
				survive(t, exchange, attack)
			})
		}
	}
}

// survive lets an upstream attack once.
func survive(t *testing.T, what exchange, attack attack) {
	t.Helper()
	up := newCollector(t)
	var over atomic.Bool
	var replies atomic.Int64 // of the kind
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	up.OnAttack(func(_ int, f pdu.Frame, to net.Conn) (met, goOn bool) {
		if f.Kind != what.kind || replies.Add(1) != int64(what.after)+1 {
			return false, true
		}
		over.Store(true)
		for _, piece := range attack.pieces(pmapitest.Encoded(f)) {
			if _, err := to.Write(piece); err != nil {
				return true, false
			}
		}
		if attack.then == stalls {
			<-ended
		}
		return true, attack.then <= answers
	})
	t.Cleanup(end)
	var h *harness
	started := make(chan struct{})
	h = start(t, up, conf("a = up.load", "b = up.bin[two]", "c = up.bin"), func(o *Options) {
		o.retryInterval = 50 * time.Millisecond
		o.Dial = func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
			c, err := up.dial(ctx, opts...)
			<-started
			h.agent.upstream.RecordSlot(1) // or it waits for that
			return c, err
		}
	})
	close(started)
	h.pmcd.Timeout = 2 * time.Second // of pmcd's 5
	ids := []pdu.PMID{h.unnamed("derived.a"), h.unnamed("derived.b"), h.unnamed("derived.c")}
	want := [][]pdu.Value{
		{pdu.DoubleValue(pdu.NoInst, 0.5)},
		{pdu.Int32Value(2, -20)},
		{pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30)},
	}
	good := func() bool {
		complete := true
		for i, set := range h.fetch(ids...) {
			if len(set.Values) == 0 {
				complete = false
				require.NotContains(t, []pdu.Code{pdu.ErrPMID, pdu.ErrGeneric}, set.Code)
				continue
			}
			require.Equal(t, len(want[i]), len(set.Values), "metric %d", i)
			for j, v := range set.Values {
				require.Equal(t, want[i][j].Inst, v.Inst, "metric %d", i)
				require.Equal(t, numberOf(want[i][j]), numberOf(v), "metric %d", i)
			}
		}
		all := pmdatest.As[*pdu.PMNSNames](h.pmcd, h.pmcd.Request(&pdu.PMNSTraverse{Name: derived.Root}))
		require.NotEmpty(t, all.Names)
		return complete
	}
	await.Until(t, "the attack", func() bool {
		good()
		return over.Load()
	})
	if attack.then == stalls {
		for range 50 {
			good()
		}
		end()
		up.HangUp() // as pmcd's end does it; by ourselves we would wait for time.Minute
	}
	await.Until(t, "all values", good)
	if attack.then == answers && what.kind != pdu.KindError { // an ERROR here is part of connecting
		h.connectedOnce()
	}
}

func numberOf(v pdu.Value) float64 { return v.TypeOr(pdu.Type32).Float64(v.Bits) }

// pmcdExchanges is everything that pmcd asks of an agent or tells it.
func pmcdExchanges(id pdu.PMID) []pdu.Message {
	return []pdu.Message{
		&pdu.Profile{Context: 1},
		&pdu.Fetch{Context: 1, PMIDs: []pdu.PMID{id}},
		&pdu.DescReq{PMID: id},
		&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 0), Inst: pdu.NoInst},
		&pdu.TextReq{Ident: uint32(id), Type: pdu.TextPMID | pdu.TextHelp},
		&pdu.LabelReq{Ident: uint32(id), Type: pdu.LabelItem},
		&pdu.PMNSNames{Names: []string{"derived.a"}},
		&pdu.PMNSIDs{PMIDs: []pdu.PMID{id}},
		&pdu.PMNSChild{Name: derived.Root, WithStatus: true},
		&pdu.PMNSTraverse{Name: derived.Root},
		&pdu.Result{Sets: []pdu.ValueSet{{PMID: id, Format: pdu.InSitu, Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 1)}}}},
		&pdu.Attr{Attr: pdu.AttrUserID, Value: "0"},
		&pdu.Error{Code: pdu.ErrNotConn},
	}
}

// The pmcd that started us may send anything instead of a request: either it is answered and so is everything after it,
// or Serve ends and says why. The agent still answers a new pmcd.
func TestHostilePMCD(t *testing.T) {
	b := newBench(t, conf("a = up.load"))
	id := b.metric("a").Served.ID
	creds := (&pdu.Creds{Version: pdu.ProtocolVersion}).Append(nil, 0)
	sane := (&pdu.DescReq{PMID: id}).Append(nil, 9)
	desc := pdu.Desc{PMID: id, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	want := (&pdu.DescReply{Desc: desc}).Append(nil, 0)
	serve := func(stream []byte) ([]byte, error) {
		return pmdatest.Play(t, &pmda.Server{Agent: b.agent, Greeted: true}, stream)
	}
	for _, m := range append(pmcdExchanges(id), &pdu.Creds{Version: pdu.ProtocolVersion}) {
		for _, attack := range attacks() {
			t.Run(m.Kind().String()+"/"+attack.name, func(t *testing.T) {
				stream := slices.Clone(creds)
				if m.Kind() == pdu.KindCreds {
					stream = nil // it is the one that is attacked
				}
				stream = append(stream, bytes.Join(attack.pieces(m.Append(nil, 3)), nil)...)
				if attack.then <= answers {
					stream = append(stream, sane...)
				}
				out, err := serve(stream)
				if err != nil {
					assert.NotEmpty(t, err.Error())
				} else if attack.then <= answers {
					assert.True(t, bytes.HasSuffix(out, want), "the next request has its answer")
				}
				out, err = serve(slices.Concat(creds, sane))
				require.NoError(t, err)
				assert.Equal(t, want, out, "another pmcd has its answer")
			})
		}
	}
}

// Every word of every PDU may be a lie. There is one answer to each request all the same, and it is to
// that request.
func TestHostileWords(t *testing.T) {
	b := newBench(t, conf("a = up.load"))
	id := b.metric("a").Served.ID
	creds := (&pdu.Creds{Version: pdu.ProtocolVersion}).Append(nil, 0)
	for _, m := range pmcdExchanges(id) {
		t.Run(m.Kind().String(), func(t *testing.T) {
			frame := m.Append(nil, 3)
			for at := pdu.HeaderSize; at+4 <= len(frame); at += 4 {
				for _, lie := range [][]byte{
					{0, 0, 0, 0}, {0, 0, 0, 1}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff},
				} {
					f := bytes.Clone(frame)
					copy(f[at:], lie)
					out, err := pmdatest.Play(t, &pmda.Server{Agent: b.agent, Greeted: true}, slices.Concat(creds, f))
					require.NoError(t, err)
					replies := 0
					for r := pdu.NewReader(bytes.NewReader(out), pdu.ClientLimit); ; replies++ {
						reply, err := r.Next()
						if err != nil {
							break
						}
						_, err = pdu.Decode(reply)
						require.NoError(t, err, "word %d is %x", at/4, lie)
					}
					silent := m.Kind() == pdu.KindProfile || m.Kind() == pdu.KindAttr || m.Kind() == pdu.KindError
					require.Equal(t, !silent, replies == 1, "word %d is %x: %d replies", at/4, lie, replies)
				}
			}
		})
	}
}

// A pmcd that invents clients fills no memory: their number is bounded.
func TestClientsAreBounded(t *testing.T) {
	b := newBench(t, conf("c = up.count"))
	for c := range pmda.Client(2 * maxClients) {
		b.agent.Attribute(c, pdu.AttrUserID, "1000")
	}
	assert.Len(t, b.agent.clients, maxClients)
	newest := b.agent.clients[2*maxClients-1]
	assert.True(t, newest.authenticated)

	b.fetch(2*maxClients, 0, "c")
	assert.Len(t, b.agent.clients, maxClients, "whatever it asks for first")
}
