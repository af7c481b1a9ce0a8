package pmda

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
)

// newPipe returns the two ends of a pipe, closed by the test's cleanup.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// interrupted is a pmcd that has sent a fetch, of one metric, and has not read the reply, which is there.
type interrupted struct {
	t    *testing.T
	to   *pdu.Writer
	raw  io.Writer
	from interface{ Read([]byte) (int, error) }
	out  *os.File // the agent's end
	left unreadBytes
	done chan error
	log  *logtest.Hook
}

// newPMCD starts one that has greeted an agent; reads, if there is one, is what it does when the agent has just seen
// that a reply is there still.
func newPMCD(t *testing.T, s *Server, reads func(p *interrupted, n int)) *interrupted {
	t.Helper()
	in, to := newPipe(t)
	from, out := newPipe(t)
	log, hook := logtest.NewNullLogger()
	ctx, cancel := context.WithCancel(t.Context())
	p := &interrupted{t: t, to: pdu.NewWriter(to), raw: to, from: from, out: out, left: newPipes(in, out), done: make(chan error, 1), log: hook}
	s.Greeted, s.Log = true, log
	session := newSession(s, in, out)
	session.pipes = newPipes(in, out)
	if reads != nil {
		session.pipes = quick{session.pipes, func(n int) { reads(p, n) }}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.done <- session.run(ctx, false)
	}()
	t.Cleanup(func() { // before the descriptors are closed
		cancel()
		to.Close()
		<-ended
	})
	p.send(&pdu.Creds{Version: pdu.ProtocolVersion})
	p.send(&pdu.Profile{Default: pdu.Include})
	return p
}

// newInterrupted is one that has sent the fetch.
func newInterrupted(t *testing.T, reads func(p *interrupted, n int)) *interrupted {
	t.Helper()
	p := newPMCD(t, &Server{Agent: newNumbers()}, reads)
	p.send(&pdu.Fetch{PMIDs: []pdu.PMID{1}})
	await.Until(t, "a reply is in the pipe", func() bool {
		n, err := p.left.replies()
		return err == nil && n > 0
	})
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
			p := newInterrupted(t, nil)
			for _, m := range between {
				p.send(m)
			}
			p.send(&pdu.Fetch{PMIDs: []pdu.PMID{2, 3}})
			await.Until(t, "there is a message", func() bool { return len(p.log.AllEntries()) == 1 })
			assert.Contains(t, p.log.LastEntry().Message, "removed it from the pipe")
			reader := pdu.NewReader(p.from, pdu.ClientLimit)
			for _, ids := range [][]pdu.PMID{{2, 3}, {4}} {
				require.Equal(t, ids, fetched(t, reader))
				p.send(&pdu.Fetch{PMIDs: []pdu.PMID{4}})
			}
			assert.Len(t, p.log.AllEntries(), 1)
		})
	}
}

// waiting is an agent whose values come when they may.
type waiting struct {
	*numbers
	begun, may chan struct{}
}

func (w *waiting) Fetch(req *FetchRequest, to *pdu.ResultWriter) error {
	w.begun <- struct{}{}
	<-w.may
	return w.numbers.Fetch(req, to)
}

// A reply that is ready when pmcd has asked for something else already is not sent.
func TestReplyThatComesTooLate(t *testing.T) {
	one, other := &pdu.Fetch{PMIDs: []pdu.PMID{1}}, &pdu.Fetch{PMIDs: []pdu.PMID{2, 3}}
	t.Run("a slow agent", func(t *testing.T) {
		w := &waiting{newNumbers(), make(chan struct{}), make(chan struct{})}
		var clock atomic.Int64
		p := newPMCD(t, &Server{Agent: w, Now: func() time.Time { return time.Unix(0, clock.Add(int64(leastWait))) }}, nil)
		p.send(one)
		<-w.begun
		p.send(other)
		w.may <- struct{}{}
		<-w.begun
		w.may <- struct{}{}
		requireTooLate(t, p, func() {
			<-w.begun
			w.may <- struct{}{}
		})
	})
	t.Run("both at once", func(t *testing.T) {
		p := newPMCD(t, &Server{Agent: newNumbers()}, nil)
		_, err := p.raw.Write(other.Append(one.Append(nil, 0), 0))
		require.NoError(t, err)
		requireTooLate(t, p, func() {})
	})
}

// requireTooLate takes the reply to the second request, and to a third one while serve runs.
func requireTooLate(t *testing.T, p *interrupted, serve func()) {
	t.Helper()
	reader := pdu.NewReader(p.from, pdu.ClientLimit)
	require.Equal(t, []pdu.PMID{2, 3}, fetched(t, reader))
	p.send(&pdu.Fetch{PMIDs: []pdu.PMID{4}})
	serve()
	require.Equal(t, []pdu.PMID{4}, fetched(t, reader))
	require.Len(t, p.log.AllEntries(), 1)
	assert.Contains(t, p.log.LastEntry().Message, "does not send it")
}

// fetched are the metrics of the next reply, which is to a fetch.
func fetched(t *testing.T, r *pdu.Reader) (ids []pdu.PMID) {
	t.Helper()
	f, err := r.Next()
	require.NoError(t, err)
	m, err := pdu.Decode(f)
	require.NoError(t, err)
	require.IsType(t, &pdu.Result{}, m)
	for _, set := range m.(*pdu.Result).Sets {
		ids = append(ids, set.PMID)
	}
	return ids
}

// quick is pipes whose reader reads just when it has been seen that a reply is there.
type quick struct {
	unreadBytes
	reads func(n int)
}

func (q quick) replies() (int, error) {
	n, err := q.unreadBytes.replies()
	if n > 0 {
		q.reads(n)
	}
	return n, err
}

// A reply that pmcd is reading for one to its next request becomes that, and those after it are their own.
func TestReplyThatPMCDReadsForAnother(t *testing.T) {
	for name, row := range map[string]struct {
		begun   bool // pmcd has the header only when the rest is taken back
		between []pdu.Message
	}{
		"read":                       {},
		"begun":                      {begun: true},
		"read, behind a profile":     {between: []pdu.Message{&pdu.Profile{Default: pdu.Include}}},
		"begun, behind a profile":    {begun: true, between: []pdu.Message{&pdu.Profile{Default: pdu.Include}}},
		"begun, behind two profiles": {begun: true, between: []pdu.Message{&pdu.Profile{Default: pdu.Include}, &pdu.Profile{Default: pdu.Include}}},
	} {
		t.Run(name, func(t *testing.T) {
			var taken []byte
			p := newInterrupted(t, func(p *interrupted, n int) {
				if row.begun {
					n = pdu.HeaderSize
				}
				taken = make([]byte, n)
				_, err := io.ReadFull(p.from, taken)
				assert.NoError(t, err)
			})
			for _, m := range row.between {
				p.send(m)
			}
			p.send(&pdu.Fetch{PMIDs: []pdu.PMID{2, 3}})
			await.Until(t, "there is a message", func() bool { return len(p.log.AllEntries()) == 1 })
			assert.Contains(t, p.log.LastEntry().Message, "sends no other")
			reader := pdu.NewReader(io.MultiReader(bytes.NewReader(taken), p.from), pdu.ClientLimit)
			for i := range 3 {
				require.Equal(t, []pdu.PMID{[]pdu.PMID{1, 4, 5}[i]}, fetched(t, reader))
				p.send(&pdu.Fetch{PMIDs: []pdu.PMID{[]pdu.PMID{4, 5, 6}[i]}})
			}
			assert.Len(t, p.log.AllEntries(), 1)
		})
	}
}

// More than the last reply is in the pipe: nobody knows what pmcd takes it for. The agent ends, and pmcd notices at
// once.
func TestRepliesThatNobodyKnows(t *testing.T) {
	p := newInterrupted(t, nil)
	_, err := p.out.Write(make([]byte, 20))
	require.NoError(t, err)
	p.send(&pdu.Profile{Default: pdu.Include})
	select {
	case err = <-p.done:
	case <-time.After(await.Limit):
		require.FailNow(t, "it goes on")
	}
	require.ErrorIs(t, err, errOutOfStep)
	assert.ErrorContains(t, err, "were left")
}

// Only pipes can be looked into.
func TestNotAPipe(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	a, b := os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	defer a.Close()
	defer b.Close()
	in, out := newPipe(t)
	assert.Nil(t, newPipes(a, out))
	assert.Nil(t, newPipes(in, b))
	assert.NotNil(t, newPipes(in, out))
}
