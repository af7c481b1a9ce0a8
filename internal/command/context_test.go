package command

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/commandline"
)

// A test sees the agent's definitions only if it names their file, and its coverage is that of the other files.
func TestAgentFilesInTests(t *testing.T) {
	s := newSite(t)
	host := s.file("host.conf", "host.load = kernel.all.load / 2\nhost.more = 1\n")
	mine := filepath.Join(s.dir, "mine")
	writeFile(t, filepath.Join(mine, "site.conf"), "site.load = 100 * max(host.load)\n")
	const test = "metric kernel.all.load FLOAT instant 60.2\nindom 60.2 a\n" +
		"test a\n given kernel.all.load[a] 3\n expect site.load 150\n"
	path := filepath.Join(mine, "site.test")
	writeFile(t, path, test)
	out, _ := s.fails("test", path)
	assert.Contains(t, out, "operand host.load: Unknown operand metric")

	writeFile(t, path, "definitions "+host+" site.conf\n"+test+" expect host.load[a] 1.5\n")
	want := filepath.Join(mine, "site.conf") + ": 1 of 1 definition (100.0 %) tested\n"
	assert.Equal(t, want, s.succeeds("test", "--min-coverage=100", path))
	s.file("host.test", "test b\n expect host.more 1\n")
	out = s.succeeds("test", "--coverage", filepath.Dir(host), path)
	assert.Contains(t, out, host+": 2 of 2 definitions (100.0 %) tested\n", "its directory is named")
}

// The agent's files are those of its line in pmcd.conf, and context for what -c names.
func TestContextOfAgentLine(t *testing.T) {
	s := newSite(t)
	s.file("site.conf", "host.a = 1\n")
	other, mine := filepath.Join(s.dir, "other.conf"), filepath.Join(s.dir, "mine.conf")
	writeFile(t, other, "host.a = 2\n")
	writeFile(t, mine, "mine.a = host.a * 10\n")
	assert.Equal(t, "\nmine.a\n    value 10\n", s.succeeds("eval", "-c", mine))
	writeFile(t, filepath.Join(s.dir, "pmcd.conf"), "derived 510 pipe binary /opt/pmdaderived -c "+other+"\n")
	assert.Equal(t, "\nmine.a\n    value 20\n", s.succeeds("eval", "-c", mine))
	s.succeeds("check", mine)
	out, _ := s.fails("check", "-c=", mine)
	assert.Contains(t, out, "operand host.a: Unknown operand metric")
}

// A file that is named is read, wherever it is, and only once.
func TestNamedFiles(t *testing.T) {
	s := newSite(t)
	s.file("site.conf", "a = 2 * hinv.ncpu\nbad = 1 +\n")
	folder := filepath.Join(s.dir, "pmdaderived")
	for _, row := range []struct {
		operands []string
		want     string
	}{
		{[]string{s.file("site.conf.bak", "a = 1 +\nb = 3 * hinv.ncpu\n")}, "2 definitions, 1 error\n"},
		{[]string{filepath.Join(folder, "none.conf")}, "0 definitions, 1 error\n"},
		{[]string{filepath.Join(folder, "site.conf"), folder}, "2 definitions, 1 error\n"},
		{[]string{folder, filepath.Join(folder, "site.conf")}, "2 definitions, 1 error\n"},
		{[]string{s.dir + "/pmdaderived/../pmdaderived"}, "2 definitions, 1 error\n"},
	} {
		_, errs, exit := s.run(append([]string{"check"}, row.operands...)...)
		assert.Equal(t, row.want, errs, row.operands)
		assert.Equal(t, commandline.ExitFailure, exit, row.operands)
	}
}
