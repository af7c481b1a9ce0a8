package command

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/commandline"
)

// A report is written whatever came of the tests, and a run that cannot write it fails.
func TestTestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "x.conf", "x = a + 1\n")
	writeFile(t, "x.test", "metric a 32 instant\ntest good\n given a 1\n expect x 2\ntest bad\n given a 1\n expect x "+
		"3\n")
	writeFile(t, "y.test", "nonsense\n")
	s := &site{t: t, dir: t.TempDir()}
	_, _, exit := s.run("test", "--junit", "report.xml", ".")
	assert.Equal(t, commandline.ExitUsage, exit)
	text := readFile(t, "report.xml")
	assert.Contains(t, string(text), `<testsuites tests="3" failures="1" errors="1">`)
	assert.Contains(t, string(text), `<failure message="expect x">`)
	assert.Contains(t, string(text), `<error message="y.test:1:1: nonsense is not a statement`)

	_, errs := s.fails("test", "--junit", "no/such/report.xml", "--run=good", "x.test")
	assert.Equal(t, "1 test, 0 failed\npmdaderived test: open no/such/report.xml: no such file or directory\n", errs)
}

// The examples are tested, all of them.
func TestExamples(t *testing.T) {
	s := newSite(t)
	s.succeeds("test", "--min-coverage=100", "../../examples")
}

// An option that can have no effect beside the others is an error.
func TestTestOptions(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct {
		options []string
		want    string
	}{
		{[]string{"-a", "../../examples/incident"}, "--archive needs --record"},
		{[]string{"-h", "local:"}, "--host needs --record"},
		{[]string{"-t", "1s"}, "--interval needs --record"},
		{[]string{"--record", "1", "--run", "x"}, "--run cannot be used with --record"},
		{[]string{"--min-coverage", "nan"}, `"nan" is not a percentage from 0 to 100`},
	} {
		_, errs, exit := s.run(append([]string{"test", "../../examples"}, row.options...)...)
		assert.Equal(t, commandline.ExitUsage, exit, row.options)
		assert.Contains(t, errs, row.want)
	}
}

// Escape sequences in titles and names of files do not reach the terminal.
func TestOutputIsClean(t *testing.T) {
	s := newSite(t)
	dir := filepath.Join(s.dir, "a\x1b[31m\u009b")
	writeFile(t, filepath.Join(dir, "x.conf"), "x = 1\n")
	writeFile(t, filepath.Join(dir, "x.test"), "test a\x1b]0;b\x07\n expect x 2\n")
	for _, command := range [][]string{
		{"test", dir}, {"check", "--offline", dir}, {"eval", "-a", dir, "x"}, {"replay", "-a", "../../examples/incident", dir + "/\r"},
	} {
		out, errs, _ := s.run(command...)
		assert.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f]|\x{9b}`, out+errs, command[0])
	}
	out, _, _ := s.run("test", dir)
	assert.Contains(t, out, "a�]0;b�\n")
}
