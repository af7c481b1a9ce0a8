package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived/agent"
	"pmdaderived/pmda"
)

// runCheck looks for mistakes in definition files: what cannot be read, what is no expression and,
// where a pmcd can be asked, what does not fit its metrics. Exit: 1 if there is an error.
func runCheck(ctx context.Context, t *tool, operands string, args []string) int {
	var offline, asJSON bool
	paths, exit, done := t.parse(operands, args,
		pmda.Option{
			Long: "offline", Set: func(string) error { offline = true; return nil },
			Help: "ask no pmcd: look at the syntax only",
		},
		pmda.Option{
			Long: "json", Set: func(string) error { asJSON = true; return nil },
			Help: "print the mistakes as a JSON array",
		},
		t.pmcdOption())
	if done {
		return exit
	}
	if len(paths) > 0 {
		t.paths = paths
	}

	read := readDefinitions(t.paths, t.conf)
	var catalog *agent.Catalog
	if !offline && len(read.all) > 0 {
		var err error
		if catalog, err = t.lookUp(ctx, read.all); err != nil {
			if t.pmcdGiven {
				exit = exitFailure
			}
			t.complain(err)
		}
	}
	problems := problemsOf(&read, catalog)
	if asJSON {
		t.printJSON(problems)
	} else {
		t.printProblems(problems)
	}
	errors := count(problems, config.Error)
	t.summarize(len(read.all), errors, count(problems, config.Warning), catalog == nil)
	if errors > 0 {
		return exitFailure
	}
	return exit
}

// lookUp asks pmcd about the operands of definitions.
func (t *tool) lookUp(ctx context.Context, defs []agent.Definition) (*agent.Catalog, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	return agent.LookUp(ctx, conn, defs)
}

// problemsOf gives all that is wrong with definitions, in the order of the files and their lines.
func problemsOf(read *definitions, catalog *agent.Catalog) []*config.Problem {
	byName := make(map[string]*config.Definition, len(read.Definitions))
	for _, d := range read.Definitions {
		byName[d.Name] = d
	}
	problems := slices.Clone(read.Problems)
	for _, f := range agent.Check(read.all, catalog) {
		problems = append(problems, problemOf(byName[f.Definition.Name], f))
	}
	order := make(map[string]int, len(read.Sources))
	for i, s := range read.Sources {
		order[s.Path] = i
	}
	slices.SortStableFunc(problems, func(x, y *config.Problem) int {
		return cmp.Or(cmp.Compare(order[x.Pos.File], order[y.Pos.File]),
			cmp.Compare(x.Pos.Line, y.Pos.Line), cmp.Compare(x.Pos.Column, y.Pos.Column))
	})
	return problems
}

// problemOf places a fault in the file.
func problemOf(d *config.Definition, f agent.Fault) *config.Problem {
	p := &config.Problem{Msg: f.Message, Name: d.Name, Err: f.Err, Pos: d.At(f.Offset)}
	p.Line, p.Caret, _ = strings.Cut(d.Context(f.Offset), "\n")
	if f.Offset < 0 {
		if d.Pos.Line != p.Pos.Line { // the expression begins on a line below
			p.Line = d.Name
		}
		p.Pos = d.Pos
		p.Caret = caretLine(p.Line, strings.Index(p.Line, d.Name))
	}
	return p
}

func count(problems []*config.Problem, s config.Severity) int {
	n := 0
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// printProblems prints "file:line:column: message" and below it the line and a caret. What is no error
// says so.
func (t *tool) printProblems(problems []*config.Problem) {
	for _, p := range problems {
		shown := *p
		if p.Severity != config.Error {
			shown.Msg = p.Severity.String() + ": " + p.Msg
		}
		fmt.Fprintln(t.stdout, shown.Error())
	}
}

// reported is a problem as --json prints it. Lines and columns count from 1, columns in bytes; a line of
// 0 means the file as a whole.
type reported struct {
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	Severity config.Severity `json:"severity"`
	Metric   string          `json:"metric"`
	Message  string          `json:"message"`
	Excerpt  string          `json:"excerpt"`
	Caret    string          `json:"caret"`
}

func (t *tool) printJSON(problems []*config.Problem) {
	list := make([]reported, len(problems))
	for i, p := range problems {
		list[i] = reported{
			File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Severity: p.Severity,
			Metric: p.Name, Message: p.Msg, Excerpt: p.Line, Caret: p.Caret,
		}
	}
	encoder := json.NewEncoder(t.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(list) // a checkedWriter
}

// summarize tells on stderr how it went, and how much was looked at.
func (t *tool) summarize(definitions, errors, warnings int, syntaxOnly bool) {
	text := plural(definitions, "definition") + ", " + plural(errors, "error")
	if warnings > 0 {
		text += ", " + plural(warnings, "warning")
	}
	if syntaxOnly && definitions > 0 {
		text += " (syntax only)"
	}
	fmt.Fprintln(t.stderr, text)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
