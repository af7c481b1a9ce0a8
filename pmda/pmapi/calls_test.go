package pmapi_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// Metrics and instance domains of the sample agent.
var (
	longOne   = pdu.NewPMID(29, 0, 10)
	longTen   = pdu.NewPMID(29, 0, 11)
	colour    = pdu.NewPMID(29, 0, 5)
	hullo     = pdu.NewPMID(29, 0, 31)
	colours   = pdu.NewInDom(29, 1)
	hostName  = pdu.NewPMID(2, 0, 21)
	noMetric  = pdu.NewPMID(29, 4095, 1023)
	noDomain  = pdu.NewPMID(499, 0, 0)
	oneOfType = func(id pdu.PMID) pdu.Desc {
		return pdu.Desc{PMID: id, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	}
)

// values is a copy of what is worth comparing in a result.
type values struct {
	Time    time.Time
	Changes pdu.Change
	Sets    []pdu.ValueSet
}

func copied(res *pmapi.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	v := values{Time: res.Time.UTC(), Changes: res.Changes}
	for _, set := range res.Sets {
		set.Values = slices.Clone(set.Values)
		for i := range set.Values {
			set.Values[i].Bytes = slices.Clone(set.Values[i].Bytes)
		}
		v.Sets = append(v.Sets, set)
	}
	return v, nil
}

// call is one request of a Conn together with the conversation that it makes.
type call struct {
	name  string
	do    func(ctx context.Context, c *pmapi.Conn) (any, error)
	sends pdu.Message // what pmcd gets
	reply pdu.Message // a good answer
	want  any         // the answer as the caller sees it
	fetch bool        // state changes may come before the answer
	// refused is the result, and no error, if pmcd refuses each item that is asked for; nil: it is an error
	refused func(code pdu.Code) any
	items   int // that are asked for
}

// pipelined fetches the way that never waits.
func pipelined(ctx context.Context, c *pmapi.Conn, ids []pdu.PMID) (any, error) {
	if err := c.StartFetch(ids); err != nil {
		return nil, err
	}
	for {
		if err := c.WaitReadable(ctx); err != nil {
			return nil, err
		}
		res, done, err := c.PollColumns()
		if done {
			return copied(res.Result(), err)
		}
	}
}

func calls() []call {
	moment := time.Unix(1795245000, 123456789).UTC()
	oneSet := func() []pdu.ValueSet {
		return []pdu.ValueSet{
			{PMID: longOne, Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 1}}},
			{
				PMID: hullo, Format: pdu.Block,
				Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte("hullo world!")}},
			},
			{PMID: noDomain, Code: pdu.ErrNoAgent},
		}
	}
	fetched := []pdu.PMID{longOne, hullo, noDomain}
	fetchReply := &pdu.HighResResult{Sec: moment.Unix(), Nsec: int64(moment.Nanosecond()), Sets: oneSet()}
	fetchWant := values{Time: moment, Sets: oneSet()}
	labels, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelDomain, map[string]any{"role": "testing"})
	if err != nil {
		panic(err)
	}
	return []call{
		{
			name: "LookupNames",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return c.LookupNames(ctx, []string{"sample.long.one", "no.such"})
			},
			sends: &pdu.PMNSNames{Names: []string{"sample.long.one", "no.such"}},
			reply: &pdu.PMNSIDs{Status: 1, PMIDs: []pdu.PMID{longOne, pdu.NoPMID}},
			want:  []pmapi.NameResult{{PMID: longOne}, {PMID: pdu.NoPMID, Code: pdu.ErrName}},
			refused: func(code pdu.Code) any {
				return []pmapi.NameResult{{PMID: pdu.NoPMID, Code: code}, {PMID: pdu.NoPMID, Code: code}}
			},
			items: 2,
		},
		{
			name: "LookupNames, one name",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return c.LookupNames(ctx, []string{"sample.long.one"})
			},
			sends: &pdu.PMNSNames{Names: []string{"sample.long.one"}},
			reply: &pdu.PMNSIDs{Status: 1, PMIDs: []pdu.PMID{longOne}},
			want:  []pmapi.NameResult{{PMID: longOne}},
			refused: func(code pdu.Code) any {
				return []pmapi.NameResult{{PMID: pdu.NoPMID, Code: code}}
			},
			items: 1,
		},
		{
			name:  "NameAll",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.NameAll(ctx, colour) },
			sends: &pdu.PMNSIDs{PMIDs: []pdu.PMID{colour}},
			reply: &pdu.PMNSNames{Names: []string{"sample.colour", "sample.dupnames.five.colour"}},
			want:  []string{"sample.colour", "sample.dupnames.five.colour"},
		},
		{
			name:  "Children",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Children(ctx, "sample") },
			sends: &pdu.PMNSChild{WithStatus: true, Name: "sample"},
			reply: &pdu.PMNSNames{Names: []string{"colour", "long"}, Status: []int32{pdu.StatusLeaf, pdu.StatusNonLeaf}},
			want:  []pmapi.Child{{Name: "colour", Leaf: true}, {Name: "long"}},
		},
		{
			name:  "Traverse",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Traverse(ctx, "sample.long") },
			sends: &pdu.PMNSTraverse{Name: "sample.long"},
			reply: &pdu.PMNSNames{Names: []string{"sample.long.one", "sample.long.ten"}},
			want:  []string{"sample.long.one", "sample.long.ten"},
		},
		{
			name:  "Desc",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Desc(ctx, longOne) },
			sends: &pdu.DescReq{PMID: longOne},
			reply: &pdu.DescReply{Desc: oneOfType(longOne)},
			want:  oneOfType(longOne),
		},
		{
			name: "Descs",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return c.Descs(ctx, []pdu.PMID{longOne, longTen})
			},
			sends: &pdu.DescIDs{PMIDs: []pdu.PMID{longOne, longTen}},
			reply: &pdu.Descs{Descs: []pdu.Desc{oneOfType(longOne), oneOfType(longTen)}},
			want:  []pmapi.DescResult{{Desc: oneOfType(longOne)}, {Desc: oneOfType(longTen)}},
			refused: func(code pdu.Code) any {
				one, ten := pdu.Desc{PMID: longOne}, pdu.Desc{PMID: longTen}
				return []pmapi.DescResult{{Desc: one, Code: code}, {Desc: ten, Code: code}}
			},
			items: 2,
		},
		{
			name:  "Instances",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Instances(ctx, colours) },
			sends: &pdu.InstanceReq{InDom: colours, Inst: pdu.NoInst},
			reply: &pdu.InstanceReply{InDom: colours, Instances: []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}}},
			want:  []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}},
		},
		{
			name:  "InstanceName",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.InstanceName(ctx, colours, 1) },
			sends: &pdu.InstanceReq{InDom: colours, Inst: 1},
			reply: &pdu.InstanceReply{InDom: colours, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "green"}}},
			want:  "green",
		},
		{
			name:  "InstanceID",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.InstanceID(ctx, colours, "green") },
			sends: &pdu.InstanceReq{InDom: colours, Inst: pdu.NoInst, Name: "green"},
			reply: &pdu.InstanceReply{InDom: colours, Instances: []pdu.Instance{{ID: 1}}},
			want:  pdu.Inst(1),
		},
		{
			name: "Text",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return c.Text(ctx, uint32(longOne), pdu.TextOneLine|pdu.TextPMID)
			},
			sends: &pdu.TextReq{Ident: uint32(longOne), Type: pdu.TextOneLine | pdu.TextPMID},
			reply: &pdu.Text{Ident: 0x0a004007, Text: "Constant one"}, // the ident as stock agents send it
			want:  "Constant one",
		},
		{
			name: "Labels",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return c.Labels(ctx, 29, pdu.LabelDomain)
			},
			sends: &pdu.LabelReq{Ident: 29, Type: pdu.LabelDomain},
			reply: &pdu.Labels{Ident: 29, Type: pdu.LabelDomain, Sets: []pdu.LabelSet{labels}},
			want:  []pdu.LabelSet{labels},
		},
		{
			name: "Store",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return nil, c.Store(
					ctx, []pdu.ValueSet{{PMID: longOne, Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.Type32, Bits: 5}}}},
				)
			},
			sends: &pdu.Result{Sets: []pdu.ValueSet{{PMID: longOne, Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 5}}}}},
			reply: &pdu.Error{},
			want:  nil,
		},
		{
			name: "WhoAmI",
			do: func(ctx context.Context, c *pmapi.Conn) (any, error) {
				return nil, c.WhoAmI(ctx, "test")
			},
			sends: &pdu.Result{Sets: []pdu.ValueSet{{PMID: pdu.NewPMID(2, 6, 0), Format: pdu.StaticBlock, Values: []pdu.Value{
				{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte("test")},
			}}}},
			reply: &pdu.Error{},
			want:  nil,
		},
		{
			name:  "HostName",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.HostName(ctx) },
			sends: &pdu.HighResFetch{PMIDs: []pdu.PMID{hostName}},
			reply: &pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: hostName, Format: pdu.Block, Values: []pdu.Value{
				{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte("nas1")},
			}}}},
			want:  "nas1",
			fetch: true,
		},
		{
			name:  "Fetch",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return copied(c.Fetch(ctx, fetched)) },
			sends: &pdu.HighResFetch{PMIDs: fetched},
			reply: fetchReply,
			want:  fetchWant,
			fetch: true,
		},
		{
			name:  "StartFetch and PollColumns",
			do:    func(ctx context.Context, c *pmapi.Conn) (any, error) { return pipelined(ctx, c, fetched) },
			sends: &pdu.HighResFetch{PMIDs: fetched},
			reply: fetchReply,
			want:  fetchWant,
			fetch: true,
		},
	}
}

// dial connects to a script of pmapitest.
func dial(t testing.TB, network, address string, opts ...pmapi.Option) *pmapi.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit) // WithTimeout is for the calls
	defer cancel()
	c, err := pmapi.Dial(ctx, network, address, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serve dials a pmcd that greets and then follows script.
func serve(t testing.TB, script func(p *pmapitest.Peer), opts ...pmapi.Option) *pmapi.Conn {
	t.Helper()
	return serveFeatures(t, pmapitest.AllFeatures, script, opts...)
}

func serveFeatures(t testing.TB, f pdu.Features, script func(p *pmapitest.Peer), opts ...pmapi.Option) *pmapi.Conn {
	t.Helper()
	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
		p.Greet(f)
		script(p)
	})
	return dial(t, "unix", address, opts...)
}

// answer makes a script that sends what reply says to each request, up to the end of the connection.
func answer(reply func(req pdu.Message) []pdu.Message) func(p *pmapitest.Peer) {
	return func(p *pmapitest.Peer) {
		for {
			req, ok := p.Next()
			if !ok {
				return
			}
			for _, m := range reply(req) {
				p.Send(m)
			}
		}
	}
}

// answerOne makes a script that sends a value set without values to each request.
func answerOne(pdu.Message) []pdu.Message {
	return []pdu.Message{&pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne}}}}
}

// answerOnce makes a script that sends reply to a request and then waits.
func answerOnce(reply pdu.Message) func(p *pmapitest.Peer) {
	return func(p *pmapitest.Peer) {
		if _, ok := p.Next(); ok {
			p.Send(reply)
			p.WaitClosed()
		}
	}
}

// requireBroken demands that err has ended the connection for good, with code.
func requireBroken(t testing.TB, c *pmapi.Conn, err error, code pdu.Code) {
	t.Helper()
	require.Error(t, err)
	var op *pmapi.OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, c.Addr(), op.Addr)
	assert.ErrorIs(t, err, code)
	require.ErrorIs(t, c.Err(), code)
	assert.False(t, c.FetchOutstanding())
	_, later := c.Desc(context.Background(), longOne)
	assert.Equal(t, c.Err(), later)
	assert.Equal(t, c.Err(), c.SetProfile(context.Background(), &pdu.Profile{}))
	assert.Equal(t, c.Err(), c.StartFetch([]pdu.PMID{longOne}))
	assert.Equal(t, c.Err(), c.WaitReadable(context.Background()))
	_, done, later := c.PollColumns()
	assert.True(t, done)
	assert.Equal(t, c.Err(), later)
	assert.NoError(t, c.Close())
}

func TestCallAnswered(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		for _, call := range calls() {
			t.Run(network+"/"+call.name, func(t *testing.T) {
				var sent []pmapitest.Request
				finished := make(chan struct{})
				address := pmapitest.Listen(t, network, func(p *pmapitest.Peer) {
					p.Greet(pmapitest.AllFeatures)
					defer close(finished)
					p.Expect(call.sends.Kind())
					p.Send(call.reply)
					p.Expect(call.sends.Kind())
					for _, b := range call.reply.Append(nil, 0) {
						p.SendBytes([]byte{b})
					}
					sent = p.Received()
					p.WaitClosed()
				})
				c := dial(t, network, address)
				for range 2 { // the second finds nothing left over, and its answer comes byte by byte
					got, err := call.do(t.Context(), c)
					require.NoError(t, err)
					assert.Equal(t, call.want, got)
				}
				require.NoError(t, c.Close())
				<-finished
				want := call.sends.Append(nil, 0)
				assert.Equal(t, want, sent[len(sent)-1].Bytes)
				assert.Equal(t, want, sent[len(sent)-2].Bytes)
			})
		}
	}
}

// An ERROR in place of the reply is an answer: the connection stays good.
func TestCallRefused(t *testing.T) {
	codes := []pdu.Code{pdu.ErrAgain, pdu.ErrPermission, pdu.ErrIPC, pdu.ErrPMID, -32, -1, -21344}
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) {
				requests := max(1, 2*call.items-1) // for all of two items, then for each
				for _, code := range codes {
					for range requests {
						p.Expect(call.sends.Kind())
						p.Fail(code)
					}
				}
				p.Expect(call.sends.Kind())
				p.Send(call.reply)
				p.WaitClosed()
			})
			for _, code := range codes {
				got, err := call.do(t.Context(), c)
				if call.refused != nil {
					require.NoError(t, err)
					assert.Equal(t, call.refused(code), got)
					continue
				}
				require.Error(t, err)
				assert.Equal(t, code, pdu.CodeOf(err), "%v", err)
				assert.NoError(t, c.Err())
			}
			got, err := call.do(t.Context(), c)
			require.NoError(t, err)
			assert.Equal(t, call.want, got)
		})
	}
}

// A PDU that cannot be the answer to the request ends the connection.
func TestCallAnsweredWrongly(t *testing.T) {
	for _, call := range calls() {
		wrong := map[string][]byte{
			"another kind":     (&pdu.Creds{Version: 2}).Append(nil, 0),
			"a request":        (&pdu.DescReq{PMID: longOne}).Append(nil, 0),
			"length below 12":  {0, 0, 0, 11, 0, 0, 0x70, 0, 0, 0, 0, 0},
			"length negative":  {0xff, 0, 0, 16, 0, 0, 0x70, 0, 0, 0, 0, 0},
			"length too large": {0x7f, 0, 0, 16, 0, 0, 0x70, 0, 0, 0, 0, 0},
			"no PDU":           []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		}
		if call.fetch {
			two := (&pdu.Error{Code: 1}).Append(nil, 0)
			wrong["two state changes"] = (&pdu.Error{Code: 2}).Append(two, 0)
		}
		if call.reply.Kind() == pdu.KindError {
			wrong["a result"] = (&pdu.Result{}).Append(nil, 0)
		}
		for name, answer := range wrong {
			t.Run(call.name+"/"+name, func(t *testing.T) {
				gone := make(chan struct{})
				c := serve(t, func(p *pmapitest.Peer) {
					defer close(gone)
					p.Expect(call.sends.Kind())
					p.SendBytes(answer)
					p.WaitClosed()
				})
				_, err := call.do(t.Context(), c)
				<-gone // at once, without a Close
				requireBroken(t, c, err, pdu.ErrIPC)
			})
		}
	}
}

// An answer that says nothing, or cannot be read, costs the request, and the connection goes on: an agent may have
// said so.
func TestCallAnsweredBadly(t *testing.T) {
	for _, call := range calls() {
		bad := map[string][]byte{
			"a challenge":  (&pdu.Error{Extended: true, Challenge: pdu.Challenge{Version: 2}}).Append(nil, 0),
			"a torn ERROR": {0, 0, 0, 13, 0, 0, 0x70, 0, 0, 0, 0, 0, 1},
		}
		if !call.fetch {
			bad["a state change"] = (&pdu.Error{Code: 1}).Append(nil, 0)
		}
		if call.reply.Kind() != pdu.KindError {
			bad["success"] = (&pdu.Error{}).Append(nil, 0)
			bad["no body"] = cutShort(call.reply.Append(nil, 0), pdu.HeaderSize)
		}
		for name, answer := range bad {
			t.Run(call.name+"/"+name, func(t *testing.T) {
				c := serve(t, answerAlways(answer))
				got, err := call.do(t.Context(), c)
				require.NoError(t, c.Err())
				if err != nil {
					require.ErrorIs(t, err, pdu.ErrIPC)
				} else {
					requireSent(t, call.want, got)
				}
			})
		}
	}
}

// answerAlways makes a script that sends the same bytes to each request.
func answerAlways(b []byte) func(p *pmapitest.Peer) {
	return func(p *pmapitest.Peer) {
		for {
			if _, ok := p.Next(); !ok {
				return
			}
			p.SendBytes(b)
		}
	}
}

// cutShort is the first n bytes of a frame as a whole one.
func cutShort(frame []byte, n int) []byte {
	short := slices.Clone(frame[:n])
	short[2], short[3] = byte(n>>8), byte(n)
	return short
}

// requireSent demands of each metric and name in an answer that it is what was sent or has the code of what cannot be
// read.
func requireSent(t testing.TB, want, got any) {
	t.Helper()
	switch got := got.(type) {
	case values:
		for i, set := range got.Sets {
			if set.Code != pdu.ErrIPC {
				require.Equal(t, want.(values).Sets[i], set)
			}
		}
	case []pmapi.NameResult:
		for i, r := range got {
			if r.Code != pdu.ErrIPC {
				require.Equal(t, want.([]pmapi.NameResult)[i], r)
			}
		}
	default:
		require.NotEqual(t, want, got)
	}
}

// stateChangeSize is the length of the PDU that announces changes, in bytes.
const stateChangeSize = 16

// The stream ends inside the answer, at every byte of it.
func TestCallCutOff(t *testing.T) {
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			answer := call.reply.Append(nil, 0)
			if call.fetch {
				answer = append((&pdu.Error{Code: 1}).Append(nil, 0), answer...)
			}
			for n := range answer {
				c := serve(t, func(p *pmapitest.Peer) {
					p.Expect(call.sends.Kind())
					p.SendBytes(answer[:n])
				})
				_, err := call.do(t.Context(), c)
				require.Error(t, err, "%d bytes", n)
				require.ErrorIs(t, err, pdu.ErrEOF, "%d bytes", n)
				require.ErrorIs(t, c.Err(), pdu.ErrEOF, "%d bytes", n)
				between := n == 0 || call.fetch && n == stateChangeSize
				require.Equal(t, between, errors.Is(err, io.EOF), "%d bytes", n)
				require.Equal(t, !between, errors.Is(err, io.ErrUnexpectedEOF), "%d bytes", n)
			}
		})
	}
}

// The frame is whole but its content is not: never a panic, and never a value that was not sent.
func TestCallTruncatedBody(t *testing.T) {
	for _, call := range calls() {
		if call.reply.Kind() == pdu.KindError {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			whole := call.reply.Append(nil, 0)
			for n := pdu.HeaderSize; n < len(whole); n++ {
				got, err := call.do(t.Context(), serve(t, answerAlways(cutShort(whole, n))))
				switch {
				case err == nil && len(whole)-n < 4 && assert.ObjectsAreEqual(call.want, got): // only padding was missing
				case err == nil:
					requireSent(t, call.want, got)
				default:
					require.ErrorIs(t, err, pdu.ErrIPC, "%d bytes", n)
				}
			}
		})
	}
}

// pmcd stops in the middle: the context's deadline, the default one and a cancellation end the call.
func TestCallStalled(t *testing.T) {
	for _, call := range calls() {
		stall := func(p *pmapitest.Peer) {
			if _, ok := p.Next(); ok { // on a slow machine the time is up before the call
				p.SendBytes(call.reply.Append(nil, 0)[:14])
				p.WaitClosed()
			}
		}
		t.Run(call.name+"/deadline", func(t *testing.T) {
			c := serve(t, stall)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := call.do(ctx, c)
			require.ErrorIs(t, err, pdu.ErrTimeout)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		t.Run(call.name+"/cancelled", func(t *testing.T) {
			c := serve(t, stall)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := call.do(ctx, c)
			require.ErrorIs(t, err, context.Canceled)
		})
		if call.name == "StartFetch and PollColumns" {
			continue // the wait is the caller's, and has no default
		}
		t.Run(call.name+"/default", func(t *testing.T) {
			c := serve(t, stall, pmapi.WithTimeout(10*time.Millisecond))
			_, err := call.do(context.Background(), c)
			requireBroken(t, c, err, pdu.ErrTimeout)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// A context that has ended already costs nothing: nothing is sent and the connection stays good.
func TestCallWithEndedContext(t *testing.T) {
	for _, call := range calls() {
		if call.name == "StartFetch and PollColumns" {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := call.do(ctx, c)
			require.ErrorIs(t, err, context.Canceled)
			assert.NoError(t, c.Err())
		})
	}
}

// Close from another goroutine ends a call that waits.
func TestCallClosed(t *testing.T) {
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			asked := make(chan struct{})
			c := serve(t, func(p *pmapitest.Peer) {
				p.Expect(call.sends.Kind())
				close(asked)
				p.WaitClosed()
			})
			go func() {
				<-asked
				_ = c.Close()
			}()
			_, err := call.do(t.Context(), c)
			require.ErrorContains(t, err, "use of closed network connection")
			assert.Equal(t, c.Err(), err)
		})
	}
}

// While the answer to StartFetch is outstanding nothing else can be asked.
func TestCallWhileFetchIsOutstanding(t *testing.T) {
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			c := serve(t, func(p *pmapitest.Peer) {
				p.Expect(pdu.KindHighResFetch)
				p.WaitClosed()
			})
			require.NoError(t, c.StartFetch([]pdu.PMID{longOne}))
			_, err := call.do(t.Context(), c)
			require.ErrorIs(t, err, pmapi.ErrOutstanding)
			require.ErrorIs(t, c.SetProfile(t.Context(), &pdu.Profile{}), pmapi.ErrOutstanding)
			assert.NoError(t, c.Err())
			assert.True(t, c.FetchOutstanding())
		})
	}
}
