package pmda_test

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// turn is one PDU from pmcd and what the agent answered in the recording, nil for nothing.
type turn struct {
	request, reply []byte
}

// readConversation reads a recording of pmcd or dbpmda with a stock agent, without the handshake.
func readConversation(t *testing.T, path string) []turn {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var turns []turn
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 4 || words[0] != "pdu:" || words[2] == "CREDS" || words[2] == "EOF" {
			continue
		}
		frame, err := hex.DecodeString(words[3])
		require.NoError(t, err)
		switch words[1] {
		case "pmcd>pmda":
			turns = append(turns, turn{request: frame})
		case "pmda>pmcd":
			if e, ok := decode(t, frame).(*pdu.Error); ok && e.Code == pdu.ErrPMDAReady {
				continue // the only PDU that a stock agent sends unasked
			}
			last := &turns[len(turns)-1]
			require.Nil(t, last.reply, "two replies to one PDU")
			last.reply = frame
		}
	}
	require.NotEmpty(t, turns)
	return turns
}

// The recordings have the requests to stock agents and their replies. An agent with the same content sends the same
// bytes through this package.
func TestRecordedConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conv-*.txt")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if strings.Contains(file, "notready") {
				testNeverNotReady(t, readConversation(t, file))
				return
			}
			agent := &playback{}
			p := start(t, agent)
			for i, turn := range readConversation(t, file) {
				if turn.reply == nil {
					p.SendBytes(turn.request)
					p.ExpectSilence()
					continue
				}
				want := decode(t, turn.reply)
				agent.reply = want
				p.SendBytes(turn.request)
				got := p.Expect(want.Kind())
				if text, ok := want.(*pdu.Text); ok {
					text.Ident = got.(*pdu.Text).Ident // stock agents send it in their byte order
				}
				assert.Equal(t, frameOf(want), frameOf(got), "turn %d", i)
			}
		})
	}
}

// The recorded agent makes itself not ready. This package never does: the error becomes one that
// costs only its own request.
func testNeverNotReady(t *testing.T, turns []turn) {
	agent := &playback{}
	p := start(t, agent)
	for _, turn := range turns {
		request := decode(t, turn.request)
		switch {
		case turn.reply == nil:
			p.SendBytes(turn.request)
			p.ExpectSilence()
		case request.Kind() == pdu.KindFetch:
			agent.reply = &pdu.Error{Code: pdu.ErrPMDANotReady}
			assert.Equal(t, pdu.ErrAgain, p.Refused(request))
			return
		default:
			agent.reply = decode(t, turn.reply)
			p.Request(request)
		}
	}
	require.Fail(t, "no FETCH in the recording")
}

func decode(t *testing.T, frame []byte) pdu.Message {
	t.Helper()
	m, err := pdu.Decode(frameAt(frame))
	require.NoError(t, err)
	return m
}

func frameAt(frame []byte) pdu.Frame {
	return pdu.Frame{
		Kind: pdu.Kind(binary.BigEndian.Uint32(frame[4:])),
		From: int32(binary.BigEndian.Uint32(frame[8:])),
		Body: frame[pdu.HeaderSize:],
	}
}

// playback is an agent that answers every request with the recorded reply, put in before the request
// is sent. Only instances are its own: the server turns a domain into all three forms of answers.
type playback struct {
	reply pdu.Message
}

var colours = []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}, {ID: 2, Name: "blue"}}

// as returns the reply as the message that belongs to the request, or an empty one and the recorded error.
func as[M any, P interface {
	*M
	pdu.Message
}](p *playback) (P, error) {
	if e, ok := p.reply.(*pdu.Error); ok && e.Code != 0 {
		return new(M), e.Code
	}
	return p.reply.(P), nil
}

func (p *playback) Desc(pmda.Client, pdu.PMID) (pdu.Desc, error) {
	reply, err := as[pdu.DescReply](p)
	return reply.Desc, err
}

func (p *playback) Instances(pmda.Client, pdu.InDom) ([]pdu.Instance, error) {
	_, err := as[pdu.InstanceReply](p)
	return colours, err
}

func (p *playback) Fetch(_ *pmda.FetchRequest, w *pdu.ResultWriter) error {
	reply, err := as[pdu.Result](p)
	for i := range reply.Sets {
		w.Set(&reply.Sets[i])
	}
	return err
}

func (p *playback) Store(pmda.Client, []pdu.ValueSet) error {
	_, err := as[pdu.Error](p)
	return err
}

func (p *playback) Text(pmda.Client, uint32, pdu.TextType) (string, error) {
	reply, err := as[pdu.Text](p)
	return reply.Text, err
}

func (p *playback) Labels(_ pmda.Client, ident uint32, _ pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	if ident&(1<<31) != 0 && ident != 0xffffffff { // ExpectSilence
		return nil, nil
	}
	reply, err := as[pdu.Labels](p)
	return reply.Sets, err
}

func (p *playback) Lookup(pmda.Client, string) (pdu.PMID, error) {
	reply, err := as[pdu.PMNSIDs](p)
	if err != nil {
		return pdu.NoPMID, err
	}
	return reply.PMIDs[0], nil
}

func (p *playback) names() ([]string, error) {
	reply, err := as[pdu.PMNSNames](p)
	return reply.Names, err
}

func (p *playback) Names(pmda.Client, pdu.PMID) ([]string, error)  { return p.names() }
func (p *playback) Traverse(pmda.Client, string) ([]string, error) { return p.names() }

func (p *playback) Children(_ pmda.Client, _ string, dst []pmda.Child) ([]pmda.Child, error) {
	reply, err := as[pdu.PMNSNames](p)
	for i, name := range reply.Names {
		dst = append(dst, pmda.Child{Name: name, NonLeaf: reply.Status != nil && reply.Status[i] == pdu.StatusNonLeaf})
	}
	return dst, err
}
