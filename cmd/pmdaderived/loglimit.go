package main

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// defaultLogLimit is how many bytes of log are written in an hour.
	defaultLogLimit = 16 << 20

	// logResume is which part of the limit must be free again before messages are written again, so
	// that the log is not half of what was said and half of how much was not.
	logResume = 64
)

// logLimit is what a logger writes to: it passes on at most so many bytes an hour, and as much at
// once, and says in their place that messages are left out and how many. One Write is one message. A log
// that somebody has asked to see all of, at level debug, has no limit.
type logLimit struct {
	log  *logrus.Logger // that writes here
	out  io.Writer
	most int64 // bytes an hour; 0: no limit
	now  func() time.Time

	leftOut atomic.Uint64        // messages, in all
	level   atomic.Pointer[room] // after the last message; only Write stores it
	gap     uint64               // messages left out since the last that was written; belongs to Write
}

// room is how many bytes may be written at a moment.
type room struct {
	at    time.Time
	bytes int64
}

// newLogger makes a logger whose messages out gets, up to so many bytes an hour. The daemon's is standard
// error, wherever OpenLog takes that.
func newLogger(out io.Writer, level logrus.Level, most int64, now func() time.Time) (*logrus.Logger, *logLimit) {
	log := logrus.New()
	log.SetLevel(level)
	log.SetFormatter(newLineFormatter())
	limit := &logLimit{log: log, out: out, most: most, now: now}
	limit.level.Store(&room{now(), most})
	log.SetOutput(limit)
	return log, limit
}

// Write implements io.Writer. A message that is left out is no error. Only the logger calls it, which does so for one message
// after the other.
func (l *logLimit) Write(message []byte) (int, error) {
	if l.most == 0 || l.log.IsLevelEnabled(logrus.DebugLevel) {
		return l.out.Write(message)
	}
	now, size := l.now(), int64(len(message))
	left := l.refilled(now)
	defer func() { l.level.Store(&left) }()
	switch {
	case l.gap == 0 && size <= left.bytes:
	case l.gap > 0 && left.bytes >= max(l.most/logResume, min(size, l.most)):
		l.say(now, "messages were left out", logrus.Fields{"messages": l.gap})
		l.gap = 0
	default:
		if l.gap == 0 {
			l.say(now, "log has reached its limit, leaving messages out", logrus.Fields{"limit": l.most})
		}
		l.gap++
		l.leftOut.Add(1)
		return len(message), nil
	}
	left.bytes -= size
	return l.out.Write(message)
}

// used is how many bytes count towards the limit now. It does not wait.
func (l *logLimit) used() int64 { return l.most - l.refilled(l.now()).bytes }

// refilled is the room with what has become free since then.
func (l *logLimit) refilled(now time.Time) room {
	left := *l.level.Load()
	passed := min(max(now.Sub(left.at), 0), time.Hour)
	free := int64(float64(l.most) * passed.Hours())
	if free > 0 || now.Before(left.at) {
		left = room{now, min(left.bytes+free, l.most)}
	}
	return left
}

// say writes a message of our own: two for each gap, whatever the room. What becomes of it is what becomes of
// the log. It does not go through the logger, which is in the middle of a message.
func (l *logLimit) say(now time.Time, text string, fields logrus.Fields) {
	line, _ := l.log.Formatter.Format(&logrus.Entry{
		Logger: l.log, Time: now, Level: logrus.WarnLevel, Message: text, Data: fields,
	})
	_, _ = l.out.Write(line)
}
