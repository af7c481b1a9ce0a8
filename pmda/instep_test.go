package pmda

import (
	"context"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// interrupted is a pmcd that has sent a fetch, of one metric, and has not read the reply, which is there.
type interrupted struct {
	t    *testing.T
	to   *pdu.Writer
	from interface{ Read([]byte) (int, error) }
	done chan error
	log  *logtest.Hook
	size int // of the reply
}

func newInterrupted(t *testing.T) *interrupted {
	t.Helper()
	in, to := readPipe(t)
	out, from := writePipe(t)
	log, hook := logtest.NewNullLogger()
	ctx, cancel := context.WithCancel(t.Context())
	p := &interrupted{t: t, to: pdu.NewWriter(to), from: from, done: make(chan error, 1), log: hook}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.done <- (&Server{Agent: newNumbers(), Greeted: true, Log: log}).Serve(ctx, in, out)
	}()
	t.Cleanup(func() { // before the descriptors are closed
		cancel()
		<-ended
	})
	p.send(&pdu.Creds{Version: pdu.ProtocolVersion})
	p.send(&pdu.Profile{Default: pdu.Include})
	p.send(&pdu.Fetch{PMIDs: []pdu.PMID{1}})
	require.Eventually(t, func() bool {
		n, err := out.unread()
		p.size = n
		return err == nil && n > 0
	}, patience, time.Millisecond)
	return p
}

func (p *interrupted) send(m pdu.Message) {
	p.t.Helper()
	require.NoError(p.t, p.to.Write(m, 0))
}

// A reply that pmcd does not take never becomes the reply to its next request, whatever PDUs come in between.
func TestReplyThatPMCDLeaves(t *testing.T) {
	for name, between := range map[string][]pdu.Message{
		"another request": nil,
		"another client":  {&pdu.Attr{Attr: pdu.AttrUserID, Value: "1"}, &pdu.Attr{Attr: pdu.AttrProcessID, Value: "2"}},
		"a profile":       {&pdu.Profile{Default: pdu.Include}},
		"a client's end":  {&pdu.Error{Code: pdu.ErrNotConn}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newInterrupted(t)
			for _, m := range between {
				p.send(m)
			}
			p.send(&pdu.Fetch{PMIDs: []pdu.PMID{2, 3}})
			require.Eventually(t, func() bool { return len(p.log.AllEntries()) == 1 }, patience, time.Millisecond)
			assert.Contains(t, p.log.LastEntry().Message, "taken back")
			reader := pdu.NewReader(p.from, pdu.ClientLimit)
			for _, ids := range [][]pdu.PMID{{2, 3}, {4}} {
				f, err := reader.Next()
				require.NoError(t, err)
				m, err := pdu.Decode(f)
				require.NoError(t, err)
				require.IsType(t, &pdu.Result{}, m)
				var got []pdu.PMID
				for _, set := range m.(*pdu.Result).Sets {
					got = append(got, set.PMID)
				}
				require.Equal(t, ids, got)
				p.send(&pdu.Fetch{PMIDs: []pdu.PMID{4}})
			}
			assert.Len(t, p.log.AllEntries(), 1)
		})
	}
}

// Where pmcd has read the begin, it would wait for the rest: the agent ends, and pmcd notices at once.
func TestReplyThatPMCDReadsInPart(t *testing.T) {
	p := newInterrupted(t)
	_, err := p.from.Read(make([]byte, 12))
	require.NoError(t, err)
	p.send(&pdu.Profile{Default: pdu.Include})
	err = within(t, p.done)
	require.ErrorIs(t, err, errOutOfStep)
	assert.ErrorContains(t, err, "were left")
}
