package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/nowait"
	"pmdaderived/pdu"
)

// Server runs an [Agent] over one pipe. Its fields are set before Serve and not changed later. Agent is the only
// field that is needed.
type Server struct {
	Agent Agent

	// Log receives the faults that no client is told of: PDUs that cannot be decoded, errors without a code, panics.
	// A fault that repeats is logged every ten minutes. At debug level every PDU is logged, in both directions.
	// Nil: nothing is logged.
	Log logrus.FieldLogger

	// Now is the clock of FetchRequest.Arrived and of the Observer. Nil: time.Now.
	Now func() time.Time

	// Greeted says that [Greet] has been called for the pipe already. Then Serve does not send CREDS.
	Greeted bool
}

// Serve runs the agent on the pipe from pmcd (in) and the pipe to pmcd (out). It does the handshake, then
// handles request after request in the order of arrival, all in the caller's goroutine. It returns
//
//   - nil when pmcd closes the pipe between two PDUs, which is how every agent ends;
//   - an error wrapping the cause when the handshake fails (io.EOF: pmcd closed the pipe, because CREDS came
//     too late), when the stream is broken (io.ErrUnexpectedEOF, *pdu.FrameError), when a reply cannot
//     be written (EPIPE: pmcd has dropped the agent), or when pmcd goes on after it has read only the begin
//     of a reply;
//   - the cause of ctx when ctx ends first. A reply that is being written then gets one more second. Waiting
//     for a request ends at once if the files have deadlines, as those of [Stdio] on pipes and those of os.Pipe
//     have; otherwise it ends when their Read returns. in and out cannot be used afterwards.
//
// The process should then end soon: pmcd may have started another one already. Serve does not close in and out.
func (s *Server) Serve(ctx context.Context, in, out *os.File) error {
	if s.Agent == nil {
		return errors.New("server has no agent")
	}
	defer context.AfterFunc(ctx, func() {
		_ = in.SetReadDeadline(time.Now())
		_ = out.SetWriteDeadline(time.Now().Add(lastReply))
	})()
	session := newSession(s, stream(in), stream(out))
	if pipes := newPipes(in, out); pipes != nil {
		session.pipes = pipes
	}
	err := session.run(ctx, !s.Greeted)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// stream returns the pipe f with system calls that the scheduler is not told of, or f itself if it may block, as a
// terminal does.
func stream(f *os.File) io.ReadWriter {
	if file, err := nowait.New(f); err == nil {
		return file
	}
	return f
}

// lastReply is the time for writing a reply after the context of Serve has ended.
const lastReply = time.Second

// session is the state of one Serve.
type session struct {
	agent     Agent
	storer    Storer // nil, like the next ones, if the agent does not implement it
	finder    InstanceFinder
	texter    Texter
	labeler   Labeler
	namer     Namer
	attribute AttributeWatcher
	ender     ContextEnder
	notifier  Notifier
	observer  Observer

	log        logrus.FieldLogger
	now        func() time.Time
	complaints complaints

	in           *pdu.Reader
	out          *pdu.Writer
	rawOut       io.Writer    // for CREDS
	pipes        unreadBytes  // nil: the unread bytes are not known
	replySize    int          // of the last reply, in bytes
	replyRead    bool         // pmcd has used a late reply for its next request; see checkReplies
	profile      *pdu.Profile // the last one received, for requests
	spareProfile *pdu.Profile // the next one is decoded here, so that a bad one changes nothing

	requests map[pdu.Kind]handler // of the kinds that get a reply
	fetch    pdu.Fetch
	request  FetchRequest
	result   pdu.ResultWriter
	children []Child
	maxReply int // largest reply in bytes; a test sets a lower one
}

func newSession(s *Server, in io.Reader, out io.Writer) *session {
	ss := &session{
		agent:        s.Agent,
		log:          s.Log,
		now:          s.Now,
		in:           pdu.NewReader(in, pdu.AgentLimit),
		out:          pdu.NewWriter(out),
		rawOut:       out,
		profile:      &pdu.Profile{Default: pdu.Include},
		spareProfile: &pdu.Profile{},

		maxReply: pdu.MaxPDU,
	}
	ss.storer, _ = s.Agent.(Storer)
	ss.finder, _ = s.Agent.(InstanceFinder)
	ss.texter, _ = s.Agent.(Texter)
	ss.labeler, _ = s.Agent.(Labeler)
	ss.namer, _ = s.Agent.(Namer)
	ss.attribute, _ = s.Agent.(AttributeWatcher)
	ss.ender, _ = s.Agent.(ContextEnder)
	ss.notifier, _ = s.Agent.(Notifier)
	ss.observer, _ = s.Agent.(Observer)
	ss.requests = ss.handlers()
	if ss.log == nil {
		ss.log = silent()
	}
	if ss.now == nil {
		ss.now = time.Now
	}
	return ss
}

func (s *session) run(ctx context.Context, greet bool) error {
	if greet {
		if err := Greet(s.rawOut, s.attribute != nil); err != nil {
			return err
		}
	}
	if err := s.awaitCreds(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		f, err := s.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pipe from pmcd: %w", err)
		}
		if err := s.checkReplies(f.Kind); err != nil {
			return err
		}
		if err := s.serve(f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// serve handles one PDU and writes its reply, if it gets one. The error is that of the pipe.
func (s *session) serve(f pdu.Frame) error {
	arrived := s.now()
	client := Client(f.From)
	if debugEnabled(s.log) {
		s.log.WithField("trace", pdu.Trace(f)).Debug("pdu received")
	}
	if s.observer != nil {
		s.callObserver(f.Kind, func() { s.observer.Before(client, f.Kind, arrived) })
	}
	frame := s.answer(client, f, arrived)
	if frame == nil {
		return nil
	}
	switch {
	case s.replyRead:
		s.replyRead = false
		s.result.Release()
		return nil
	case s.requestPending(arrived):
		s.log.WithField("request", f.Kind).Warn("pmcd did not wait for a reply; the agent does not send it")
		s.result.Release()
		return nil
	}
	if debugEnabled(s.log) {
		s.log.WithField("trace", traceReply(frame)).Debug("pdu sent")
	}
	s.replySize = len(frame)
	if err := s.out.WriteFrame(frame); err != nil {
		return fmt.Errorf("reply to %s of client %d: %w", f.Kind, client, err)
	}
	s.result.Release()
	if s.observer != nil {
		s.callObserver(f.Kind, func() { s.observer.Replied(client, f.Kind, s.now().Sub(arrived)) })
	}
	return nil
}

// callObserver calls a method of the observer. It logs a panic, so that Serve goes on.
func (s *session) callObserver(k pdu.Kind, call func()) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(k, p)
		}
	}()
	call()
}
