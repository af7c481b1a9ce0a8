package pmapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// asked makes a call of which only the error matters.
func asked[T any](call func(ctx context.Context, c *pmapi.Conn) (T, error)) func(context.Context, *pmapi.Conn) error {
	return func(ctx context.Context, c *pmapi.Conn) error {
		_, err := call(ctx, c)
		return err
	}
}

// A reply of the right kind that answers another question ends the connection. But pmcd relays much of what agents say
// without a look: what a careless agent gets wrong fails that request and not the connection.
func TestReplyToAnotherRequest(t *testing.T) {
	ids := []pdu.PMID{longOne, longTen}
	labels := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Labels(ctx, 29, pdu.LabelDomain) })
	fetch := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Fetch(ctx, ids) })
	children := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Children(ctx, "a") })
	desc := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.Desc(ctx, longOne) })
	number := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.InstanceID(ctx, colours, "red") })
	name := asked(func(ctx context.Context, c *pmapi.Conn) (any, error) { return c.InstanceName(ctx, colours, 1) })
	one, ten := pdu.ValueSet{PMID: longOne}, pdu.ValueSet{PMID: longTen}
	const broken, good = true, false
	for _, row := range []struct {
		name   string
		do     func(context.Context, *pmapi.Conn) error
		reply  pdu.Message
		broken bool // the connection
	}{
		{"labels of another ident", labels, &pdu.Labels{Ident: 30, Type: pdu.LabelDomain}, good},
		{"labels of another type", labels, &pdu.Labels{Ident: 29, Type: pdu.LabelItem}, good},
		{"values of fewer metrics", fetch, &pdu.HighResResult{Sets: []pdu.ValueSet{one}}, good},
		{"values of more metrics", fetch, &pdu.HighResResult{Sets: []pdu.ValueSet{one, ten, ten}}, good},
		{"values in the old form", fetch, &pdu.Result{Sets: []pdu.ValueSet{one, ten}}, broken},
		{"children without status", children, &pdu.PMNSNames{Names: []string{"b"}}, good},
		{"descriptor of another metric", desc, &pdu.DescReply{Desc: oneOfType(longTen)}, good},
		{"no instance in place of one", number, &pdu.InstanceReply{InDom: colours}, good},
		{"two instances in place of one", name, &pdu.InstanceReply{
			InDom: colours, Instances: []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}},
		}, good},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := serve(t, answerOnce(row.reply))
			err := row.do(t.Context(), c)
			if row.broken {
				requireBroken(t, c, err, pdu.ErrIPC)
				return
			}
			require.ErrorIs(t, err, pdu.ErrIPC)
			assert.NoError(t, c.Err())
		})
	}

	filled := func(id pdu.PMID) pdu.ValueSet {
		return pdu.ValueSet{PMID: id, Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 1}}}
	}
	for _, row := range []struct {
		name string
		sent []pdu.PMID
		code []pdu.Code
	}{
		{"one value set of another metric", []pdu.PMID{longOne, hullo}, []pdu.Code{0, pdu.ErrIPC}},
		{"the same one twice", []pdu.PMID{longOne, longOne}, []pdu.Code{0, pdu.ErrIPC}},
		{"swapped", []pdu.PMID{longTen, longOne}, []pdu.Code{pdu.ErrIPC, pdu.ErrIPC}},
		{"all of other metrics", []pdu.PMID{hullo, noMetric}, []pdu.Code{pdu.ErrIPC, pdu.ErrIPC}},
		{"all of another agent's", []pdu.PMID{hostName, hostName}, []pdu.Code{pdu.ErrIPC, pdu.ErrIPC}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := serve(t, answerOnce(&pdu.HighResResult{Sets: []pdu.ValueSet{filled(row.sent[0]), filled(row.sent[1])}}))
			res, err := c.Fetch(t.Context(), ids)
			require.NoError(t, err)
			want := []pdu.ValueSet{filled(longOne), filled(longTen)}
			for i, code := range row.code {
				if code < 0 {
					want[i] = pdu.ValueSet{PMID: ids[i], Code: code}
				}
			}
			assert.Equal(t, want, res.Sets)
			assert.NoError(t, c.Err())
		})
	}

	wrong := func(id pdu.PMID) pmapi.DescResult {
		return pmapi.DescResult{Desc: pdu.Desc{PMID: id}, Code: pdu.ErrIPC}
	}
	for name, row := range map[string]struct {
		reply []pdu.Desc
		want  []pmapi.DescResult
	}{
		"descriptors of other metrics": {
			[]pdu.Desc{oneOfType(longTen), oneOfType(longOne)},
			[]pmapi.DescResult{wrong(longOne), wrong(longTen)},
		},
		"one descriptor of another metric": {
			[]pdu.Desc{oneOfType(longOne), oneOfType(longOne)},
			[]pmapi.DescResult{{Desc: oneOfType(longOne)}, wrong(longTen)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, answerOnce(&pdu.Descs{Descs: row.reply})).Descs(t.Context(), ids)
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

// A name that cannot be sent is answered without a request.
func TestNotAsked(t *testing.T) {
	c := serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
	ctx := t.Context()
	long := strings.Repeat("x", 40<<10)

	names, err := c.LookupNames(ctx, []string{"", "a\x00b", long})
	require.NoError(t, err)
	for _, r := range names {
		assert.Equal(t, pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName}, r)
	}
	names, err = c.LookupNames(ctx, nil)
	require.NoError(t, err)
	assert.Empty(t, names)
	descs, err := c.Descs(ctx, nil)
	require.NoError(t, err)
	assert.Empty(t, descs)

	_, err = c.Children(ctx, long)
	require.ErrorIs(t, err, pdu.ErrName)
	_, err = c.Traverse(ctx, "a\x00")
	require.ErrorIs(t, err, pdu.ErrName)
	inst, err := c.InstanceID(ctx, colours, "")
	require.ErrorIs(t, err, pdu.ErrInst)
	assert.Equal(t, pdu.NoInst, inst)
	_, err = c.InstanceName(ctx, colours, pdu.NoInst)
	require.ErrorIs(t, err, pdu.ErrInst)
	require.ErrorIs(t, c.Store(ctx, nil), pdu.ErrTooSmall)
	_, err = c.Fetch(ctx, nil)
	require.ErrorIs(t, err, pdu.ErrTooSmall)
	require.ErrorIs(t, c.StartFetch(nil), pdu.ErrTooSmall)
	_, err = c.Fetch(ctx, make([]pdu.PMID, pmapi.MaxFetch+1))
	require.ErrorIs(t, err, pdu.ErrTooBig)
	require.ErrorContains(t, err, "16378 metrics, at most 16377")
	require.ErrorIs(t, c.StartFetch(make([]pdu.PMID, pmapi.MaxFetch+1)), pdu.ErrTooBig)
	require.NoError(t, c.Err())
	assert.False(t, c.FetchOutstanding())
}

// Long lists of names are asked for in PDUs that pmcd accepts, in order, the results in place.
func TestLookupNamesInBatches(t *testing.T) {
	var names []string
	var want []pmapi.NameResult
	for i := range 5000 {
		switch {
		case i%1000 == 999:
			names = append(names, "")
			want = append(want, pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName})
		case i%2 == 0:
			names = append(names, fmt.Sprintf("a.metric.%d", i))
			want = append(want, pmapi.NameResult{PMID: pdu.PMID(i)})
		default:
			names = append(names, fmt.Sprintf("no.metric.%d", i))
			want = append(want, pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName})
		}
	}
	var lengths []int // written before the answer to each
	c := serve(t, answer(func(req pdu.Message) []pdu.Message {
		lengths = append(lengths, len(req.Append(nil, 0)))
		reply := &pdu.PMNSIDs{}
		for _, name := range req.(*pdu.PMNSNames).Names {
			id := pdu.NoPMID
			var n uint32
			if _, err := fmt.Sscanf(name, "a.metric.%d", &n); err == nil {
				id = pdu.PMID(n)
				reply.Status++
			}
			reply.PMIDs = append(reply.PMIDs, id)
		}
		return []pdu.Message{reply}
	}))
	got, err := c.LookupNames(t.Context(), names)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for i, n := range lengths {
		assert.LessOrEqual(t, n, shortRequest)
		if i < len(lengths)-1 {
			assert.Greater(t, n, shortRequest-64, "not much is left unused")
		}
	}
}

// A name that is longer than these requests is asked for alone.
func TestLookupOfALongName(t *testing.T) {
	names := []string{"a", strings.Repeat("b", 2*shortRequest), "c"}
	requests := 0
	c := serve(t, answer(func(req pdu.Message) []pdu.Message {
		requests++
		return []pdu.Message{&pdu.PMNSIDs{Status: 1, PMIDs: make([]pdu.PMID, len(req.(*pdu.PMNSNames).Names))}}
	}))
	_, err := c.LookupNames(t.Context(), names)
	require.NoError(t, err)
	assert.Equal(t, len(names), requests)
}

// A failure between two PDUs of one call leaves no half results.
func TestLookupNamesFailsInBetween(t *testing.T) {
	names := make([]string, 3000)
	for i := range names {
		names[i] = "a.metric.with.a.name"
	}
	c := serve(t, func(p *pmapitest.Peer) {
		req := p.Expect(pdu.KindPMNSNames).(*pdu.PMNSNames)
		p.Send(&pdu.PMNSIDs{PMIDs: make([]pdu.PMID, len(req.Names))})
		p.Expect(pdu.KindPMNSNames)
	})
	got, err := c.LookupNames(t.Context(), names)
	requireBroken(t, c, err, pdu.ErrEOF)
	assert.Nil(t, got)
}

// refusing makes a script that answers lookups of names, but refuses each that has a bad name. It counts them.
func refusing(requests *int, code pdu.Code, bad func(name string) bool) func(p *pmapitest.Peer) {
	return answer(func(req pdu.Message) []pdu.Message {
		*requests++
		reply := &pdu.PMNSIDs{}
		for i, name := range req.(*pdu.PMNSNames).Names {
			if bad(name) {
				return []pdu.Message{&pdu.Error{Code: code}}
			}
			reply.PMIDs = append(reply.PMIDs, pdu.PMID(i))
		}
		return []pdu.Message{reply}
	})
}

// One name of 5,000 that an agent refuses costs no other its PMID, and takes few requests more.
func TestLookupOfARefusedName(t *testing.T) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("agent%d.metric.%04d", i/1000, i)
	}
	for _, row := range []struct {
		what     string
		bad      func(name string) bool
		requests int // at most
	}{
		{"none", func(string) bool { return false }, 40},
		{"one", func(name string) bool { return name == "agent2.metric.2345" }, 40 + 16},
		{"all of an agent", func(name string) bool { return strings.HasPrefix(name, "agent2.") }, 32 + 1000 + 20},
		{"all", func(string) bool { return true }, 5000 + 7},
	} {
		t.Run(row.what, func(t *testing.T) {
			requests := 0
			got, err := serve(t, refusing(&requests, pdu.ErrPermission, row.bad)).LookupNames(t.Context(), names)
			require.NoError(t, err)
			for i, r := range got {
				if row.bad(names[i]) {
					assert.Equal(t, pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrPermission}, r)
				} else {
					assert.Zero(t, r.Code)
				}
			}
			assert.LessOrEqual(t, requests, row.requests)
			t.Log(requests, "requests")
		})
	}
}

// A reply that does not fit its request is what the request is refused with: it is asked for in smaller ones.
func TestReplyOfAnotherLength(t *testing.T) {
	c := serve(t, answer(func(req pdu.Message) []pdu.Message {
		switch req := req.(type) {
		case *pdu.PMNSNames:
			if slices.Contains(req.Names, "bad") {
				return []pdu.Message{&pdu.PMNSIDs{PMIDs: []pdu.PMID{1, 2, 3, 4}}}
			}
			return []pdu.Message{&pdu.PMNSIDs{PMIDs: make([]pdu.PMID, len(req.Names))}}
		case *pdu.DescIDs:
			reply := &pdu.Descs{}
			for _, id := range req.PMIDs {
				reply.Descs = append(reply.Descs, oneOfType(id))
				if id == longTen {
					reply.Descs = append(reply.Descs, oneOfType(id))
				}
			}
			return []pdu.Message{reply}
		}
		return nil
	}))
	names, err := c.LookupNames(t.Context(), []string{"a", "bad", "c"})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.NameResult{{}, {PMID: pdu.NoPMID, Code: pdu.ErrIPC}, {}}, names)
	descs, err := c.Descs(t.Context(), []pdu.PMID{longOne, longTen, colour})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.DescResult{
		{Desc: oneOfType(longOne)}, {Desc: pdu.Desc{PMID: longTen}, Code: pdu.ErrIPC}, {Desc: oneOfType(colour)},
	}, descs)
	assert.NoError(t, c.Err())
}

// pmcd 6.0.3 leaves the domain in its reply to chance where it owns the domain itself.
func TestInstancesOfAnyDomain(t *testing.T) {
	reply := &pdu.InstanceReply{InDom: 0xdeadbeef, Instances: []pdu.Instance{{ID: 1, Name: "fd"}}}
	got, err := serve(t, answerOnce(reply)).Instances(t.Context(), colours)
	require.NoError(t, err)
	assert.Equal(t, reply.Instances, got)
}

func TestLookupLongestName(t *testing.T) {
	name := strings.Repeat("x", 32<<10-28)
	sizes := make(chan int, 1)
	c := serve(t, func(p *pmapitest.Peer) {
		req := p.Expect(pdu.KindPMNSNames)
		sizes <- len(req.Append(nil, 0))
		p.Send(&pdu.PMNSIDs{PMIDs: []pdu.PMID{1}})
		p.WaitClosed()
	})
	got, err := c.LookupNames(t.Context(), []string{name + "x", name})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.NameResult{{PMID: pdu.NoPMID, Code: pdu.ErrName}, {PMID: 1}}, got)
	assert.Equal(t, 32<<10, <-sizes)
}

// A code in place of the names or the PMIDs, as pmcd relays it from an agent.
func TestCodeInPlaceOfNames(t *testing.T) {
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindPMNSChild)
		p.Send(&pdu.PMNSNames{Code: pdu.ErrAgain})
		p.Expect(pdu.KindPMNSNames)
		p.Send(&pdu.PMNSIDs{Status: int32(pdu.ErrAgain), PMIDs: []pdu.PMID{pdu.NoPMID}})
		p.WaitClosed()
	})
	_, err := c.Children(t.Context(), "derived")
	require.ErrorIs(t, err, pdu.ErrAgain)
	names, err := c.LookupNames(t.Context(), []string{"derived.x"})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.NameResult{{PMID: pdu.NoPMID, Code: pdu.ErrAgain}}, names)
	assert.NoError(t, c.Err())
}

// A descriptor that is missing in bulk is asked for alone; for an agent that has gone only once.
func TestDescsMissing(t *testing.T) {
	away := func(item int) pdu.PMID { return pdu.NewPMID(60, 0, item) }
	ids := []pdu.PMID{longOne, noMetric, away(1), away(2), pdu.NewPMID(70, 0, 0), away(3), longTen, pdu.NoPMID}
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindDescIDs)
		missing := pdu.Desc{PMID: pdu.NoPMID}
		p.Send(&pdu.Descs{Descs: []pdu.Desc{
			oneOfType(longOne), missing, missing, missing, missing, missing, oneOfType(longTen), missing,
		}})
		for _, answer := range []struct {
			id   pdu.PMID
			code pdu.Code
		}{
			{noMetric, pdu.ErrPMID},
			{away(1), pdu.ErrNoAgent},
			{pdu.NewPMID(70, 0, 0), 0}, // back since
			{pdu.NoPMID, pdu.ErrPMID},
		} {
			req := p.Expect(pdu.KindDescReq).(*pdu.DescReq)
			assert.Equal(t, answer.id, req.PMID)
			if answer.code < 0 {
				p.Fail(answer.code)
			} else {
				p.Send(&pdu.DescReply{Desc: oneOfType(answer.id)})
			}
		}
		p.WaitClosed()
	})
	got, err := c.Descs(t.Context(), ids)
	require.NoError(t, err)
	none := func(id pdu.PMID, code pdu.Code) pmapi.DescResult {
		return pmapi.DescResult{Desc: pdu.Desc{PMID: id}, Code: code}
	}
	assert.Equal(t, []pmapi.DescResult{
		{Desc: oneOfType(longOne)},
		none(noMetric, pdu.ErrPMID),
		none(away(1), pdu.ErrNoAgent),
		none(away(2), pdu.ErrNoAgent),
		{Desc: oneOfType(pdu.NewPMID(70, 0, 0))},
		none(away(3), pdu.ErrNoAgent),
		{Desc: oneOfType(longTen)},
		none(pdu.NoPMID, pdu.ErrPMID),
	}, got)
}

// shortRequest is how many bytes requests for names and descriptors have at most: a pmcd with -L 4096 takes them.
const shortRequest = 4000

func TestDescsInBatches(t *testing.T) {
	const n = 2500
	ids := make([]pdu.PMID, n)
	want := make([]pmapi.DescResult, n)
	for i := range ids {
		ids[i] = pdu.PMID(i)
		want[i].Desc = oneOfType(ids[i])
	}
	var counts []int
	c := serve(t, answer(func(req pdu.Message) []pdu.Message {
		reply := &pdu.Descs{}
		for _, id := range req.(*pdu.DescIDs).PMIDs {
			reply.Descs = append(reply.Descs, oneOfType(id))
		}
		counts = append(counts, len(reply.Descs))
		return []pdu.Message{reply}
	}))
	got, err := c.Descs(t.Context(), ids)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []int{995, 995, 510}, counts, "%d bytes are requests of %d", 12+8+4*995, shortRequest)
}

// A pmcd before 6.0 announces no features: the older PDUs are used.
func TestWithoutFeatures(t *testing.T) {
	moment := time.Unix(1795245000, 123456000).UTC()
	c := serveFeatures(t, 0, func(p *pmapitest.Peer) {
		for range 2 {
			req := p.Expect(pdu.KindFetch).(*pdu.Fetch)
			assert.Equal(t, []pdu.PMID{longOne}, req.PMIDs)
			p.Fail(pdu.Code(pdu.ChangeNames))
			p.Send(&pdu.Result{Sec: int32(moment.Unix()), Usec: 123456, Sets: []pdu.ValueSet{{PMID: longOne}}})
		}
		for _, id := range []pdu.PMID{longOne, longTen} {
			req := p.Expect(pdu.KindDescReq).(*pdu.DescReq)
			assert.Equal(t, id, req.PMID)
			p.Send(&pdu.DescReply{Desc: oneOfType(id)})
		}
		p.Expect(pdu.KindFetch)
		p.Send(&pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne}}})
		p.WaitClosed()
	})
	torn := serveFeatures(t, 0, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindFetch)
		p.SendBytes([]byte{0, 0, 0, 20, 0, 0, 0x70, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1})
		p.WaitClosed()
	})
	ctx := t.Context()
	_, err := torn.Fetch(ctx, []pdu.PMID{longOne})
	require.ErrorIs(t, err, pdu.ErrIPC)
	require.NoError(t, torn.Err())

	want := values{Time: moment, Changes: pdu.ChangeNames, Sets: []pdu.ValueSet{{PMID: longOne}}}
	got, err := copied(c.Fetch(ctx, []pdu.PMID{longOne}))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	got, err = pipelined(ctx, c, []pdu.PMID{longOne})
	require.NoError(t, err)
	assert.Equal(t, want, got)

	descs, err := c.Descs(ctx, []pdu.PMID{longOne, longTen})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.DescResult{{Desc: oneOfType(longOne)}, {Desc: oneOfType(longTen)}}, descs)

	_, err = c.Labels(ctx, 29, pdu.LabelDomain)
	require.ErrorIs(t, err, pdu.ErrNoLabels)
	require.NoError(t, c.Err())

	_, err = c.Fetch(ctx, []pdu.PMID{longOne})
	requireBroken(t, c, err, pdu.ErrIPC)
}

// The largest fetch fits exactly into what pmcd accepts.
func TestFetchLargest(t *testing.T) {
	ids := make([]pdu.PMID, pmapi.MaxFetch)
	for i := range ids {
		ids[i] = pdu.PMID(i)
	}
	c := serve(t, answer(func(req pdu.Message) []pdu.Message {
		assert.Len(t, req.Append(nil, 0), pdu.MaxClientPDU)
		reply := &pdu.HighResResult{}
		for _, id := range req.(*pdu.HighResFetch).PMIDs {
			reply.Sets = append(reply.Sets, pdu.ValueSet{PMID: id, Code: pdu.ErrAgain})
		}
		return []pdu.Message{reply}
	}))
	res, err := c.Fetch(t.Context(), ids)
	require.NoError(t, err)
	assert.Len(t, res.Sets, len(ids))
	_, err = pipelined(t.Context(), c, ids)
	require.NoError(t, err)
}

// State changes come before the answer, whether that is values or a code; they add up until taken.
func TestStateChanges(t *testing.T) {
	one := &pdu.HighResResult{Sets: []pdu.ValueSet{{PMID: longOne}}}
	c := serve(t, func(p *pmapitest.Peer) {
		for _, change := range []pdu.Change{pdu.ChangeDropAgent, 0, pdu.ChangeLabels | pdu.ChangeNames} {
			p.Expect(pdu.KindHighResFetch)
			if change != 0 {
				p.Fail(pdu.Code(change))
			}
			p.Send(one)
		}
		p.Expect(pdu.KindHighResFetch)
		p.Fail(pdu.Code(pdu.ChangeAddAgent))
		p.Fail(pdu.ErrAgain)
		p.Expect(pdu.KindHighResFetch)
		p.Send(one)
		p.WaitClosed()
	})
	ctx, ids := t.Context(), []pdu.PMID{longOne}
	assert.Zero(t, c.TakeChanges())
	for _, want := range []pdu.Change{pdu.ChangeDropAgent, 0, pdu.ChangeLabels | pdu.ChangeNames} {
		res, err := c.Fetch(ctx, ids)
		require.NoError(t, err)
		assert.Equal(t, want, res.Changes)
	}
	assert.Equal(t, pdu.ChangeDropAgent|pdu.ChangeLabels|pdu.ChangeNames, c.TakeChanges())
	assert.Zero(t, c.TakeChanges())

	_, err := c.Fetch(ctx, ids)
	require.ErrorIs(t, err, pdu.ErrAgain)
	require.NoError(t, c.Err())
	assert.Equal(t, pdu.ChangeAddAgent, c.TakeChanges())

	res, err := c.Fetch(ctx, ids)
	require.NoError(t, err)
	assert.Zero(t, res.Changes)
}

func TestHostNameRefused(t *testing.T) {
	for name, set := range map[string]pdu.ValueSet{
		"by a code":   {Code: pdu.ErrPermission},
		"no value":    {},
		"no string":   {Values: []pdu.Value{pdu.Int64Value(pdu.NoInst, 1)}},
		"two strings": {Values: []pdu.Value{pdu.StringValue(1, "a"), pdu.StringValue(2, "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			set.PMID = hostName
			c := serve(t, answerOnce(&pdu.HighResResult{Sets: []pdu.ValueSet{set}}))
			_, err := c.HostName(t.Context())
			require.Error(t, err)
			assert.NoError(t, c.Err())
			if set.Code < 0 {
				assert.ErrorIs(t, err, set.Code)
			} else {
				assert.ErrorIs(t, err, pdu.ErrValue)
			}
		})
	}
}

func TestSetProfile(t *testing.T) {
	profile := &pdu.Profile{Context: 7, Default: pdu.Exclude, InDoms: []pdu.ProfileInDom{
		{InDom: colours, State: pdu.Exclude, Insts: []pdu.Inst{0, 2}},
	}}
	got := make(chan *pdu.Profile, 2)
	c := serve(t, func(p *pmapitest.Peer) {
		got <- p.Expect(pdu.KindProfile).(*pdu.Profile)
		p.Expect(pdu.KindDescReq)
		p.Send(&pdu.DescReply{Desc: oneOfType(longOne)})
		p.Expect(pdu.KindDescReq)
		p.Fail(pdu.ErrPermission) // not the profile's
		p.Expect(pdu.KindProfile)
		p.Expect(pdu.KindDescReq)
		p.Fail(pdu.ErrPMID) // nor this
		p.Expect(pdu.KindDescReq)
		p.Fail(pdu.ErrPermission)
		p.WaitClosed()
	})
	require.NoError(t, c.SetProfile(t.Context(), profile))
	assert.Equal(t, pdu.ContextID(7), profile.Context)
	sent := <-got
	assert.Zero(t, sent.Context)
	assert.Equal(t, profile.Default, sent.Default)
	assert.Equal(t, profile.InDoms, sent.InDoms)

	_, err := c.Desc(t.Context(), longOne)
	require.NoError(t, err)
	_, err = c.Desc(t.Context(), longOne)
	require.ErrorIs(t, err, pdu.ErrPermission)
	require.NoError(t, c.SetProfile(t.Context(), &pdu.Profile{}))
	_, err = c.Desc(t.Context(), longOne)
	require.ErrorIs(t, err, pdu.ErrPMID)
	_, err = c.Desc(t.Context(), longOne)
	require.ErrorIs(t, err, pdu.ErrPermission)
	assert.NoError(t, c.Err())
}

// pmcd does not read: the context ends the call and with it the connection.
func TestSetProfileStalled(t *testing.T) {
	large := &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: colours, Insts: make([]pdu.Inst, 16000)}}}
	silent := make(chan struct{})
	c := serve(t, func(*pmapitest.Peer) { <-silent })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var err error
	for err == nil {
		err = c.SetProfile(ctx, large)
	}
	close(silent)
	require.ErrorIs(t, err, pdu.ErrTimeout)

	c = serve(t, func(p *pmapitest.Peer) { p.WaitClosed() })
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.SetProfile(ctx, large), context.Canceled)
	require.NoError(t, c.Err())
}

// A refused profile makes one reply too many: the connection must not go on.
func TestSetProfileRefused(t *testing.T) {
	for _, code := range []pdu.Code{pdu.ErrPermission, pdu.ErrIPC, -11} {
		for _, call := range calls() {
			t.Run(fmt.Sprint(call.name, code), func(t *testing.T) {
				c := serve(t, func(p *pmapitest.Peer) {
					p.Expect(pdu.KindProfile)
					p.Fail(code)
					p.Expect(call.sends.Kind())
					p.Fail(pdu.ErrAgain)
				})
				require.NoError(t, c.SetProfile(t.Context(), &pdu.Profile{}))
				_, err := call.do(t.Context(), c)
				requireBroken(t, c, err, code)
			})
		}
	}
}

// pmcd closes the connection after a request that is too large for it, without a word.
func TestTooLarge(t *testing.T) {
	for _, row := range []struct {
		name    string
		metrics int
		large   bool
	}{
		{"large", 10000, true},
		{"small", 100, false},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprint(row.name, " reset ", reset), func(t *testing.T) {
				address := pmapitest.Listen(t, "tcp", func(p *pmapitest.Peer) {
					p.Greet(pmapitest.AllFeatures)
					p.Expect(pdu.KindHighResFetch)
					if reset {
						p.Reset()
					}
				})
				c := dial(t, "tcp", address)
				_, err := c.Fetch(t.Context(), make([]pdu.PMID, row.metrics))
				requireBroken(t, c, err, pdu.ErrEOF)
				if row.large {
					assert.ErrorIs(t, err, pmapi.ErrTooLarge)
					assert.ErrorContains(t, err, "40028 bytes")
				} else {
					assert.NotErrorIs(t, err, pmapi.ErrTooLarge)
				}
			})
		}
	}
}

// A request that was answered was not too large.
func TestNotTooLarge(t *testing.T) {
	ids := make([]pdu.PMID, 10000)
	c := serve(t, func(p *pmapitest.Peer) {
		p.Expect(pdu.KindHighResFetch)
		p.Send(&pdu.HighResResult{Sets: make([]pdu.ValueSet, len(ids))})
		p.Expect(pdu.KindDescReq)
	})
	_, err := c.Fetch(t.Context(), ids)
	require.NoError(t, err)
	_, err = c.Desc(t.Context(), longOne)
	require.ErrorIs(t, err, pdu.ErrEOF)
	require.NotErrorIs(t, err, pmapi.ErrTooLarge)
}

// pmcd tells an idle client that it is not wanted any more and closes; the code is not lost when
// the client writes into the closed connection.
func TestRefusedWhileIdle(t *testing.T) {
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			idle, closed := make(chan struct{}), make(chan struct{})
			address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
				p.Greet(pmapitest.AllFeatures)
				<-idle
				p.Fail(pdu.ErrPermission)
				p.Close()
				close(closed)
			})
			c := dial(t, "unix", address)
			close(idle)
			<-closed
			_, err := call.do(t.Context(), c)
			requireBroken(t, c, err, pdu.ErrPermission)
		})
	}
}

// Bytes after an answer, without a request, end the connection. The answer is good.
func TestUnaskedBytes(t *testing.T) {
	for _, call := range calls() {
		t.Run(call.name, func(t *testing.T) {
			for name, surplus := range map[string]struct {
				bytes []byte
				code  pdu.Code
			}{
				"same again":   {call.reply.Append(nil, 0), pdu.ErrIPC},
				"a fragment":   {make([]byte, 5), pdu.ErrIPC},
				"noise":        {make([]byte, 12), pdu.ErrIPC},
				"state change": {(&pdu.Error{Code: 1}).Append(nil, 0), pdu.ErrIPC},
				"refusal":      {(&pdu.Error{Code: pdu.ErrPermission}).Append(nil, 0), pdu.ErrPermission},
			} {
				c := serve(t, func(p *pmapitest.Peer) {
					p.Expect(call.sends.Kind())
					p.SendBytes(append(call.reply.Append(nil, 0), surplus.bytes...))
					p.WaitClosed()
				})
				got, err := call.do(t.Context(), c)
				require.NoError(t, err, name)
				assert.Equal(t, call.want, got, name)
				require.Error(t, c.Err(), name)
				_, err = call.do(t.Context(), c)
				requireBroken(t, c, err, surplus.code)

				c = serve(t, func(p *pmapitest.Peer) {
					p.Expect(call.sends.Kind())
					p.SendBytes(append((&pdu.Error{Code: pdu.ErrAgain}).Append(nil, 0), surplus.bytes...))
					p.WaitClosed()
				})
				if _, err = call.do(t.Context(), c); call.refused == nil {
					require.ErrorIs(t, err, pdu.ErrAgain, name)
				}
				require.ErrorIs(t, c.Err(), surplus.code, name)
			}
		})
	}
}
