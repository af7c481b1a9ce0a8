package pmda

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// numbers is an agent with three values for every metric.
type numbers struct {
	insts []pdu.Inst
	bits  []uint64
}

func (n *numbers) Desc(Client, pdu.PMID) (pdu.Desc, error)             { return pdu.Desc{}, nil }
func (n *numbers) Instances(Client, pdu.InDom) ([]pdu.Instance, error) { return nil, pdu.ErrInDom }
func (n *numbers) Fetch(req *FetchRequest, w *pdu.ResultWriter) error {
	selected := req.Profile.Selects(pdu.NewInDom(250, 1))
	for _, id := range req.PMIDs {
		if selected.Includes(0) {
			w.Numbers(id, pdu.TypeDouble, n.insts, n.bits)
		}
	}
	return nil
}
func (n *numbers) Before(Client, pdu.Kind, time.Time)      {}
func (n *numbers) Replied(Client, pdu.Kind, time.Duration) {}
func (n *numbers) Changes() pdu.Change                     { return 0 }

func newNumbers() *numbers {
	return &numbers{insts: []pdu.Inst{0, 1, 2}, bits: []uint64{1, 2, 3}}
}

// endless repeats a stream for ever.
type endless struct {
	stream []byte
	at     int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.stream[e.at:])
	e.at = (e.at + n) % len(e.stream)
	return n, nil
}

func fetchStream(metrics int) []byte {
	stream := (&pdu.Profile{}).Append(nil, 1)
	return (&pdu.Fetch{PMIDs: make([]pdu.PMID, metrics)}).Append(stream, 1)
}

// In the steady state a PROFILE and a FETCH of numbers allocate nothing, from the bytes that come
// in to the bytes that go out.
func TestFetchDoesNotAllocate(t *testing.T) {
	for name, log := range map[string]logrus.FieldLogger{
		"without a log": nil,
		"logger":        quietLogger(),
		"entry":         logrus.NewEntry(quietLogger()),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(&Server{Agent: newNumbers(), Log: log}, &endless{stream: fetchStream(100)}, io.Discard)
			allocs := testing.AllocsPerRun(200, func() {
				for range 2 {
					f, err := s.in.Next()
					require.NoError(t, err)
					require.NoError(t, s.serve(f))
				}
			})
			assert.Zero(t, allocs)
		})
	}
}

func quietLogger() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// A reply that no receiver would take is not sent.
func TestReplyTooBig(t *testing.T) {
	tests := []struct {
		name    string
		request pdu.Message
		reply   pdu.Message
	}{
		{"fetch", &pdu.Fetch{PMIDs: make([]pdu.PMID, 10)}, &pdu.Error{Code: pdu.ErrTooBig}},
		{"one that fits", &pdu.DescReq{}, &pdu.DescReply{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSession(&Server{Agent: newNumbers()}, nil, &out)
			s.maxReply = 100
			frame := tt.request.Append(nil, 0)
			require.NoError(t, s.serve(pdu.Frame{Kind: tt.request.Kind(), Body: frame[pdu.HeaderSize:]}))
			assert.Equal(t, tt.reply.Append(nil, 0), out.Bytes())
		})
	}
}

// changing has changes to announce until it is asked for them.
type changing struct {
	*numbers
	news pdu.Change
}

func (c *changing) Changes() pdu.Change {
	news := c.news
	c.news = 0
	return news
}

// Changes are announced by a reply that goes out, not by one that is refused.
func TestRefusedReplyTakesNoChanges(t *testing.T) {
	a := &changing{newNumbers(), pdu.ChangeNames}
	fetch := func(maxReply int) []byte {
		var out bytes.Buffer
		s := newSession(&Server{Agent: a}, nil, &out)
		s.maxReply = maxReply
		frame := (&pdu.Fetch{PMIDs: make([]pdu.PMID, 10)}).Append(nil, 0)
		require.NoError(t, s.serve(pdu.Frame{Kind: pdu.KindFetch, Body: frame[pdu.HeaderSize:]}))
		return out.Bytes()
	}
	assert.Equal(t, (&pdu.Error{Code: pdu.ErrTooBig}).Append(nil, 0), fetch(100))
	assert.Equal(t, pdu.ChangeNames, a.news)
	var r pdu.Result
	require.NoError(t, r.Decode(fetch(10000)[pdu.HeaderSize:]))
	assert.EqualValues(t, pdu.ChangeNames, r.Sec)
	assert.Zero(t, a.news)
}

// The same complaint is logged once in ten minutes and says how often it was not.
func TestComplaintsAreLoggedOnChange(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	now := time.Unix(1e9, 0)
	s := newSession(&Server{Agent: newNumbers(), Log: log, Now: func() time.Time { return now }}, nil, io.Discard)
	oops, ouch := errors.New("oops"), errors.New("ouch")

	for range 5 {
		s.complain(pdu.KindFetch, "request failed", oops)
		s.complain(pdu.KindFetch, "request failed", ouch)
		s.complain(pdu.KindDescReq, "request failed", oops)
	}
	require.Len(t, hook.AllEntries(), 3, "each once")
	for _, e := range hook.AllEntries() {
		assert.Equal(t, logrus.WarnLevel, e.Level)
		assert.Equal(t, "request failed", e.Message)
		assert.Equal(t, 0, e.Data["repeated"])
	}
	hook.Reset()

	now = now.Add(complainAgain - 1)
	s.complain(pdu.KindFetch, "request failed", oops)
	assert.Empty(t, hook.AllEntries(), "too early")
	now = now.Add(1)
	s.complain(pdu.KindFetch, "request failed", oops)
	require.Len(t, hook.AllEntries(), 1)
	assert.Equal(t, 5, hook.LastEntry().Data["repeated"])
	assert.Equal(t, oops, hook.LastEntry().Data[logrus.ErrorKey])
	assert.Equal(t, pdu.KindFetch, hook.LastEntry().Data["pdu"])
	s.complain(pdu.KindFetch, "request failed", oops)
	assert.Len(t, hook.AllEntries(), 1, "counted from the last time it was logged")
}

// The number of remembered complaints is limited.
func TestComplaintsAreBounded(t *testing.T) {
	var c complaints
	for i := range 10 * maxComplaints {
		_, due := c.due(complaint{pdu.KindFetch, time.Duration(i).String()}, time.Unix(0, 0))
		require.True(t, due)
		require.LessOrEqual(t, len(c), maxComplaints)
	}
}

// PDUs that pmcd should not send, and faults of the agent, are logged.
func TestOddThingsAreLogged(t *testing.T) {
	tests := []struct {
		name    string
		kind    pdu.Kind
		body    []byte
		message string
		err     string
	}{
		{"profile that makes no sense", pdu.KindProfile, []byte{1}, "cannot decode pdu", "PROFILE"},
		{"request that makes no sense", pdu.KindDescReq, nil, "cannot decode pdu", "DESC_REQ"},
		{"attribute that makes no sense", pdu.KindAttr, nil, "cannot decode pdu", "ATTR"},
		{"error that makes no sense", pdu.KindError, nil, "cannot decode pdu", "ERROR"},
		{"error that does not concern agents", pdu.KindError, []byte{0, 0, 0, 1}, "pdu ignored", pdu.Code(1).Error()},
		{"request that does not concern agents", pdu.KindHighResFetch, nil, "pdu ignored", "not a request to an agent"},
		{"unknown kind", 0x700b, nil, "pdu ignored", "not a request to an agent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, hook := logtest.NewNullLogger()
			s := newSession(&Server{Agent: newNumbers(), Log: log}, nil, io.Discard)
			for range 3 {
				require.NoError(t, s.serve(pdu.Frame{Kind: tt.kind, Body: tt.body}))
			}
			require.Len(t, hook.AllEntries(), 1)
			assert.Equal(t, tt.message, hook.LastEntry().Message)
			assert.Equal(t, tt.kind, hook.LastEntry().Data["pdu"])
			assert.ErrorContains(t, hook.LastEntry().Data[logrus.ErrorKey].(error), tt.err)
		})
	}
}

// Loggers that are neither of logrus's own types are asked if they can tell, and else not bothered.
func TestDebugEnabledOnForeignLoggers(t *testing.T) {
	logger := quietLogger()
	logger.SetLevel(logrus.DebugLevel)
	assert.True(t, debugEnabled(struct{ *logrus.Logger }{logger}))
	assert.False(t, debugEnabled(struct{ logrus.FieldLogger }{logger}))
}

// At debug level every PDU is in the log, both ways; at others none.
func TestDebugLog(t *testing.T) {
	var stream []byte
	for _, m := range []pdu.Message{
		&pdu.Creds{Version: pdu.ProtocolVersion},
		&pdu.Profile{},
		&pdu.InstanceReq{InDom: pdu.NewInDom(250, 1), Inst: pdu.NoInst},
	} {
		stream = m.Append(stream, 3)
	}
	logger, hook := logtest.NewNullLogger()
	serve := func(log logrus.FieldLogger, level logrus.Level) []string {
		logger.SetLevel(level)
		hook.Reset()
		s := newSession(&Server{Agent: newNumbers(), Log: log}, bytes.NewReader(stream), io.Discard)
		require.NoError(t, s.run(t.Context(), false))
		var lines []string
		for _, e := range hook.AllEntries() {
			line, err := (&logrus.TextFormatter{DisableTimestamp: true}).Format(e)
			require.NoError(t, err)
			lines = append(lines, string(line))
		}
		return lines
	}
	lines := serve(logger, logrus.DebugLevel)
	require.Len(t, lines, 5)
	assert.Contains(t, lines[0], "handshake done")
	assert.Contains(t, lines[1], "pdu received")
	assert.Contains(t, lines[1], "PROFILE from=3 len=28")
	assert.Contains(t, lines[2], "INSTANCE_REQ from=3")
	assert.Contains(t, lines[3], "request refused")
	assert.Contains(t, lines[3], pdu.ErrInDom.Error())
	assert.Contains(t, lines[4], "pdu sent")
	assert.Contains(t, lines[4], "ERROR from=0 len=16")

	assert.Len(t, serve(logger.WithField("component", "pmda"), logrus.DebugLevel), 5, "also through an entry")
	assert.Empty(t, serve(logger, logrus.InfoLevel))
}

func BenchmarkServeFetch(b *testing.B) {
	for _, metrics := range []int{1, 100} {
		b.Run(map[int]string{1: "metrics=1", 100: "metrics=100"}[metrics], func(b *testing.B) {
			s := newSession(&Server{Agent: newNumbers()}, &endless{stream: fetchStream(metrics)}, io.Discard)
			b.ReportAllocs()
			for b.Loop() {
				for range 2 {
					f, err := s.in.Next()
					require.NoError(b, err)
					require.NoError(b, s.serve(f))
				}
			}
		})
	}
}
