package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
)

// Each message is one line, in which no text can look like a field or another line, or move a terminal's cursor.
func TestLogLinesCannotBeForged(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(&out, logrus.InfoLevel, logLimit, time.Now)
	for _, row := range []struct{ value, want string }{
		{"open /etc/a b.conf: permission denied", `open /etc/a b.conf: permission denied`},
		{"a\ntime=2026 level=error msg=forged", `"a\ntime=2026 level=error msg=forged"`},
		{"a level=error msg=forged", `"a level=error msg=forged"`},
		{"\x1b[2J\r\x00\x7f", `"\x1b[2J\r\x00\x7f"`},
		{"say \"a\"", `"say \"a\""`},
		{"bad\xffbytes", `"bad\xffbytes"`},
		{"right to left \u202e, line \u2028", `"right to left \u202e, line \u2028"`},
		{"größer", "größer"},
	} {
		out.Reset()
		log.WithError(errors.New(row.value)).WithField("file", row.value).Warn("problem in the definition files")
		_, said, _ := strings.Cut(out.String(), " ")
		assert.Equal(t, "level=warning msg=problem in the definition files error="+row.want+" file="+row.want+"\n",
			said)
	}
	out.Reset()
	log.Warn("one\ntwo")
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
}
