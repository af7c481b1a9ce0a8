package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limitedLog is a log in which every message has 10 bytes.
type limitedLog struct {
	*limitedWriter
	out   bytes.Buffer
	clock time.Time
}

// newLimitedLog makes a log of so many bytes an hour.
func newLimitedLog(most int64) *limitedLog {
	l := &limitedLog{clock: time.Unix(1_700_000_000, 0)}
	log := newLogger(&l.out, logrus.InfoLevel, most, func() time.Time { return l.clock })
	l.limitedWriter = log.Out.(*limitedWriter)
	l.log.SetFormatter(plainFormat{})
	return l
}

type plainFormat struct{}

func (plainFormat) Format(e *logrus.Entry) ([]byte, error) {
	return fmt.Appendf(nil, "%s %v\n", e.Message, e.Data), nil
}

// write writes messages and returns what became of them.
func (l *limitedLog) write(t *testing.T, messages int) string {
	t.Helper()
	l.out.Reset()
	for range messages {
		n := must(l.Write([]byte("a message\n")))(t)
		require.Equal(t, 10, n, "nobody is to try again")
	}
	return l.out.String()
}

const (
	oneMessage = "a message\n"
	full       = "log has reached its limit, leaving messages out map[limit:640]\n"
)

func TestLogLimit(t *testing.T) {
	l := newLimitedLog(640)
	assert.Equal(t, strings.Repeat(oneMessage, 64), l.write(t, 64), "an hour's messages at once")
	assert.Equal(t, full, l.write(t, 3), "it says so once")
	l.clock = l.clock.Add(30 * time.Second)
	assert.Empty(t, l.write(t, 1), "not while there is room for half a message")
	l.clock = l.clock.Add(30 * time.Second)
	assert.Equal(t, "messages were left out map[messages:4]\n"+oneMessage, l.write(t, 1))
	assert.Equal(t, full, l.write(t, 2))
	l.clock = l.clock.Add(time.Hour / 2)
	assert.Equal(t, "messages were left out map[messages:2]\n"+strings.Repeat(oneMessage, 32)+full, l.write(t, 33))
}

func TestLogLimitKeepsTimeThatIsSet(t *testing.T) {
	l := newLimitedLog(640)
	l.write(t, 100)
	l.clock = l.clock.Add(-24 * time.Hour)
	assert.Empty(t, l.write(t, 1))
	l.clock = l.clock.Add(time.Hour)
	assert.Len(t, strings.Split(l.write(t, 100), oneMessage), 65, "an hour later there is an hour's room")
	l.clock = l.clock.Add(1000 * time.Hour)
	assert.Len(t, strings.Split(l.write(t, 100), oneMessage), 65, "there is never more")
}

func TestLogLimitDebug(t *testing.T) {
	everything := strings.Repeat(oneMessage, 1000)
	l := newLimitedLog(640)
	l.log.SetLevel(logrus.DebugLevel)
	assert.Equal(t, everything, l.write(t, 1000), "somebody wants to see all")
}

// A message longer than the limit is not kept back for ever.
func TestLogLimitLongMessage(t *testing.T) {
	l := newLimitedLog(5)
	assert.Contains(t, l.write(t, 1), "leaving messages out")
	l.clock = l.clock.Add(time.Hour)
	assert.Contains(t, l.write(t, 1), oneMessage)
}

// The notices of the daemon's own log look like all its messages.
func TestLogLimitOfTheDaemon(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(&out, logrus.InfoLevel, 1000, time.Now)
	for i := range 100 {
		log.WithField("metric", fmt.Sprint("m", i)).Warn("something")
	}
	assert.Regexp(t, `\ntime=\S+ level=warning msg=log has reached its limit, leaving messages out limit=1000\n$`,
		out.String())
	log.SetLevel(logrus.DebugLevel)
	log.Info("all of it")
	assert.Contains(t, out.String(), "all of it")
}
