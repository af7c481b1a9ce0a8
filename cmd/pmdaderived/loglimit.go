package main

import (
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// logLimit is the largest number of bytes of log in an hour.
	logLimit = 16 << 20

	// logResume is the part of the limit that must be free again before messages are written again. Otherwise every
	// other message would be a notice about messages left out.
	logResume = 64
)

// limitedWriter writes at most limit bytes in an hour. In place of other messages it writes a notice, and how many were
// left out. One Write is one message. At level debug there is no limit.
type limitedWriter struct {
	log   *logrus.Logger // the logger that writes here
	out   io.Writer
	limit int64 // bytes per hour
	now   func() time.Time

	free    int64     // bytes that can be written
	updated time.Time // when free was computed
	leftOut uint64    // number of messages since the last one written
}

// newLogger makes a logger that writes to out, most bytes in an hour at most. The daemon's is standard error, which
// OpenLog redirects.
func newLogger(out io.Writer, level logrus.Level, most int64, now func() time.Time) *logrus.Logger {
	log := logrus.New()
	log.SetLevel(level)
	log.SetFormatter(newLineFormatter())
	log.SetOutput(&limitedWriter{log: log, out: out, limit: most, now: now, free: most, updated: now()})
	return log
}

// Write implements io.Writer. A message that is left out is no error. The logger never calls it concurrently.
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

// refill adds the bytes that have become free since the last call.
func (l *limitedWriter) refill(now time.Time) {
	passed := min(max(now.Sub(l.updated), 0), time.Hour)
	free := int64(float64(l.limit) * passed.Hours())
	if free > 0 || now.Before(l.updated) {
		l.free, l.updated = min(l.free+free, l.limit), now
	}
}

// writeNotice writes a message of the writer itself, also beyond the limit. It ignores errors, and bypasses the logger,
// which is holding its lock.
func (l *limitedWriter) writeNotice(now time.Time, text string, fields logrus.Fields) {
	line, _ := l.log.Formatter.Format(&logrus.Entry{
		Logger: l.log, Time: now, Level: logrus.WarnLevel, Message: text, Data: fields,
	})
	_, _ = l.out.Write(line)
}
