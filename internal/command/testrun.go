package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/served"
	"pmdaderived/internal/unittest"
	"pmdaderived/pdu"
)

// test runs unit tests of definitions. It returns 1 if a test fails or the coverage is too low, 2 if a file cannot
// be used.
func (r *run) test(ctx context.Context, args []string) int {
	t := &testResults{run: r, tested: map[string]map[string]bool{}, printed: map[string]bool{}}
	recorded := &recorder{run: r, seenInstances: map[pdu.InDom]*seen{}}
	r.flags.BoolVarP(&t.verbose, "verbose", "v", false, "also name the tests that pass")
	r.flags.Func("run", "run only the tests whose titles match `PATTERN`, a regular expression",
		func(arg string) (err error) {
			t.titlePattern, err = regexp.Compile(arg)
			return err
		})
	r.flags.StringVar(&t.junit, "junit", "", "write a report in JUnit's XML to `FILE`")
	r.flags.BoolVar(&t.coverage, "coverage", false, "list the definitions that no test covers")
	r.flags.Func("min-coverage", "fail if the tests cover less than `PERCENT` of the definitions", t.setMinCoverage)
	r.flags.Func("record", "print a test of definition files, made from `NUM` samples of the metrics of pmcd or an "+
		"archive", samplesOption(&recorded.samples, 1, ", 1 or more"))
	r.flags.BoolVar(&recorded.withErrors, "with-errors", false, "also record that a definition has an error")
	r.intervalOption("`TIME` between the samples")
	r.pmcdOption()
	r.timeOptions()
	paths, exit, done := r.parse(args)
	if done {
		return exit
	}
	if len(paths) == 0 {
		return r.usageError(errors.New("give the names of test files or directories"))
	}
	if recorded.samples > 0 {
		if option := r.firstGiven("verbose", "run", "junit", "coverage", "min-coverage"); option != "" {
			return r.usageError(fmt.Errorf("%s cannot be used with --record, which runs no test", option))
		}
		return recorded.record(ctx, paths)
	}
	if option := r.firstGiven("archive", "host", "interval", "with-errors"); option != "" {
		return r.usageError(fmt.Errorf("%s needs --record: tests have their own values", option))
	}
	for _, path := range paths {
		if err := t.runPath(path); err != nil {
			t.reportUnusable(path, err)
		}
	}
	return t.finish()
}

// testResults is the output of test: results of tests, and which definitions they cover.
type testResults struct {
	*run
	verbose, coverage bool
	titlePattern      *regexp.Regexp // nil: every test
	junit             string
	minCoverage       float64 // percent

	suites               []unittest.Suite
	count, failed        int                        // of tests
	unusable             bool                       // a file could not be used
	hasFaultyDefinitions bool                       // a definition file has a mistake
	tested               map[string]map[string]bool // names of tested definitions, by definition file
	files                []string                   // the keys of tested, in order
	printed              map[string]bool            // problems of definitions
}

func (t *testResults) setMinCoverage(arg string) error {
	v, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is not a percentage from 0 to 100", arg)
	}
	t.coverage, t.minCoverage = true, v
	return nil
}

// reportUnusable prints why a file cannot be used.
func (t *testResults) reportUnusable(file string, err error) {
	t.unusable = true
	text := withoutCall(err)
	fmt.Fprintln(t.stderr, text)
	t.suites = append(t.suites, unittest.Suite{File: file, Unusable: text})
}

// withoutCall returns the text of an error without the name of the system call, which says nothing to people.
func withoutCall(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return strings.Replace(err.Error(), failed.Error(), failed.Path+": "+failed.Err.Error(), 1)
	}
	return err.Error()
}

// runPath runs the tests of a file, those beside a definition file, or those of all files in a directory.
func (t *testResults) runPath(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return t.runDir(path)
	}
	beside := strings.TrimSuffix(path, filepath.Ext(path)) + unittest.Extension
	switch _, err := os.Stat(beside); {
	case err == nil:
		t.runFile(beside) // path is the definition file
	case filepath.Ext(path) == unittest.Extension:
		t.runFile(path)
	default:
		return fmt.Errorf("%s has no tests: %s does not exist; `pmdaderived test --record 1 %s` prints a first test",
			path, beside, path)
	}
	return nil
}

// runDir runs the tests of all files in a directory. Its definition files count for the coverage, so that one without
// any test is noticed.
func (t *testResults) runDir(dir string) error {
	for _, s := range config.Load([]string{dir}, nil).Sources {
		if s.Err == nil {
			t.countFile(s.Path)
		}
	}
	found := false
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name != dir && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir // its definitions are not read
		}
		if err == nil && !e.IsDir() && filepath.Ext(name) == unittest.Extension {
			found = true
			t.runFile(name)
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: no test files, which have names that end in %s", dir, unittest.Extension)
	}
	return err
}

// countFile adds a definition file to the coverage.
func (t *testResults) countFile(file string) {
	if t.tested[file] == nil {
		t.tested[file] = map[string]bool{}
		t.files = append(t.files, file)
	}
}

// runFile runs the tests of a file.
func (t *testResults) runFile(path string) {
	text, err := config.ReadFile(path)
	if err != nil {
		t.reportUnusable(path, err)
		return
	}
	f, problems := unittest.Parse(path, text)
	if len(problems) > 0 {
		errs := make([]error, len(problems))
		for i, p := range problems {
			errs[i] = p
		}
		t.reportUnusable(path, errors.Join(errs...))
		return
	}
	read, ok := t.definitionsOf(f)
	if !ok {
		return
	}
	inFiles := read.InFiles()
	defs, labels := definitions.Derived(read.All), definitions.Labels(read.All)
	suite := unittest.Suite{File: path}
	for _, test := range f.Tests {
		if t.titlePattern != nil && !t.titlePattern.MatchString(test.Name) {
			continue
		}
		start := time.Now()
		result := unittest.Run(read.Language, defs, labels, test)
		took := time.Since(start)
		addPlaces(&result, &read, inFiles)
		for _, name := range test.Tested() {
			if d := inFiles[name]; d != nil && t.tested[d.Pos.File] != nil {
				t.tested[d.Pos.File][name] = true
			}
		}
		suite.Results, suite.Durations = append(suite.Results, result), append(suite.Durations, took)
		t.printResult(result)
	}
	t.suites = append(t.suites, suite)
}

// definitionsOf reads the definitions that a test file names, by default those of the file with the same name and the
// ending .conf. Mistakes in them make the run fail; the other definitions are still tested. A file of the agent that has
// an absolute path here is context, and does not count for the coverage.
func (t *testResults) definitionsOf(f *unittest.File) (definitions.Parsed, bool) {
	names := f.Definitions
	if names == nil {
		names = []string{strings.TrimSuffix(filepath.Base(f.Path), unittest.Extension) + ".conf"}
	}
	paths := make([]string, len(names))
	var context []string
	for i, name := range names {
		paths[i] = name
		if !filepath.IsAbs(name) {
			paths[i] = filepath.Join(filepath.Dir(f.Path), name)
		} else if t.reader(nil).Reads(name) {
			context = append(context, name)
		}
		if _, err := os.Stat(paths[i]); err != nil {
			t.reportUnusable(f.Path, fmt.Errorf("%s: definitions to test: %w", f.Path, err))
			return definitions.Parsed{}, false
		}
	}
	read := t.reader(paths).Read()
	for _, p := range read.Problems {
		if p.Severity == config.Error {
			t.hasFaultyDefinitions = true
			t.printOnce(p)
		}
	}
	for _, p := range read.Hints() {
		p.Excerpt = config.Excerpt{} // printed with the error
		t.printOnce(p)
	}
	for _, s := range read.Sources {
		if !definitions.Within(s.Path, context) {
			t.countFile(s.Path)
		}
	}
	return read, true
}

// printOnce prints a problem of definitions, unless it has been printed: several test files may use one file.
func (t *testResults) printOnce(p *config.Problem) {
	if text := p.Error(); !t.printed[text] {
		t.printed[text] = true
		fmt.Fprintln(t.stdout, text)
	}
}

// addPlaces adds the place and the line to failures of definitions that cannot be used: package unittest knows no
// files.
func addPlaces(result *unittest.Result, read *definitions.Parsed, inFiles map[string]*config.Definition) {
	for i := range result.Failures {
		f := &result.Failures[i]
		name := derived.ShortName(f.Metric)
		if errors.Is(f.Err, unittest.ErrNoDefinition) {
			if p := read.ErrorOf(name); p != nil {
				f.Err = p
			}
			continue
		}
		if fault, ok := errors.AsType[*derived.Error](f.Err); ok {
			f.Err = definitions.ProblemOf(inFiles[name],
				served.Fault{Offset: fault.Offset(), Message: fault.Error(), Err: fault})
		}
	}
}

// printResult prints the result of a test.
func (t *testResults) printResult(result unittest.Result) {
	word, failed := "ok", len(result.Failures) > 0
	if t.count++; failed {
		word = "FAIL"
		t.failed++
	}
	if failed || t.verbose {
		fmt.Fprintf(t.stdout, "%-4s  %s:%d: %s\n", word, result.Test.Pos.File, result.Test.Pos.Line, result.Test.Name)
	}
	for line := range strings.Lines(result.String()) {
		fmt.Fprint(t.stdout, "      ", line)
	}
}

// finish prints the results of the whole run, and returns the exit status.
func (t *testResults) finish() int {
	exit := commandline.ExitOK
	if t.coverage && !t.printCoverage() {
		exit = commandline.ExitFailure
	}
	fmt.Fprintf(t.stderr, "%s, %d failed\n", plural.Of(t.count, "test"), t.failed)
	if t.failed > 0 || t.hasFaultyDefinitions {
		exit = commandline.ExitFailure
	}
	if t.titlePattern != nil && t.count == 0 && !t.unusable {
		t.complain(fmt.Errorf("no test has a title that matches %q", t.titlePattern))
		exit = commandline.ExitFailure
	}
	if t.junit != "" {
		if err := t.writeJUnit(); err != nil {
			t.complain(err)
			exit = commandline.ExitFailure
		}
	}
	if t.unusable {
		return commandline.ExitUsage
	}
	return exit
}

func (t *testResults) writeJUnit() error {
	f, err := os.Create(t.junit)
	if err != nil {
		return err
	}
	return errors.Join(unittest.WriteJUnit(f, t.suites), f.Close())
}

// printCoverage prints which definitions are not tested. It returns false if they are too many. It reads the files
// again: a definition that another file replaces in a test still needs a test of its own.
func (t *testResults) printCoverage() bool {
	total, tested := 0, 0
	for _, file := range t.files {
		defs := config.Load([]string{file}, nil).Definitions
		if len(defs) == 0 {
			continue
		}
		untested := slices.DeleteFunc(slices.Clone(defs),
			func(d *config.Definition) bool { return t.tested[file][d.Name] })
		fmt.Fprintf(t.stdout, "%s: %s\n", file, shareText(len(defs)-len(untested), len(defs)))
		for _, d := range untested {
			fmt.Fprintf(t.stdout, "    %s: %s\n", d.Pos, d.Name)
		}
		total, tested = total+len(defs), tested+len(defs)-len(untested)
	}
	if total == 0 {
		fmt.Fprintln(t.stdout, "there are no definitions to test")
		return t.minCoverage == 0
	}
	if len(t.files) != 1 {
		fmt.Fprintf(t.stdout, "all: %s\n", shareText(tested, total))
	}
	if 100*float64(tested) < t.minCoverage*float64(total) {
		fmt.Fprintf(t.stdout, "this is less than %g %%\n", t.minCoverage)
		return false
	}
	return true
}

// shareText says how many definitions are tested, in numbers and in percent.
func shareText(part, whole int) string {
	return fmt.Sprintf("%d of %s (%.1f %%) tested", part, plural.Of(whole, "definition"),
		100*float64(part)/float64(whole))
}
