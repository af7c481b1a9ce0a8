package command

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/commandline"
)

// A test that is recorded begins at the time of the recording, if a definition depends on that, and can be repeated.
func TestNowIsRecorded(t *testing.T) {
	s := newSite(t)
	age := s.file("age.conf", "a = now()\nw = last_sample(now() - kernel.all.uptime, \"5s\")\n")
	plain := s.file("plain.conf", "a = hinv.ncpu + 1\n")
	out, errs, exit := s.run("test", "--record", "1", age)
	assert.Equal(t, commandline.ExitOK, exit, errs)
	assert.Regexp(t, regexp.MustCompile(`(?m)^    start +\d+\.\d{9}$`), out)
	out, errs, exit = s.run("test", "--record", "1", plain)
	assert.Equal(t, commandline.ExitOK, exit, errs)
	assert.NotContains(t, out, "start")
}

// The time is no constant, and libpcp does not have it.
func TestNowIsChecked(t *testing.T) {
	s := newSite(t)
	path := s.file("now.conf", "a = now() > 1 ? hinv.ncpu : novalue()\nb = now() > 1800000000\n")
	out, errs, exit := s.run("check", path)
	assert.Equal(t, commandline.ExitOK, exit, out+errs)
	assert.NotContains(t, out, "now.conf")
	out, _, _ = s.run("check", "--portable", path)
	assert.Contains(t, out, "now()")
}
