package main

import (
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// logLimit is how many bytes of log are written in an hour.
	logLimit = 16 << 20

	// logResume is which part of the limit must be free again before messages are written again, so
	// that the log is not half of what was said and half of how much was not.
	logResume = 64
)

// limitedWriter is what a logger writes to: it passes on at most so many bytes an hour, and as much at
// once, and says in their place that messages are left out and how many. One Write is one message. A log
// that somebody has asked to see all of, at level debug, has no limit.
type limitedWriter struct {
	log   *logrus.Logger // that writes here
	out   io.Writer
	limit int64 // bytes an hour
	now   func() time.Time

	free    int64     // bytes that might be written
	updated time.Time // then
	leftOut uint64    // messages left out since the last that was written
}

// newLogger makes a logger whose messages out gets, up to so many bytes an hour. The daemon's is standard
// error, wherever OpenLog takes that.
func newLogger(out io.Writer, level logrus.Level, most int64, now func() time.Time) *logrus.Logger {
	log := logrus.New()
	log.SetLevel(level)
	log.SetFormatter(newLineFormatter())
	log.SetOutput(&limitedWriter{log: log, out: out, limit: most, now: now, free: most, updated: now()})
	return log
}

// Write implements io.Writer. A message that is left out is no error. Only the logger calls it, which does so for one message
// after the other.
func (l *limitedWriter) Write(message []byte) (int, error) {
	if l.log.IsLevelEnabled(logrus.DebugLevel) {
		return l.out.Write(message)
	}
	now, size := l.now(), int64(len(message))
	l.refill(now)
	switch {
	case l.leftOut == 0 && size <= l.free:
	case l.leftOut > 0 && l.free >= max(l.limit/logResume, min(size, l.limit)):
		l.writeNotice(now, "messages were left out", logrus.Fields{"messages": l.leftOut})
		l.leftOut = 0
	default:
		if l.leftOut == 0 {
			l.writeNotice(now, "log has reached its limit, leaving messages out", logrus.Fields{"limit": l.limit})
		}
		l.leftOut++
		return len(message), nil
	}
	l.free -= size
	return l.out.Write(message)
}

// refill adds the room that has become free since then.
func (l *limitedWriter) refill(now time.Time) {
	passed := min(max(now.Sub(l.updated), 0), time.Hour)
	free := int64(float64(l.limit) * passed.Hours())
	if free > 0 || now.Before(l.updated) {
		l.free, l.updated = min(l.free+free, l.limit), now
	}
}

// writeNotice writes a message of our own: two for each gap, whatever the room. What becomes of it is what becomes of
// the log. It does not go through the logger, which is in the middle of a message.
func (l *limitedWriter) writeNotice(now time.Time, text string, fields logrus.Fields) {
	line, _ := l.log.Formatter.Format(&logrus.Entry{
		Logger: l.log, Time: now, Level: logrus.WarnLevel, Message: text, Data: fields,
	})
	_, _ = l.out.Write(line)
}
