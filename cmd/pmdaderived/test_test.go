package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tests makes a directory with definitions and tests the current one.
func tests(t *testing.T, files map[string]string) *site {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		writeFile(t, filepath.Join(".", name), text)
	}
	return &site{t: t, dir: t.TempDir()}
}

const (
	goodTest = "metric a 32 instant\ntest good\n given a 1\n expect x 2\n"
	badTest  = "metric a 32 instant\ntest good\n given a 1\n expect x 2\ntest bad\n given a 1\n expect x 3\n"
)

// What the exit status says, and where it is said why.
func TestTest(t *testing.T) {
	const definitions = "x = a + 1\ny = 2\n"
	for _, row := range []struct {
		name      string
		files     map[string]string
		args      string
		exit      int
		out, errs string
	}{
		{
			"passed",
			map[string]string{"x.conf": definitions, "x.test": goodTest},
			"x.test",
			exitOK, "", "1 test, 0 failed\n",
		},
		{
			"failed",
			map[string]string{"x.conf": definitions, "x.test": badTest},
			"x.test",
			exitFailure, "FAIL  x.test:5: bad\n      x.test:7:9: expect x\n              expected  got\n          0s  3         2\n", "2 tests, 1 failed\n",
		},
		{
			"verbose",
			map[string]string{"x.conf": definitions, "x.test": goodTest},
			"-v x.test",
			exitOK, "ok    x.test:2: good\n", "1 test, 0 failed\n",
		},
		{
			"chosen",
			map[string]string{"x.conf": definitions, "x.test": badTest},
			"-v --run ^go+d x.test",
			exitOK, "ok    x.test:2: good\n", "1 test, 0 failed\n",
		},
		{
			"directory",
			map[string]string{"d/x.conf": definitions, "d/x.test": goodTest, "d/e/x.conf": definitions, "d/e/x.test": badTest},
			"--verbose --run good d",
			exitOK, "ok    d/e/x.test:2: good\nok    d/x.test:2: good\n", "2 tests, 0 failed\n",
		},
		{
			"named by the definitions",
			map[string]string{"d/x.conf": definitions, "d/x.test": goodTest},
			"-v d/x.conf",
			exitOK, "ok    d/x.test:2: good\n", "1 test, 0 failed\n",
		},
		{
			"definitions that are named",
			map[string]string{"a/1": "x = a\n", "a/2": definitions, "t/x.test": "definitions ../a/1 ../a/2\n" + goodTest},
			"t/x.test",
			exitOK, "", "1 test, 0 failed\n",
		},
		{
			"definitions of a directory",
			map[string]string{"x.conf": definitions, "x.test": "definitions .\n" + goodTest},
			"x.test",
			exitOK, "", "1 test, 0 failed\n",
		},
		{
			"coverage",
			map[string]string{"x.conf": definitions, "x.test": goodTest},
			"--coverage x.test",
			exitOK, "x.conf: 1 of 2 definitions (50.0 %) tested\n    x.conf:2:1: y\n", "1 test, 0 failed\n",
		},
		{
			"coverage of a directory",
			map[string]string{"d/x.conf": definitions, "d/z.conf": "z = 1\n", "d/x.test": goodTest},
			"--coverage d",
			exitOK, "d/x.conf: 1 of 2 definitions (50.0 %) tested\n    d/x.conf:2:1: y\n" +
				"d/z.conf: 0 of 1 definition (0.0 %) tested\n    d/z.conf:1:1: z\nall: 1 of 3 definitions (33.3 %) tested\n", "1 test, 0 failed\n",
		},
		{
			"coverage of a definition that is replaced",
			map[string]string{"a": "x = a\n", "b": "x = a + 1\n", "x.test": "definitions a b\n" + goodTest},
			"--coverage x.test",
			exitOK, "a: 0 of 1 definition (0.0 %) tested\n    a:1:1: x\nb: 1 of 1 definition (100.0 %) tested\nall: 1 of 2 definitions (50.0 %) tested\n",
			"1 test, 0 failed\n",
		},
		{
			"coverage of the tests that run",
			map[string]string{"x.conf": "x = a + 1\n", "x.test": goodTest},
			"--run=bad --coverage x.test",
			exitFailure, "x.conf: 0 of 1 definition (0.0 %) tested\n    x.conf:1:1: x\n",
			"0 tests, 0 failed\npmdaderived test: the title of no test matches \"bad\"\n",
		},
		{
			"coverage of two files with tests",
			map[string]string{
				"x.conf": definitions, "x.test": goodTest,
				"y.test": "definitions x.conf\nmetric a 32 instant\ntest small\n given a 0\n expect y 2\n",
			},
			"--coverage x.test y.test",
			exitOK, "x.conf: 2 of 2 definitions (100.0 %) tested\n", "2 tests, 0 failed\n",
		},
		{
			"enough coverage",
			map[string]string{"x.conf": definitions, "x.test": goodTest},
			"--min-coverage=50 x.test",
			exitOK, "x.conf: 1 of 2 definitions (50.0 %) tested\n    x.conf:2:1: y\n", "1 test, 0 failed\n",
		},
		{
			"too little coverage",
			map[string]string{"x.conf": definitions, "x.test": goodTest},
			"--min-coverage=50.1 x.test",
			exitFailure, "x.conf: 1 of 2 definitions (50.0 %) tested\n    x.conf:2:1: y\nless than 50.1 %\n", "1 test, 0 failed\n",
		},
		{
			"no definitions",
			map[string]string{"x.conf": "# later\n", "x.test": "metric a 32 instant\ntest t\n given a 1\n expect a 1\n"},
			"--coverage x.test",
			exitFailure, "FAIL  x.test:2: t\n      x.test:4:9: expect a\n          no definition of that name\nthere are no definitions to test\n", "1 test, 1 failed\n",
		},
		{
			"no definitions, of which a part must be tested",
			map[string]string{"d/x.conf": "", "d/x.test": "metric a 32 instant\n"},
			"--min-coverage=1 d",
			exitFailure, "there are no definitions to test\n", "0 tests, 0 failed\n",
		},
		{
			"a mistake in the definitions",
			map[string]string{"x.conf": "x = a + 1\ny = 2 +\n", "x.test": goodTest},
			"-v x.test",
			exitFailure, "x.conf:2:7: syntax error: Arithmetic expression expected to follow PLUS\ny = 2 +\n      ^\nok    x.test:2: good\n", "1 test, 0 failed\n",
		},
		{
			"a mistake in the definition",
			map[string]string{"x.conf": "x = a +\n", "x.test": goodTest},
			"x.test",
			exitFailure, `x.conf:1:7: syntax error: Arithmetic expression expected to follow PLUS
x = a +
      ^
FAIL  x.test:2: good
      x.test:4:9: expect x
          x.conf:1:7: syntax error: Arithmetic expression expected to follow PLUS
          x = a +
                ^
`, "1 test, 1 failed\n",
		},
		{
			"a mistake that several tests meet",
			map[string]string{"x.conf": "x = a + 1\ny = rat(a)\n", "x.test": goodTest, "z.test": "definitions x.conf\n" + goodTest},
			".",
			exitFailure, `x.conf:2:9: syntax error: Unexpected '('
y = rat(a)
        ^
x.conf:2:9: there is no function rat; is rate meant?
y = rat(a)
        ^
`, "2 tests, 0 failed\n",
		},
		{
			"definitions without tests",
			map[string]string{"x.conf": definitions},
			"x.conf",
			exitUsage, "", "x.conf: there are no tests beside it: no x.test, which `pmdaderived test --record 1 x.conf` prints\n0 tests, 0 failed\n",
		},
		{
			"a definition that does not fit",
			map[string]string{"x.conf": "x = a + \\\n b\n", "x.test": goodTest},
			"x.test",
			exitFailure, `FAIL  x.test:2: good
      x.test:4:9: expect x
          x.conf:2:2: Semantic error: derived metric x: operand b: Unknown operand metric
           b
           ^
`, "1 test, 1 failed\n",
		},
		{
			"a definition that is gone",
			map[string]string{"x.conf": "y = 1\n", "x.test": goodTest},
			"x.test",
			exitFailure, "FAIL  x.test:2: good\n      x.test:4:9: expect x\n          no definition of that name\n", "1 test, 1 failed\n",
		},
		{
			"a mistake in the tests",
			map[string]string{"x.conf": definitions, "x.test": "nonsense\n given\n", "y.conf": definitions, "y.test": badTest},
			".",
			exitUsage, "FAIL  y.test:5: bad\n      y.test:7:9: expect x\n              expected  got\n          0s  3         2\n",
			"x.test:1:1: nonsense: no statement; there are definitions, interval, metric, indom and test, and in a test given, expect, metadata, error, " +
				"without, times, interval, metric and indom\nnonsense\n^\nx.test:2:2: no test to belong to: what is indented stands below one\n given\n ^\n2 tests, 1 failed\n",
		},
		{
			"no definitions",
			map[string]string{"x.test": goodTest},
			"x.test",
			exitUsage, "", "x.test: definitions to test: x.conf: no such file or directory\n0 tests, 0 failed\n",
		},
		{"no file", nil, "x.test", exitUsage, "", "x.test: no such file or directory\n0 tests, 0 failed\n"},
		{"no tests", map[string]string{"d/x.conf": definitions}, "d", exitUsage, "", "d: no file with tests: their names end in .test\n0 tests, 0 failed\n"},
		{"nothing", nil, "", exitUsage, "", "pmdaderived test: name files with tests, or directories\nTry \"pmdaderived test --help\".\n"},
		{
			"no percentage", nil, "--min-coverage=101 x", exitUsage, "",
			"pmdaderived test: option --min-coverage: \"101\" is no percentage from 0 to 100\nTry \"pmdaderived test --help\".\n",
		},
		{
			"nothing to record", nil, "--record=0 x", exitUsage, "",
			"pmdaderived test: option --record: \"0\" is not a number of samples, 1 or more\nTry \"pmdaderived test --help\".\n",
		},
		{
			"no pattern", nil, "--run=( x", exitUsage, "",
			"pmdaderived test: option --run: error parsing regexp: missing closing ): `(`\nTry \"pmdaderived test --help\".\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := tests(t, row.files)
			out, errs, exit := s.run(append([]string{"test"}, strings.Fields(row.args)...)...)
			assert.Equal(t, row.out, out)
			assert.Equal(t, row.errs, errs)
			assert.Equal(t, row.exit, exit)
		})
	}
}

// A report is written whatever came of the tests, and a run that cannot write it fails.
func TestTestReport(t *testing.T) {
	s := tests(t, map[string]string{"x.conf": "x = a + 1\n", "x.test": badTest, "y.test": "nonsense\n"})
	_, _, exit := s.run("test", "--junit", "report.xml", ".")
	assert.Equal(t, exitUsage, exit)
	text := readFile(t, "report.xml")
	assert.Contains(t, string(text), `<testsuites tests="3" failures="1" errors="1">`)
	assert.Contains(t, string(text), `<failure message="expect x">`)
	assert.Contains(t, string(text), `<error message="y.test:1:1: nonsense: no statement`)

	_, errs := s.fails("test", "--junit", "no/such/report.xml", "--run=good", "x.test")
	assert.Equal(t, "1 test, 0 failed\npmdaderived test: open no/such/report.xml: no such file or directory\n", errs)
}

// The examples are tested, all of them.
func TestExamples(t *testing.T) {
	s := newSite(t)
	s.succeeds("test", "--min-coverage=100", "../../examples")
}
