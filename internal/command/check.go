package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/agent"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/lint"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/served"
)

// allWarnings is the value of --werror without codes.
const allWarnings = "all"

// runCheck finds mistakes in definition files: lines that cannot be read, expressions that are wrong, and, if there is
// a collector, expressions that do not fit its metrics. It also warns of what is probably not meant. It returns 1 if
// there is an error.
func runCheck(ctx context.Context, t *invocation, args []string) int {
	var offline, asJSON, all, portable bool
	var treat treatment
	t.flags.FuncP("config", "c", "the agent reads the files and directories in `PATHS`, separated by colons",
		commandline.PathList(&t.paths))
	t.flags.BoolVar(&all, "all", false, "show all messages about a file, and each shipped definition that waits for "+
		"metrics")
	t.flags.BoolVar(&offline, "offline", false, "do not contact pmcd: check the text only")
	t.flags.BoolVar(&portable, "portable", false,
		"warn about what clients cannot compute themselves, or only since PCP 6.3 or 7.2")
	t.flags.BoolVar(&asJSON, "json", false, "print the problems as a JSON array")
	t.flags.Func("werror", "treat warnings as errors: all, or those with the `CODES` in this list",
		func(arg string) error {
			if arg == allWarnings {
				treat.allErrors = true
				return nil
			}
			return parseCodes(arg, &treat.errors)
		})
	t.flags.Lookup("werror").NoOptDefVal = allWarnings
	t.flags.Func("ignore", "hide warnings and notes with the `CODES` in this list",
		func(arg string) error { return parseCodes(arg, &treat.ignored) })
	t.archiveOption()
	t.pmcdOption()
	paths, exit, done := t.parse(args)
	sourceGiven := t.pmcdGiven || len(t.archive.Paths) > 0
	switch {
	case done:
		return exit
	case slices.ContainsFunc(treat.errors, func(code string) bool { return slices.Contains(treat.ignored, code) }):
		return t.usageError(errors.New("--werror and --ignore cannot have the same code"))
	case offline && t.firstGiven("archive", "host") != "":
		return t.usageError(errors.New("--offline cannot be used with -a or -h"))
	}

	defer func() { _ = os.Remove(t.spooled) }()
	if err := t.spool(paths); err != nil {
		return t.fail(err)
	}
	files := definitions.ReadChecked(t.reader(t.paths), paths, offline, t.spooled)
	files.Portable = portable
	read := checkRun{files}
	var h *lintHost
	if !offline && (sourceGiven || len(read.All) > 0) {
		var err error
		if h, err = t.lookUpOperands(ctx, &read); err != nil {
			if sourceGiven { // only the default pmcd may be missing
				exit = commandline.ExitFailure
			}
			t.complain(err)
		} else {
			defer h.Close()
		}
	}
	problems := treat.apply(read.problems(ctx, h, all), read.InFiles())
	if asJSON {
		t.printJSON(problems)
	} else {
		t.printProblems(problems, treat.promoted, all)
	}
	errors := countOf(problems, config.Error)
	t.summarize(read.DefinitionCount(), errors, countOf(problems, config.Warning), h == nil && len(read.All) > 0)
	if errors > 0 {
		return commandline.ExitFailure
	}
	return exit
}

// checkRun is a run of check. Its methods find problems in the files to check.
type checkRun struct{ definitions.CheckedFiles }

// spool copies standard input to the file t.spooled, if it is an operand, and replaces the operand by the path.
func (t *invocation) spool(operands []string) error {
	if !slices.Contains(operands, definitions.StandardInput) {
		return nil
	}
	f, err := os.CreateTemp("", "pmdaderived-*.conf")
	if err != nil {
		return err
	}
	t.spooled = f.Name()
	_, err = io.Copy(f, io.LimitReader(t.stdin, config.MaxFileSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	for i, operand := range operands {
		if operand == definitions.StandardInput {
			operands[i] = t.spooled
		}
	}
	return nil
}

// continuedLines warns of expressions on several lines, which PCP 6.0 does not join.
func (c *checkRun) continuedLines() (found []*config.Problem) {
	for _, d := range c.Definitions {
		last := definitions.ProblemAt(d, len(d.Expr)-1)
		if c.AllowedSupport(d.Pos.File) >= syntax.PCP63 || last.Pos.Line == definitions.ProblemAt(d, 0).Pos.Line {
			continue
		}
		last.Severity, last.Code = config.Warning, string(lint.NotPortable)
		last.Msg = "a line that continues another one: " + lint.Understood(syntax.PCP63)
		found = append(found, last)
	}
	return found
}

// ownLabels warns of labels, which no libpcp knows.
func (c *checkRun) ownLabels() (found []*config.Problem) {
	for _, d := range c.Definitions {
		if d.Labels == nil || c.AllowedSupport(d.LabelsPos.File) >= syntax.Nowhere {
			continue
		}
		p := &config.Problem{
			Pos: d.LabelsPos, Severity: config.Warning, Code: string(lint.NotPortable), Name: d.Name,
			Msg: "no libpcp supports the attribute labels: clients that compute the definition themselves report an error and " +
				"have no labels",
		}
		p.Line, p.Caret = config.Excerpt(d.Name+"(labels) = "+*d.Labels, len(d.Name)+len("(")+1)
		found = append(found, p)
	}
	return found
}

// problems returns all errors and warnings about the files that are checked, in the order of files and lines. h may be
// nil. With all there is a problem for each shipped definition that waits for metrics, otherwise one for each file.
func (c *checkRun) problems(ctx context.Context, h *lintHost, all bool) []*config.Problem {
	byName := c.InFiles()
	found := slices.Concat(c.Problems, c.OtherFileProblems(), c.Hints(), unknownCodes(c.Definitions))
	o := lint.Options{Root: derived.Root, Language: c.Language}
	o.Portable = func(d *derived.Definition) syntax.Support { return c.AllowedSupport(byName[d.Name].Pos.File) }
	var catalog *operand.Catalog
	if h != nil {
		catalog = h.catalog
		o.Catalog, o.Suggest = catalog, func(name string) string { return h.Similar(ctx, name) }
		o.Host, o.Archive = h, h.Archive != nil
	}
	waiting := map[string][]served.Definition{}
	own := agent.OwnMetrics(commandline.Domain)
	for _, f := range served.Check(c.All, own, o.Catalog, c.Language, agent.MaxOperands) {
		d := byName[f.Definition.Name]
		p := definitions.ProblemOf(d, f)
		file := p.Pos.File
		absent := definitions.CodeOf(p) == definitions.CodeUnknown
		switch {
		case absent && c.Lenient(file) && !all:
			if !slices.Contains(d.Ignored, definitions.CodeUnknown) {
				waiting[file] = append(waiting[file], f.Definition)
			}
			continue
		case absent && c.Lenient(file):
			p.Severity, p.Code = config.Note, definitions.CodeUnknown
		}
		found = append(found, p)
	}
	for file, defs := range waiting {
		found = append(found, waitingProblem(file, defs,
			definitions.MissingMetrics(definitions.WithUsed(c.ByName(), defs...), catalog), c.Language.Masked))
	}
	for _, w := range lint.Check(definitions.Derived(c.All), o) {
		if p := c.problemOfWarning(w, byName, all); p != nil {
			found = append(found, p)
		}
	}
	found = slices.Concat(found, c.continuedLines(), c.ownLabels())
	found = slices.DeleteFunc(found, func(p *config.Problem) bool { return !c.Concerns(p) })
	for i, p := range found {
		if p.Code == codeReplaced && !c.Shipped[p.Pos.File] && !c.Shipped[p.Replaced.File] {
			graver := *p
			graver.Severity = config.Warning
			found[i] = &graver
		}
	}
	order := make(map[string]int, len(c.Sources))
	for i, s := range c.Sources {
		order[s.Path] = i
	}
	slices.SortStableFunc(found, func(x, y *config.Problem) int {
		return cmp.Or(cmp.Compare(order[x.Pos.File], order[y.Pos.File]),
			cmp.Compare(x.Pos.Line, y.Pos.Line), cmp.Compare(x.Pos.Column, y.Pos.Column))
	})
	return found
}

// problemOfWarning returns a warning as a problem with its place and severity. It returns nil for some warnings about
// shipped files.
func (c *checkRun) problemOfWarning(
	w lint.Warning, byName map[string]*config.Definition, all bool,
) *config.Problem {
	p := definitions.ProblemAt(byName[w.Definition.Name], w.Offset)
	p.Severity, p.Code, p.Msg = config.Warning, string(w.Code), w.Message
	lenient := c.Lenient(p.Pos.File)
	switch w.Code {
	// These are about metrics or values of this host.
	case lint.AbsentOperand, lint.AbsentInstance, lint.MatchesNothing, lint.NoBuckets, lint.UnsignedDiff,
		lint.ZeroDivisor:
		if lenient && !all {
			return nil
		}
		if lenient || w.Code == lint.AbsentOperand {
			p.Severity = config.Note
		}
	// These are true also where nobody can edit the file.
	case lint.ChangeOfTotal, lint.DividedShare, lint.ChangeOverAge, lint.DifferentInstances:
		if c.Shipped[p.Pos.File] {
			p.Severity = config.Note
		}
	case lint.MisspeltOperand:
		if lenient {
			p.Severity = config.Note
		}
	case lint.SameExpression:
		if lenient {
			return nil
		}
		if c.Shipped[byName[w.Other.Name].Pos.File] {
			p.Severity = config.Note
		}
	}
	return p
}

func countOf(problems []*config.Problem, s config.Severity) int {
	n := 0
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// printProblems prints "file:line:column: message", and below it the line and a caret, once for all messages about one
// position. Messages other than errors, and
// errors by --werror, have their severity and code. Without all it prints only the first problems of a file, and how
// many more there are. Problems must be grouped by file.
func (t *invocation) printProblems(problems []*config.Problem, promoted map[*config.Problem]bool, all bool) {
	const most = 100
	for rest := problems; len(rest) > 0; {
		file := rest[0].Pos.File
		n := slices.IndexFunc(rest, func(p *config.Problem) bool { return p.Pos.File != file })
		if n < 0 {
			n = len(rest)
		}
		printed := n
		if !all {
			printed = min(n, most)
		}
		for i, p := range rest[:printed] {
			shown := *p
			if i > 0 && p.Pos == rest[i-1].Pos {
				shown.Line, shown.Caret = "", ""
			}
			if p.Severity != config.Error || promoted[p] {
				shown.Msg = p.Severity.String() + ": " + p.Msg + " [" + definitions.CodeOf(p) + "]"
			}
			fmt.Fprintln(t.stdout, shown.Error())
		}
		if printed < n {
			fmt.Fprintf(t.stdout, "%s: %s; --all shows them\n", file, moreText(rest[printed:n]))
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

func (t *invocation) printJSON(problems []*config.Problem) {
	list := make([]jsonProblem, len(problems))
	for i, p := range problems {
		list[i] = jsonProblem{
			File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Severity: p.Severity, Code: definitions.CodeOf(p),
			Message: p.Msg, Definition: p.Name, Excerpt: p.Line, Caret: p.Caret,
		}
	}
	encoder := json.NewEncoder(t.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(list) // t.stdout remembers the error
}

// summarize prints to stderr how many problems there are.
func (t *invocation) summarize(definitions, errors, warnings int, syntaxOnly bool) {
	text := plural.Of(definitions, "definition") + ", " + plural.Of(errors, "error")
	if warnings > 0 {
		text += ", " + plural.Of(warnings, "warning")
	}
	if syntaxOnly {
		text += " (syntax only)"
	}
	fmt.Fprintln(t.stderr, text)
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
