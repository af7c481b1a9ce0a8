package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/growth"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// A file that the agent reads is checked among the others that it reads, and only its own problems are printed.
func TestCheckAmongOtherFiles(t *testing.T) {
	s := newSite(t)
	s.file("early.conf", "early = 1 +\nper.cpu = kernel.all.load / hinv.ncpu\ntwin = 3 * hinv.ncpu\nmine.old = 1\n")
	s.file("zlate.conf", "late = kernel.all.nprocs\nlate.below = 1\nmine.taken = 2\n")
	const uses = "mine.r = derived.per.cpu * 2\nmine.s = per.cpu * 3 + late\n"
	path := s.file("mine.conf", uses)
	writeFile(t, filepath.Join(s.dir, "draft/mine.conf"), uses+"late.x = 1\nper = 2\n")
	draft := filepath.Join(s.dir, "draft/mine.conf")
	link := filepath.Join(s.dir, "link.conf")
	require.NoError(t, os.Symlink(path, link))
	for _, row := range []struct {
		name, text string
		args       []string
		want       string
		errs       string
	}{
		{"all is well", uses, []string{path}, "", "2 definitions, 0 errors\n"},
		{"by another name", uses, []string{link}, "", "2 definitions, 0 errors\n"},
		{"its directory", uses, []string{filepath.Dir(path)}, "early.conf:1:11: syntax error", ""},
		{
			"it takes a place", "mine.old = 5\n",
			[]string{path},
			"PATH:1:1: warning: replaces the definition at DIR/early.conf:4:1 [replaced-definition]", "",
		},
		{
			"its place is taken", "mine.taken = 5\n",
			[]string{path},
			"DIR/zlate.conf:3:1: warning: replaces the definition at PATH:1:1 [replaced-definition]", "",
		},
		{
			"in conflict", "per = 2\n",
			[]string{path},
			"PATH:1:1: derived metric per: the name has other metrics below it", "",
		},
		{
			"the same", "same = 3 * hinv.ncpu\n",
			[]string{path},
			"PATH:1:8: warning: has the same expression as twin [same-expression]", "",
		},
		{
			"a mistake", "mine = per.cup\n",
			[]string{path},
			"PATH:1:8: Semantic error: derived metric mine: operand per.cup: Unknown operand metric", "",
		},
		{"elsewhere", uses, []string{draft}, "draft/mine.conf:4:1: derived metric per: the name has other metrics " +
			"below it", "4 definitions, 2 errors\n"},
		{
			"elsewhere, alone", uses,
			[]string{"-c", "", draft},
			"operand derived.per.cpu: Unknown operand metric",
			"4 definitions, 2 errors\n",
		},
		{"elsewhere, offline", uses, []string{"--offline", draft}, "", "4 definitions, 0 errors (syntax only)\n"},
		{"another configuration", uses, []string{"-c", filepath.Dir(path), link}, "", "2 definitions, 0 errors\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.file("mine.conf", row.text)
			out, errs, _ := s.run(append([]string{"check"}, row.args...)...)
			if row.want == "" {
				assert.Empty(t, out)
			}
			assert.Contains(t, out, strings.NewReplacer("PATH", path, "DIR", filepath.Dir(path)).Replace(row.want))
			if row.errs != "" {
				assert.Equal(t, row.errs, errs)
			}
			assert.NotContains(t, out, "misspelt-operand")
		})
	}
}

// A directory may have files that are deployed and files that are not: each is read once.
func TestCheckPartlyDeployed(t *testing.T) {
	s := newSite(t)
	s.file("early.conf", "early = 7 * hinv.ncpu\n")
	source := filepath.Join(s.dir, "srv")
	writeFile(t, filepath.Join(source, "a.conf"), "a = 2 * hinv.ncpu\nbad = 1 +\n")
	writeFile(t, filepath.Join(source, "b.conf"), "b = a * 3\nworse = 2 +\nearly = 8 * hinv.ncpu\n")
	require.NoError(t, os.Symlink(filepath.Join(source, "a.conf"), filepath.Join(s.dir, "pmdaderived/a.conf")))
	require.NoError(t, os.Chmod(source, 0o775))
	for _, operands := range [][]string{
		{source},
		{source, filepath.Join(source, "b.conf")},
	} {
		out, errs, exit := s.run(append([]string{"check"}, operands...)...)
		for _, text := range []string{"a.conf:2:", "b.conf:2:", source + ": warning: its group can write to it"} {
			assert.Equal(t, 1, strings.Count(out, text), "%s in %s", text, out)
		}
		assert.Equal(t, "5 definitions, 2 errors, 1 warning\n", errs, out)
		assert.Equal(t, commandline.ExitFailure, exit)
	}
}

// A draft that is checked with a file of the agent is a draft all the same.
func TestCheckDraftWithAnother(t *testing.T) {
	s := newSite(t)
	s.file("early.conf", "early = 7 * hinv.ncpu\n")
	a := s.file("a.conf", "a = 2 * hinv.ncpu\n")
	draft := filepath.Join(s.dir, "draft/mine.conf")
	writeFile(t, draft, "early = 8 * hinv.ncpu\n")
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755)) // testing makes it for us alone
	require.NoError(t, os.Chmod(filepath.Dir(draft), 0o700))
	s.user = "nobody"
	out, errs, _ := s.run("check", "--ignore=unread", draft, a)
	assert.NotContains(t, out, "replaced-definition", errs)
	assert.NotContains(t, out, filepath.Dir(draft))

	writeFile(t, draft, "a = 8 * hinv.ncpu\n")
	out, errs, _ = s.run("check", draft, a)
	assert.Contains(t, out, draft+":1:1: warning: replaces the definition at "+a+":1:1 [replaced-definition]", errs)
	s.file("a.conf", "first = 2 * hinv.ncpu\n")
	s.file("zlate.conf", "first = 3 * hinv.ncpu\n")
	out, errs, _ = s.run("check", draft, a)
	assert.Contains(t, out, "zlate.conf:1:1: warning: replaces the definition at "+a+":1:1 [replaced-definition]", errs)
}

// An archive that the command line names must be there, also if no definition needs it.
func TestCheckWithoutArchive(t *testing.T) {
	s := newSite(t)
	full, empty := s.file("full.conf", "a = hinv.ncpu\n"), s.file("empty.conf", "# none\n")
	for _, path := range []string{full, empty} {
		for _, archive := range []string{"nosuch", s.dir, filepath.Join(s.dir, "*")} {
			out, errs := s.fails("check", "-a", archive, path)
			assert.Empty(t, out)
			assert.Contains(t, errs, "archive", archive)
		}
	}
	for _, source := range [][]string{{"-a", "nosuch"}, {"-h", "local:"}} {
		_, errs, exit := s.run(append([]string{"check", "--offline", full}, source...)...)
		assert.Equal(t, commandline.ExitUsage, exit)
		assert.Contains(t, errs, "--offline cannot be used with -a or -h")
	}
	_, errs, exit := s.run("check", "--offline", "--werror=unread", "--ignore=unread", full)
	assert.Equal(t, commandline.ExitUsage, exit)
	assert.Contains(t, errs, "--werror and --ignore cannot have the same code")
}

// A path of -c must be there.
func TestPathsMustExist(t *testing.T) {
	s := newSite(t)
	none := filepath.Join(s.dir, "none")
	for _, command := range [][]string{
		{"eval", "hinv.ncpu"},
		{"explain", "hinv.ncpu + 1"},
		{"replay", "-a", "../../examples/incident", filepath.Join(s.dir, "out")},
	} {
		_, errs := s.fails(append(command, "-c", none+":"+s.dir)...)
		assert.Contains(t, errs, none+": no such file or directory")
	}
}

// Without a pmcd the syntax can be checked all the same; it is an error if that pmcd was asked for.
func TestCheckWithoutPMCD(t *testing.T) {
	s := newSite(t)
	s.pmcd = ""
	path := s.file("site.conf", "a = no.such\n")
	out, errs, exit := s.run("check", path)
	assert.Equal(t, commandline.ExitOK, exit, errs)
	assert.Empty(t, out)
	const reason = "pmdaderived check: pmcd does not run: nothing listens at unix:/nonexistent/socket. " +
		"Start it (systemctl start pmcd), or name another one with -h\n"
	assert.Equal(t, reason+"1 definition, 0 errors (syntax only)\n", errs)
	_, _ = s.fails("check", "--pmcd", "unix:/nonexistent/socket", path)
}

// The commands read what the agent's line in pmcd.conf names, unless -c names something else.
func TestPathsOfAgent(t *testing.T) {
	s := newSite(t)
	mine, other := filepath.Join(s.dir, "mine.conf"), filepath.Join(s.dir, "other.conf")
	writeFile(t, mine, "site.a = 1\n")
	writeFile(t, other, "site.a = 2\n")
	s.file("site.conf", "site.a = 3\n")
	value := func(options ...string) string {
		t.Helper()
		return strings.TrimSpace(s.succeeds(append([]string{"eval", "site.a"}, options...)...))
	}
	assert.Equal(t, "site.a\n    value 3", value())
	line := "derived 510 pipe binary %s/opt/pmdaderived --interval 5s -V --mmv=off -U pcp %s " + mine + " --protect proc\n"
	for _, option := range []string{"-c", "--config"} {
		writeFile(t, filepath.Join(s.dir, "pmcd.conf"), "# pmdaderived -c "+other+"\nlinux 60 dso linux_init pmda.so\n\n"+
			fmt.Sprintf(line, "", option))
		assert.Equal(t, "site.a\n    value 1", value())
		assert.Equal(t, "site.a\n    value 2", value("-c", other))
	}
	writeFile(t, filepath.Join(s.dir, "pmcd.conf"), `derived 510 pipe binary "/opt/pmdaderived" "-c" "`+other+"\"\n")
	assert.Equal(t, "site.a\n    value 2", value(), "quoted words")
	writeFile(t, filepath.Join(s.dir, "pmcd.conf"), fmt.Sprintf(line, "", "-c"))
	out, _, _ := s.run("check", s.file("draft.conf", "site.a = 4\n"))
	assert.NotContains(t, out, "site.conf")
	assert.Contains(t, s.succeeds("check", mine, other), "replaces the definition at "+mine)
}

// The paths of all options -c are read, of a sub-command and of the agent's line.
func TestRepeatedPaths(t *testing.T) {
	s := newSite(t)
	one, two := filepath.Join(s.dir, "one.conf"), filepath.Join(s.dir, "two.conf")
	writeFile(t, one, "site.one = 1\n")
	writeFile(t, two, "site.two = 2\n")
	const both = "\nsite.one\n    value 1\n\nsite.two\n    value 2\n"
	assert.Equal(t, both, s.succeeds("eval", "-c", one, "--config="+two, "site.one", "site.two"))
	_, errs, _ := s.run("check", "--offline", "-c", one, "-c", two)
	assert.Equal(t, "2 definitions, 0 errors (syntax only)\n", errs)
	writeFile(t, filepath.Join(s.dir, "pmcd.conf"), "derived 510 pipe binary /opt/pmdaderived -c "+one+" -c "+two+"\n")
	assert.Equal(t, both, s.succeeds("eval", "site.one", "site.two"))
}

// PCP_HOST counts as -h wherever pmcd is asked.
func TestHostVariable(t *testing.T) {
	s := newSite(t)
	s.host = "unix:/nonexistent/other"
	path := s.file("site.conf", "a = hinv.ncpu\n")
	for _, command := range [][]string{
		{"check", path}, {"explain", "a"}, {"eval", "a"}, {"test", "--record=1", path},
	} {
		_, errs := s.fails(command...)
		assert.Contains(t, errs, "nothing listens at unix:/nonexistent/other", command)
	}
	s.succeeds("check", "--offline", path)
	_, errs, exit := s.run("eval", "-h", "local:", "a")
	assert.Equal(t, commandline.ExitUsage, exit)
	assert.Contains(t, errs, "too many hosts requested: unix:/nonexistent/other and local:\n")
	for _, two := range [][]string{
		{"-h", "local:", "--pmcd", "unix:/x"},
		{"--pmcd", "local:", "-h", "unix:/x"},
		{"--pmcd", "local:", "--pmcd", "unix:/x"},
		{"-h", "local:", "-h", "unix:/x"},
	} {
		s.host = ""
		_, errs, exit := s.run(slices.Concat([]string{"eval"}, two, []string{"a"})...)
		assert.Equal(t, commandline.ExitUsage, exit, two)
		assert.Contains(t, errs, "too many hosts requested: local: and unix:/x\n", two)
	}
	s.host = "unix:/nonexistent/other"
	_, errs = s.fails("eval", "--pmcd", "unix:/nonexistent/third", "a")
	assert.Contains(t, errs, "nothing listens at unix:/nonexistent/third")
}

// check reports a definition with more operands than the agent samples for one metric.
func TestCheckOfTooManyOperands(t *testing.T) {
	s := newSite(t)
	many := make([]string, 4001)
	s.collector.Update(func() {
		for i := range many {
			m := s.collector.Metrics[1]
			m.Name = "many.m" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + strings.Repeat("y", i/40)
			m.Desc.PMID = pdu.NewPMID(61, i/1000, i%1000)
			s.collector.Metrics = append(s.collector.Metrics, m)
			many[i] = m.Name
		}
	})
	out, _ := s.fails("check", s.file("site.conf", "all = "+strings.Join(many, " + ")+"\n"))
	assert.Contains(t, out, "site.conf:1:7: derived metric all: 4001 operands, but at most 4000")
}

func TestSubCommandUsage(t *testing.T) {
	s := newSite(t)
	for _, c := range SubCommands() {
		t.Run(c.Name, func(t *testing.T) {
			out, errs, exit := s.run(c.Name, "--help")
			assert.Equal(t, commandline.ExitOK, exit, errs)
			assert.Empty(t, errs)
			assert.Contains(t, out, strings.TrimRight("Usage: pmdaderived "+c.Name+" [options] "+c.Operands, " ")+"\n")

			out, errs, exit = s.run(c.Name, "--nosuch")
			assert.Equal(t, commandline.ExitUsage, exit)
			assert.Empty(t, out)
			assert.Equal(t, "pmdaderived "+c.Name+": unknown option --nosuch\nTry \"pmdaderived "+c.Name+" --help\".\n",
				errs)

			for _, option := range []string{"-h", "--host", "--pmcd"} {
				_, _, exit = s.run(c.Name, option, "pcp://")
				assert.Equal(t, commandline.ExitUsage, exit, option)
			}
		})
	}
}

// brokenWriter is a stdout that nobody reads any more.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// A comment may have thousands of codes that do not exist: the first ones are told.
func TestUnknownCodesAreBounded(t *testing.T) {
	s := newSite(t)
	path := s.file("codes.conf", "# pmdaderived:ignore"+strings.Repeat(" nosuch", 10*maxUnknownCodes)+"\nm = hinv.ncpu * 3\n")
	out, _, _ := s.run("check", "--all", path)
	assert.Equal(t, maxUnknownCodes, strings.Count(out, "which is not a valid code"))
}

// Thousands of names that do not exist on a host with thousands of metrics get suggestions until that would take long.
func TestSuggestionsAreBounded(t *testing.T) {
	s := newSite(t)
	var text strings.Builder
	for i := range 2000 {
		s.collector.Metrics = append(s.collector.Metrics, pmapitest.Metric{
			Name: fmt.Sprint("many.x", i), Desc: pdu.Desc{PMID: pdu.NewPMID(61, i>>10, i&1023), InDom: pdu.NoInDom},
		})
		fmt.Fprintf(&text, "m%d = many.y%d\n", i, i)
	}
	path := s.file("many.conf", text.String())
	var out string
	assert.Less(t, growth.Bytes(func() { out, _, _ = s.run("check", path) }), uint64(200<<20))
	assert.Contains(t, out, "did you mean many.x0?")
}

// Output that cannot be written is an error of each command with its cause, also where the command has others to tell.
func TestOutputThatCannotBeWritten(t *testing.T) {
	s := newSite(t)
	wrong := s.file("wrong.conf", "a = 1 +\n")
	s.file("a.conf", "a = 1\n")
	failing := s.file("a.test", "test one\n  expect a  2\n")
	for _, row := range []struct {
		args []string
		want string // before the cause
	}{
		{[]string{"check", "--help"}, ""},
		{[]string{"check", "--offline", wrong}, "1 definition, 1 error\n"},
		{[]string{"test", failing}, "1 test, 1 failed\n"},
	} {
		var errs strings.Builder
		exit, _ := Program{Getenv: environment(), Stdout: brokenWriter{}, Stderr: &errs}.Run(t.Context(), row.args)
		assert.Equal(t, commandline.ExitFailure, exit, row.args)
		assert.Equal(t, row.want+"pmdaderived "+row.args[0]+": nobody reads\n", errs.String(), row.args)
	}
}

func TestCaretLine(t *testing.T) {
	assert.Equal(t, "^", config.Caret("", 0))
	assert.Equal(t, "   ^", config.Caret("abcd", 3))
	assert.Equal(t, " \t ^", config.Caret("a\té+b", 4), "as wide as what is above it")
	assert.Equal(t, "  ^", config.Caret("ab", 9))
}

// Every command that connects describes a failed connection in words of PCP.
func TestUnreachable(t *testing.T) {
	s := newSite(t)
	s.pmcd = ""
	path := s.file("site.conf", "a = hinv.ncpu\n")
	for _, command := range [][]string{
		{"check", path},
		{"explain", "a"},
		{"eval", "a"},
		{"test", "--record", "1", path},
	} {
		_, errs, _ := s.run(command...)
		assert.Contains(t, errs, "pmdaderived "+command[0]+": pmcd does not run: nothing listens at "+
			"unix:/nonexistent/socket.", command)
		assert.NotContains(t, errs, "dial ")
	}
}

// Reading from standard input leaves no file behind.
func TestCheckStandardInput(t *testing.T) {
	s := newSite(t)
	s.stdin = "a = hinv.ncpu\n"
	t.Setenv("TMPDIR", s.dir)
	s.succeeds("check", "-")
	left := must(filepath.Glob(filepath.Join(s.dir, "pmdaderived-*")))(t)
	assert.Empty(t, left)
}

// Of many problems only the first of each file are printed, and how many more there are.
func TestCheckManyProblems(t *testing.T) {
	s := newSite(t)
	many := strings.Repeat("no\n", 99) + "a = 1 +\nb = 2 +\nc = 0 * hinv.ncpu\nd = 0 * kernel.all.nprocs\n"
	first, second := s.file("a.conf", many+"#control x\n"), s.file("b.conf", strings.Repeat("no\n", 100))
	out, errs, exit := s.run("check", first, second)
	assert.Equal(t, 198, strings.Count(out, "\n  ^\n"))
	assert.Equal(t, 2, strings.Count(out, ":1:3: note: write NAME = EXPRESSION for a definition"))
	assert.Contains(t, out, "\n"+first+": and 2 errors, 2 warnings, 1 note more; --all shows them\n"+second+":1:3: ")
	assert.Contains(t, out, second+": and 1 error more; --all shows them\n")
	assert.Equal(t, "4 definitions, 201 errors, 2 warnings\n", errs)
	assert.Equal(t, commandline.ExitFailure, exit)
	_, errs, _ = s.run("check", s.file("c.conf", "a = 1 +\n"))
	assert.Equal(t, "1 definition, 1 error\n", errs, "there was nothing to ask pmcd")
	out, _, _ = s.run("check", "--all", first)
	assert.NotContains(t, out, "--all")
	assert.Contains(t, out, first+":103:5: warning: ")
	out, _, _ = s.run("check", "--json", first)
	assert.Equal(t, 105, strings.Count(out, `"line":`))
}
