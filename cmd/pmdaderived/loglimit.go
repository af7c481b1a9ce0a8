package main

import (
	"io"
	"sync"
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

// logVolume is what a logger writes to: it passes on at most so many bytes an hour, and as much at
// once, and says in their place that messages are left out and how many. One Write is one message. A log
// that somebody has asked to see all of, at level debug, has no limit.
type logVolume struct {
	out       io.Writer
	limit     int64 // bytes an hour; 0: none
	now       func() time.Time
	unlimited func() bool
	notice    func(now time.Time, text string, fields logrus.Fields) []byte

	leftOut atomic.Uint64        // messages, in all
	level   atomic.Pointer[fill] // of the last message; nil: there was none

	mu     sync.Mutex
	room   int64     // guarded by mu, as below: bytes
	filled time.Time // when room was reckoned
	gap    uint64    // messages left out since the last that was written
}

// fill is how many bytes counted towards the limit at a moment.
type fill struct {
	at    time.Time
	bytes int64
}

// newLogVolume makes a writer with all its room. notice makes the text of a message of its own.
func newLogVolume(
	out io.Writer, limit int64, now func() time.Time, unlimited func() bool,
	notice func(time.Time, string, logrus.Fields) []byte,
) *logVolume {
	return &logVolume{
		out: out, limit: limit, now: now, unlimited: unlimited, notice: notice, room: limit, filled: now(),
	}
}

// Write implements io.Writer. A message that is left out is no error.
func (v *logVolume) Write(message []byte) (int, error) {
	if v.limit == 0 || v.unlimited() {
		return v.out.Write(message)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	v.refill(now)
	size := int64(len(message))
	switch {
	case v.gap == 0 && size <= v.room:
	case v.gap > 0 && v.room >= max(v.limit/logResume, min(size, v.limit)):
		v.say(now, "messages were left out", logrus.Fields{"messages": v.gap})
		v.gap = 0
	default:
		if v.gap == 0 {
			v.say(now, "log is as long as it may be for now, leaving messages out", logrus.Fields{"limit": v.limit})
		}
		v.gap++
		v.leftOut.Add(1)
		return len(message), nil
	}
	v.room -= size
	v.level.Store(&fill{now, v.limit - v.room})
	return v.out.Write(message)
}

// used is how many bytes count towards the limit now. It does not wait.
func (v *logVolume) used() int64 {
	last := v.level.Load()
	if last == nil {
		return 0
	}
	return max(last.bytes-v.gained(last.at, v.now()), 0)
}

// gained is how many bytes have become free between two moments.
func (v *logVolume) gained(from, to time.Time) int64 {
	passed := min(max(to.Sub(from), 0), time.Hour)
	return int64(float64(v.limit) * passed.Hours())
}

// refill adds what has become free since the last time.
func (v *logVolume) refill(now time.Time) {
	free := v.gained(v.filled, now)
	if free > 0 || now.Before(v.filled) {
		v.room, v.filled = min(v.room+free, v.limit), now
	}
}

// say writes a message of our own: two for each gap, whatever the room. What becomes of it is what becomes of
// the log.
func (v *logVolume) say(now time.Time, text string, fields logrus.Fields) {
	_, _ = v.out.Write(v.notice(now, text, fields))
}
