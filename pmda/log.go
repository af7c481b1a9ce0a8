package pmda

import (
	"encoding/binary"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/pdu"
)

// A complaint that repeats is logged again after complainAgain, with the number of repetitions. At most
// maxComplaints different ones are remembered; then all are forgotten.
const (
	complainAgain = 10 * time.Minute
	maxComplaints = 64
)

// complaints has the complaints that have been logged.
type complaints map[complaint]*complainedAt

type complaint struct {
	kind pdu.Kind
	text string
}

type complainedAt struct {
	last    time.Time
	skipped int // repetitions since last
}

// due reports whether a complaint is to be logged now. skipped is the number of times since the last log line.
func (c *complaints) due(what complaint, now time.Time) (skipped int, due bool) {
	if at := (*c)[what]; at != nil {
		if now.Sub(at.last) < complainAgain {
			at.skipped++
			return 0, false
		}
		skipped, at.last, at.skipped = at.skipped, now, 0
		return skipped, true
	}
	if *c == nil || len(*c) >= maxComplaints {
		*c = make(complaints)
	}
	(*c)[what] = &complainedAt{last: now}
	return 0, true
}

// complain logs a fault with PDUs of kind k, unless it was logged in the last ten minutes.
func (s *session) complain(k pdu.Kind, what string, err error) {
	if skipped, due := s.complaints.due(complaint{k, err.Error()}, s.now()); due {
		s.log.WithFields(logrus.Fields{"pdu": k, "repeated": skipped}).WithError(err).Warn(what)
	}
}

// logPanic logs a panic of the agent with its stack, unless it was logged in the last ten minutes. The deferred
// function that recovers calls it, because only there the stack still shows the panic.
func (s *session) logPanic(k pdu.Kind, value any) {
	text := fmt.Sprint(value)
	if skipped, due := s.complaints.due(complaint{k, "panic: " + text}, s.now()); due {
		s.log.WithFields(logrus.Fields{
			"pdu": k, "repeated": skipped, "panic": text, "stack": string(debug.Stack()),
		}).Error("agent has panicked")
	}
}

// debugEnabled reports whether l prints debug messages. [logrus.FieldLogger] has no method for it.
func debugEnabled(l logrus.FieldLogger) bool {
	switch l := l.(type) {
	case *logrus.Entry:
		return l.Logger.IsLevelEnabled(logrus.DebugLevel)
	case interface{ IsLevelEnabled(logrus.Level) bool }: // a Logger
		return l.IsLevelEnabled(logrus.DebugLevel)
	}
	return false
}

func silent() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	l.SetLevel(logrus.PanicLevel)
	return l
}

// traceReply returns the trace of a reply, a frame with its header.
func traceReply(frame []byte) string {
	return pdu.Trace(pdu.Frame{
		Kind: pdu.Kind(binary.BigEndian.Uint32(frame[4:])),
		From: int32(binary.BigEndian.Uint32(frame[8:])),
		Body: frame[pdu.HeaderSize:],
	})
}
