package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/pdu"
)

// docs/linting.md has every code: as a heading of level four, below which the first block provokes the warning and the
// others give none at all, or in the table of those about files.
func TestLintingPage(t *testing.T) {
	const page = "../../docs/linting.md"
	text := readFile(t, page)
	for _, code := range warningCodes() {
		assert.Contains(t, string(text), "`"+code+"`")
	}
	explained := map[string]bool{}
	for i, p := range partsOf(t, page) {
		if p.heading == "" {
			continue
		}
		explained[p.heading] = true
		require.GreaterOrEqual(t, len(p.blocks), 2, p.heading)
		for j, block := range p.blocks {
			t.Run(fmt.Sprintf("%d.%d %s", i, j, p.heading), func(t *testing.T) {
				s := newSite(t)
				path := filepath.Join(t.TempDir(), "lint.conf")
				writeFile(t, path, block)
				args := []string{"check", path}
				if p.heading == string(lint.NotPortable) {
					args = append(args, "--portable", "--ignore=zero-divisor")
				}
				out, errs, _ := s.run(args...)
				if j == 0 {
					assert.Contains(t, out, "["+p.heading+"]\n")
				} else {
					assert.Empty(t, out, errs)
				}
			})
		}
	}
	for _, code := range lint.Codes() {
		assert.True(t, explained[string(code)], code)
	}
}

// An expression has twenty warnings of one kind at most.
func TestCheckWarningsOfOneKind(t *testing.T) {
	s := newSite(t)
	out, _, _ := s.run("check", s.file("site.conf", "a = "+strings.Repeat("0 * hinv.ncpu + ", 30)+"1\n"))
	assert.Contains(t, out, "always-zero]")
	assert.LessOrEqual(t, strings.Count(out, "always-zero]"), 20)
}

// So has what is wrong with files and directories as a whole.
func TestCodesOfFiles(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/1": "a = 1\na(oneline) = b\n", "b/1": "a = 2\na(oneline) = b\n", "c/1": "a(oneline) = c\n",
		"many/1": strings.Repeat("no\n", config.MaxProblems+1), "writable/1": "d = 1\n", "clone/README": "read me\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "writable/1"), 0o664))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "linked"), 0o755))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "linked/again")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pipes"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipes/1"), 0o600))
	for _, row := range []struct{ paths, code, severity string }{
		{"a b", "replaced-definition", "warning"},
		{"a c", "replaced-text", "note"},
		{"many", "more-problems", "note"},
		{"writable", "group-writable", "warning"},
		{"linked", "linked-directory", "warning"},
		{"pipes", "not-regular", "note"},
		{"clone", "left-out", "note"},
	} {
		t.Run(row.code, func(t *testing.T) {
			args := []string{"check", "--offline", "--all", "--ignore=same-expression"}
			for path := range strings.FieldsSeq(row.paths) {
				args = append(args, filepath.Join(dir, path))
			}
			out, _, _ := s.run(args...)
			assert.Regexp(t, "(?m): "+row.severity+": .* \\["+row.code+"\\]$", out)
			out, _, _ = s.run(append(args, "--ignore="+row.code)...)
			assert.NotContains(t, out, row.code)
			out, _, exit := s.run(append(args, "--werror="+row.code)...)
			assert.Regexp(t, "(?m): error: .* \\["+row.code+"\\]$", out)
			assert.Equal(t, commandline.ExitFailure, exit)
		})
	}
}

// check does not read a file that another user has put into a directory with mode 1777, as the agent does not.
func TestCheckInASharedDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make files of other users")
	}
	s := newSite(t)
	dir := t.TempDir()
	for _, name := range []string{"ours", "theirs"} {
		writeFile(t, filepath.Join(dir, name), name+" = 1\n")
	}
	require.NoError(t, os.Chown(filepath.Join(dir, "theirs"), 65534, 65534))
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	out, errs, exit := s.run("check", "--offline", dir)
	assert.Contains(t, out, "theirs: another user owns it")
	assert.Contains(t, errs, "1 definition, 1 error")
	assert.Equal(t, commandline.ExitFailure, exit)
}

// check warns of definitions that clients cannot compute if asked to, and always in files that clients read themselves.
func TestCheckPortable(t *testing.T) {
	s := newSite(t)
	const text = "site.a = sqrt(hinv.ncpu)\nsite.b = hinv.ncpu > 1 ? mem.util.free : 0\nsite.c = site.a + 1\n" +
		"site.d = defined(hinv.ncpu) ? hinv.ncpu : novalue()\nsite.e = hinv.ncpu > 1 ? hinv.ncpu : 0\n" +
		"site.f = rescale(mkconst(1, units=\"power (W)\"), \"power (mW)\")\n" +
		"site.g = hinv.ncpu \\\n+ 2\nsite.g(labels) = {\"team\": \"db\"}\n"
	const labels = "site.g(labels) = {\"team\":\"db\"}\n       ^"
	ours := []string{"site.a = sqrt", "site.b = hinv.ncpu > 1 ? mem.util.free : 0", "site.c = site.a", labels}
	seven := []string{"site.d = ", "site.f = ", "+ 2"}
	told := func(args ...string) (found []string) {
		out, _, _ := s.run(append([]string{"check", "--ignore=constant-expression"}, args...)...)
		for _, begin := range append(slices.Clone(ours), append(seven, "site.e = ")...) {
			if strings.Contains(out, "[not-portable]\n"+begin) {
				found = append(found, begin)
			}
		}
		return found
	}
	path := s.file("site.conf", text)
	assert.Empty(t, told(path))
	assert.Equal(t, append(slices.Clone(ours), seven...), told("--portable", path))
	assert.Equal(t, []string{"site.a = sqrt", "site.c = site.a", labels, "site.d = ", "site.f = ", "+ 2"},
		told("--portable", "--offline", path))

	require.NoError(t, os.Remove(path))
	path = filepath.Join(s.dir, "config", "derived", "site.conf")
	writeFile(t, path, text)
	assert.Equal(t, ours, told(path))
	for _, version := range []string{"5.3.7", "6.0.3"} {
		s.version = version
		assert.Equal(t, append(slices.Clone(ours), seven...), told(path), version)
	}
	assert.Equal(t, append(slices.Clone(ours), seven...), told())
	s.version = "6.3.8"
	assert.Equal(t, append(slices.Clone(ours), "site.f = "), told())
	s.version = "7.2.1"
	assert.Equal(t, ours, told())
	assert.Equal(t, ours, told("--portable"), "it is in config/derived, and not named")
	assert.Equal(t, append(slices.Clone(ours), seven...), told("--portable", path))

	require.NoError(t, os.Remove(path))
	path = filepath.Join(s.dir, "config", "pmdaderived", "site.conf")
	writeFile(t, path, text)
	assert.Empty(t, told("--portable"), "it is in config/pmdaderived, and not named")
	assert.Equal(t, append(slices.Clone(ours), seven...), told("--portable", path))
}

// Definitions that nobody should edit have notes, also if PCP's directory has only a link to their file.
func TestCheckShippedMistakes(t *testing.T) {
	s := newSite(t)
	const text = "site.a = rate(sum(disk.dev.total))\nsite.b = rate(kernel.all.cpu.user) / 1000\n" +
		"site.c = rate(proc.psinfo.utime) / (kernel.all.uptime - proc.psinfo.start_time)\n" +
		"site.d = kernel.all.load[1 minute] / kernel.all.load[5 minute]\n"
	codes := []string{"change-of-aggregate", "divided-rate-of-time", "change-over-age", "different-instances"}
	own := s.file("site.conf", text)
	shipped := filepath.Join(s.dir, "etc", "derived", "shipped.conf")
	writeFile(t, shipped, text)
	links := filepath.Join(s.dir, "config", "derived")
	require.NoError(t, os.MkdirAll(links, 0o755))
	require.NoError(t, os.Symlink(shipped, filepath.Join(links, "shipped.conf")))
	for _, row := range []struct{ severity, args string }{
		{"warning", "-c " + own}, {"note", "-c " + links},
	} {
		out, _, _ := s.run(append([]string{"check"}, strings.Fields(row.args)...)...)
		for _, code := range codes {
			assert.Regexp(t, "(?m): "+row.severity+": .* \\["+code+"\\]$", out, row.args)
		}
	}
	writeFile(t, own, "# pmdaderived:ignore "+strings.Join(codes, " ")+"\n"+strings.ReplaceAll(text, "\nsite",
		"\n# pmdaderived:ignore "+strings.Join(codes, " ")+"\nsite"))
	out, _, _ := s.run("check", "-c", own)
	assert.Empty(t, out)
}

// Every problem has a code.
func TestCodes(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct{ code, text string }{
		{definitions.CodeSyntax, "a = 1 +\n"},
		{definitions.CodeSemantics, "a = 1 + kernel.uname.nodename\n"},
		{definitions.CodeUnknown, "a = no.such.metric\n"},
		{definitions.CodeUnknown, "b = no.such.metric\na = b\n"},
		{definitions.CodeName, "a.b = 1\na = 2\n"},
		{definitions.CodeLine, "a\n"},
		{"continued-comment", "# a \\\nb\n"},
		{"control-option", "#control a=b\n"},
		{"control-line", "#control a\n"},
		{"extra-text", "a = 1\na(oneline) = 'b' c\n"},
		{"invalid-text", "a = 1\na(oneline) = \xff\n"},
		{"unread", ""},
	} {
		t.Run(row.code, func(t *testing.T) {
			path := s.file("site.conf", row.text)
			if row.text == "" {
				path = filepath.Join(s.dir, "nosuch")
			}
			out, _, _ := s.run("check", "--json", path)
			assert.Contains(t, out, `"code": "`+row.code+`"`)
		})
	}
	assert.Equal(t, definitions.CodeUnavailable, definitions.CodeOf(&config.Problem{Err: unavailable(t)}))
}

// unavailable is the error of a definition whose operand is there and cannot be described.
func unavailable(t *testing.T) error {
	t.Helper()
	d := must(derived.Parse("a", "x"))(t)
	return derived.Language{}.NewSet([]*derived.Definition{d}, refusing{}, "").Metrics()[0].Err
}

type refusing struct{}

func (refusing) Desc(string) (pdu.Desc, error) { return pdu.Desc{}, pdu.ErrAppVersion }
