package pmapi_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// recorded is one PDU of a recorded conversation.
type recorded struct {
	fromClient bool
	frame      []byte
}

func (r recorded) message(t testing.TB) pdu.Message {
	t.Helper()
	in := pdu.NewReader(bytes.NewReader(r.frame), pdu.ClientLimit)
	f, err := in.Next()
	require.NoError(t, err)
	m, err := pdu.Decode(f)
	require.NoError(t, err)
	return m
}

// readConversation reads the PDUs of a file up to the first end of the connection.
func readConversation(t testing.TB, path string) []recorded {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []recorded
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "pdu: ")
		if !ok {
			continue
		}
		word := strings.Fields(rest)
		require.Len(t, word, 3)
		if word[1] == "EOF" {
			break
		}
		frame, err := hex.DecodeString(word[2])
		require.NoError(t, err)
		all = append(all, recorded{word[0] == "client>pmcd", frame})
	}
	return all
}

// significant blanks what differs from client to client: who sends and, in a store, the time.
func significant(frame []byte, kind pdu.Kind) []byte {
	frame = bytes.Clone(frame)
	clear(frame[8:12])
	if kind == pdu.KindResult {
		clear(frame[12:20])
	}
	return frame
}

// The calls that stock tools made, made with this client: it sends the same bytes, and it makes of
// the answers what the codec does.
func TestRecordedConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/conv-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			all := readConversation(t, path)
			greeting, rest := split(t, all)
			address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
				greet(p, greeting)
				for _, r := range rest {
					if !r.fromClient {
						p.SendBytes(r.frame)
						continue
					}
					req, ok := p.Next()
					if !assert.True(t, ok) {
						return
					}
					got := p.Received()[len(p.Received())-1].Bytes
					assert.Equal(t, significant(r.frame, req.Kind()), significant(got, req.Kind()))
				}
				p.WaitClosed()
			})
			c := dial(t, "unix", address)
			assert.Equal(t, pmapitest.AllFeatures, c.Features())
			for i, r := range rest {
				if r.fromClient {
					replay(t, c, r.message(t), replies(t, rest[i+1:]))
				}
			}
			require.NoError(t, c.Err())
		})
	}
}

// split takes the challenge, the credentials and what pmcd said to them from the beginning.
func split(t testing.TB, all []recorded) (greeting, rest []recorded) {
	t.Helper()
	if all[0].fromClient { // an extract from the middle of a connection
		return nil, all
	}
	n := 2
	for !all[n].fromClient {
		n++
	}
	require.Equal(t, pdu.KindError, all[0].message(t).Kind())
	require.Equal(t, pdu.KindCreds, all[1].message(t).Kind())
	return all[:n], all[n:]
}

// greet plays the recorded greeting, and answers what Dial adds to it.
func greet(p *pmapitest.Peer, greeting []recorded) {
	if greeting == nil {
		p.Greet(pmapitest.AllFeatures)
		return
	}
	p.SendBytes(greeting[0].frame)
	p.Expect(pdu.KindCreds)
	for _, r := range greeting[2:] {
		p.SendBytes(r.frame)
	}
	p.Expect(pdu.KindProfile)
	p.AnswerFirst()
}

// replies decodes what pmcd said up to the next request.
func replies(t testing.TB, rest []recorded) []pdu.Message {
	t.Helper()
	var all []pdu.Message
	for _, r := range rest {
		if r.fromClient {
			break
		}
		all = append(all, r.message(t))
	}
	return all
}

// replay makes the call that sends req and compares its outcome with the replies.
func replay(t testing.TB, c *pmapi.Conn, req pdu.Message, replies []pdu.Message) {
	t.Helper()
	ctx := t.Context()
	if profile, ok := req.(*pdu.Profile); ok {
		require.NoError(t, c.SetProfile(ctx, profile))
		require.Empty(t, replies)
		return
	}
	require.NotEmpty(t, replies)
	answer := replies[len(replies)-1]
	got, err := repeat(ctx, c, req)
	if refusal, ok := answer.(*pdu.Error); ok && refusal.Code < 0 {
		require.ErrorIs(t, err, refusal.Code)
		return
	}
	require.NoError(t, err)
	switch answer := answer.(type) {
	case *pdu.HighResResult:
		var change pdu.Change
		if len(replies) == 2 {
			change = pdu.Change(replies[0].(*pdu.Error).Code)
			assert.NotZero(t, change)
		}
		assert.Equal(t, values{time.Unix(answer.Sec, answer.Nsec).UTC(), change, answer.Sets}, got)
		assert.Equal(t, change, c.TakeChanges())
		return
	case *pdu.PMNSNames:
		assert.Equal(t, answer.Names, got)
	case *pdu.PMNSIDs:
		for i, r := range got.([]pmapi.NameResult) {
			assert.Equal(t, pmapi.NameResult{PMID: answer.PMIDs[i]}, r)
		}
	case *pdu.DescReply:
		assert.Equal(t, answer.Desc, got)
	case *pdu.Descs:
		for i, r := range got.([]pmapi.DescResult) {
			assert.Equal(t, pmapi.DescResult{Desc: answer.Descs[i]}, r)
		}
	case *pdu.InstanceReply:
		assert.Equal(t, answer.Instances, got)
	case *pdu.Text:
		assert.Equal(t, answer.Text, got)
	case *pdu.Labels:
		assert.Equal(t, answer.Sets, got)
	case *pdu.Error:
		assert.Nil(t, got)
	default:
		assert.Fail(t, "a reply that no call gets", "%v", answer.Kind())
	}
	assert.Len(t, replies, 1)
}

// repeat makes the call that sends req.
func repeat(ctx context.Context, c *pmapi.Conn, req pdu.Message) (any, error) {
	switch req := req.(type) {
	case *pdu.PMNSNames:
		return c.LookupNames(ctx, req.Names)
	case *pdu.PMNSIDs:
		return c.NameAll(ctx, req.PMIDs[0])
	case *pdu.PMNSTraverse:
		return c.Traverse(ctx, req.Name)
	case *pdu.DescReq:
		return c.Desc(ctx, req.PMID)
	case *pdu.DescIDs:
		return c.Descs(ctx, req.PMIDs)
	case *pdu.InstanceReq:
		switch {
		case req.Name != "":
			inst, err := c.InstanceID(ctx, req.InDom, req.Name)
			return []pdu.Instance{{ID: inst}}, err
		case req.Inst != pdu.NoInst:
			name, err := c.InstanceName(ctx, req.InDom, req.Inst)
			return []pdu.Instance{{ID: pdu.NoInst, Name: name}}, err
		}
		return c.Instances(ctx, req.InDom)
	case *pdu.TextReq:
		return c.Text(ctx, req.Ident, req.Type)
	case *pdu.LabelReq:
		return c.Labels(ctx, req.Ident, req.Type)
	case *pdu.HighResFetch:
		return copied(c.Fetch(ctx, req.PMIDs))
	case *pdu.Result:
		return nil, c.Store(ctx, req.Sets)
	}
	return nil, pdu.ErrNYI
}
