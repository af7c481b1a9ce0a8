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

// volume is a log of 640 bytes an hour, in which every message has 10.
type volume struct {
	*logVolume
	out   bytes.Buffer
	clock time.Time
	debug bool
}

func newVolume(limit int64) *volume {
	v := &volume{clock: time.Unix(1_700_000_000, 0)}
	v.logVolume = newLogVolume(&v.out, limit, func() time.Time { return v.clock }, func() bool { return v.debug },
		func(_ time.Time, text string, fields logrus.Fields) []byte {
			return fmt.Appendf(nil, "%s %v\n", text, fields)
		})
	return v
}

// log writes messages and returns what became of them.
func (v *volume) log(t *testing.T, messages int) string {
	t.Helper()
	v.out.Reset()
	for range messages {
		n, err := v.Write([]byte("a message\n"))
		require.NoError(t, err)
		require.Equal(t, 10, n, "nobody is to try again")
	}
	return v.out.String()
}

const (
	oneMessage = "a message\n"
	full       = "log is as long as it may be for now, leaving messages out map[limit:640]\n"
)

func TestLogVolume(t *testing.T) {
	v := newVolume(640)
	assert.Equal(t, strings.Repeat(oneMessage, 64), v.log(t, 64), "an hour's messages at once")
	assert.Equal(t, full, v.log(t, 3), "it says so once")
	v.clock = v.clock.Add(30 * time.Second)
	assert.Empty(t, v.log(t, 1), "not while there is room for half a message")
	v.clock = v.clock.Add(30 * time.Second)
	assert.Equal(t, "messages were left out map[messages:4]\n"+oneMessage, v.log(t, 1))
	assert.Equal(t, full, v.log(t, 2))
	v.clock = v.clock.Add(time.Hour / 2)
	assert.Equal(t, "messages were left out map[messages:2]\n"+strings.Repeat(oneMessage, 32)+full, v.log(t, 33))
	assert.EqualValues(t, 7, v.leftOut.Load(), "in all")
}

// What counts towards the limit now can be seen, and becomes less by itself.
func TestLogVolumeUsed(t *testing.T) {
	v := newVolume(640)
	assert.Zero(t, v.used())
	v.log(t, 32)
	assert.EqualValues(t, 320, v.used())
	v.clock = v.clock.Add(time.Hour / 4)
	assert.EqualValues(t, 160, v.used())
	v.log(t, 100)
	assert.EqualValues(t, 640, v.used(), "what is left out does not count")
	v.clock = v.clock.Add(2 * time.Hour)
	assert.Zero(t, v.used())
}

func TestLogVolumeKeepsTimeThatIsSet(t *testing.T) {
	v := newVolume(640)
	v.log(t, 100)
	v.clock = v.clock.Add(-24 * time.Hour)
	assert.Empty(t, v.log(t, 1))
	v.clock = v.clock.Add(time.Hour)
	assert.Len(t, strings.Split(v.log(t, 100), oneMessage), 65, "an hour later there is an hour's room")
	v.clock = v.clock.Add(1000 * time.Hour)
	assert.Len(t, strings.Split(v.log(t, 100), oneMessage), 65, "there is never more")
}

func TestLogVolumeUnlimited(t *testing.T) {
	everything := strings.Repeat(oneMessage, 1000)
	v := newVolume(0)
	assert.Equal(t, everything, v.log(t, 1000), "without a limit")
	v = newVolume(640)
	v.debug = true
	assert.Equal(t, everything, v.log(t, 1000), "somebody wants to see all")
}

// A message longer than the limit is not kept back for ever.
func TestLogVolumeLongMessage(t *testing.T) {
	v := newVolume(5)
	assert.Contains(t, v.log(t, 1), "leaving messages out")
	v.clock = v.clock.Add(time.Hour)
	assert.Contains(t, v.log(t, 1), oneMessage)
}

// The notices of the daemon's own log look like all its messages.
func TestLogVolumeOfTheDaemon(t *testing.T) {
	var out bytes.Buffer
	log, written := newLogger(&out, logrus.InfoLevel, 1000)
	for i := range 100 {
		log.WithField("metric", fmt.Sprint("m", i)).Warn("something")
	}
	assert.Positive(t, written.leftOut.Load())
	assert.Regexp(t, `\ntime=\S+ level=warning msg=log is as long as it may be for now, leaving messages out limit=1000\n$`, out.String())
	log.SetLevel(logrus.DebugLevel)
	log.Info("all of it")
	assert.Contains(t, out.String(), "all of it")
}
