package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/plural"
)

// findings is the output of check: the problems of definition files.
type findings struct {
	*run
	showAll bool // all problems of a file, and each shipped definition that waits for metrics
	treat   treatment
	files   definitions.Named
	catalog *operand.Catalog // metadata of the operands; nil: the text only is checked
	lint    lint.Options     // with the same, if there is a collector
}

// allWarnings is the value of --werror without codes.
const allWarnings = "all"

// check finds mistakes in definition files: lines that cannot be read, expressions that are wrong, and, if there is a
// collector, expressions that do not fit its metrics. It also warns of what is probably not meant. It returns 1 if
// there is an error.
func (r *run) check(ctx context.Context, args []string) int {
	var offline, asJSON, portable bool
	f := &findings{run: r}
	r.flags.FuncP("config", "c", "read `PATHS`, separated by colons, in place of the agent's files; -c=: none",
		commandline.PathList(&r.paths))
	r.flags.BoolVar(&f.showAll, "all", false,
		"show all messages about a file, and each shipped definition that waits for metrics")
	r.flags.BoolVar(&offline, "offline", false, "do not contact pmcd: check the text only")
	r.flags.BoolVar(&portable, "portable", false,
		"warn about what clients cannot compute themselves, or only since PCP 6.3 or 7.2")
	r.flags.BoolVar(&asJSON, "json", false, "print the problems as a JSON array")
	r.flags.Func("werror", "treat warnings as errors: all, or those with the `CODES` in this list",
		func(arg string) error {
			if arg == allWarnings {
				f.treat.allErrors = true
				return nil
			}
			return parseCodes(arg, &f.treat.errors)
		})
	r.flags.Lookup("werror").NoOptDefVal = allWarnings
	r.flags.Func("ignore", "hide warnings and notes with the `CODES` in this list",
		func(arg string) error { return parseCodes(arg, &f.treat.ignored) })
	r.archiveOption()
	r.pmcdOption()
	paths, exit, done := r.parse(args)
	sourceGiven := r.pmcdGiven || len(r.archive.Paths) > 0
	switch {
	case done:
		return exit
	case slices.ContainsFunc(f.treat.errors, func(code string) bool { return slices.Contains(f.treat.ignored, code) }):
		return r.usageError(errors.New("--werror and --ignore cannot have the same code"))
	case offline && r.firstGiven("archive", "host") != "":
		return r.usageError(errors.New("--offline cannot be used with -a or -h"))
	}

	spooled, err := r.spool(paths)
	defer func() { _ = os.Remove(spooled) }()
	if err != nil {
		return r.fail(err)
	}
	reader := r.reader(r.paths)
	if offline && len(paths) > 0 {
		reader.Paths = []string{} // the result must be the same on every host
	}
	reader.Called = func(path string) string {
		if path == spooled {
			return standardInput
		}
		return path
	}
	f.files = definitions.ReadNamed(reader, paths)
	f.files.DropUnused()
	f.files.Portable = portable
	if !offline && (sourceGiven || len(f.files.Own()) > 0) {
		if err := f.lookUpOperands(ctx); err != nil {
			if sourceGiven { // only the default pmcd may be missing
				exit = commandline.ExitFailure
			}
			r.complain(err)
		}
	}
	problems := f.treat.apply(f.problems(), f.files.InFiles())
	if asJSON {
		f.printJSON(problems)
	} else {
		f.print(problems)
	}
	f.summarize(problems)
	if countOf(problems, config.Error) > 0 {
		return commandline.ExitFailure
	}
	return exit
}

// standardInput is the operand that means standard input, and its name in messages.
const standardInput = "-"

// spool copies standard input to a file, if it is an operand, and replaces the operand by the path of the file: so it
// is read as any other. The caller removes the file.
func (r *run) spool(operands []string) (path string, err error) {
	if !slices.Contains(operands, standardInput) {
		return "", nil
	}
	f, err := os.CreateTemp("", "pmdaderived-*.conf")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, io.LimitReader(r.program.Stdin, config.MaxFileSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return f.Name(), fmt.Errorf("standard input: %w", err)
	}
	for i, operand := range operands {
		if operand == standardInput {
			operands[i] = f.Name()
		}
	}
	return f.Name(), nil
}

// countOf returns how many problems have a severity.
func countOf(problems []*config.Problem, s config.Severity) int {
	n := 0
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// print prints "file:line:column: message", and below it the line and a caret, once for all messages about one
// position. Messages other than errors, and errors by --werror, have their severity and code. Without --all it prints
// only the first problems of a file, and how many more there are. Problems must be grouped by file.
func (f *findings) print(problems []*config.Problem) {
	const most = 100
	for rest := problems; len(rest) > 0; {
		file := rest[0].Pos.File
		n := slices.IndexFunc(rest, func(p *config.Problem) bool { return p.Pos.File != file })
		if n < 0 {
			n = len(rest)
		}
		printed := n
		if !f.showAll {
			printed = min(n, most)
		}
		for i, p := range rest[:printed] {
			shown := *p
			if i > 0 && p.Pos == rest[i-1].Pos {
				shown.Excerpt = config.Excerpt{}
			}
			if p.Severity != config.Error || f.treat.promoted[p] {
				shown.Msg = p.Severity.String() + ": " + p.Msg + " [" + definitions.CodeOf(p) + "]"
			}
			fmt.Fprintln(f.stdout, shown.Error())
		}
		if printed < n {
			fmt.Fprintf(f.stdout, "%s: %s; --all shows them\n", file, moreText(rest[printed:n]))
		}
		rest = rest[n:]
	}
}

// jsonProblem is a problem in the output of --json. Lines and columns count from 1, columns in bytes. Line 0 means the
// whole file.
type jsonProblem struct {
	File       string          `json:"file"`
	Line       int             `json:"line"`
	Column     int             `json:"column"`
	Severity   config.Severity `json:"severity"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Definition string          `json:"definition"`
	Excerpt    string          `json:"excerpt"`
	Caret      string          `json:"caret"`
}

// printJSON prints the problems as a JSON array, for editors and scripts.
func (f *findings) printJSON(problems []*config.Problem) {
	list := make([]jsonProblem, len(problems))
	for i, p := range problems {
		line, caret := p.Excerpt.Lines()
		list[i] = jsonProblem{
			File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Severity: p.Severity, Code: definitions.CodeOf(p),
			Message: p.Msg, Definition: p.Name, Excerpt: line, Caret: caret,
		}
	}
	f.stdout.json(list)
}

// summarize prints to stderr how many problems there are.
func (f *findings) summarize(problems []*config.Problem) {
	text := plural.Of(f.files.DefinitionCount(), "definition") + ", " +
		plural.Of(countOf(problems, config.Error), "error")
	if warnings := countOf(problems, config.Warning); warnings > 0 {
		text += ", " + plural.Of(warnings, "warning")
	}
	if f.catalog == nil && len(f.files.Own()) > 0 {
		text += " (syntax only)"
	}
	fmt.Fprintln(f.stderr, text)
}

// moreText says how many more problems of each severity there are.
func moreText(problems []*config.Problem) string {
	var kinds []string
	for _, s := range []config.Severity{config.Error, config.Warning, config.Note} {
		if n := countOf(problems, s); n > 0 {
			kinds = append(kinds, plural.Of(n, s.String()))
		}
	}
	return "and " + strings.Join(kinds, ", ") + " more"
}
