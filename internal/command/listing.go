package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
)

// print prints "file:line:column: message", and below it the line and a caret, once for all messages about one position.
// Messages other than errors, and errors by --werror, have their severity and code. Without --all it prints only the
// first problems of a file, and how many more there are. Problems must be grouped by file.
func (f *findings) print(problems []*config.Problem) {
	const most = 100
	for rest := problems; len(rest) > 0; {
		file := rest[0].Pos.File
		n := slices.IndexFunc(rest, func(p *config.Problem) bool { return p.Pos.File != file })
		if n < 0 {
			n = len(rest)
		}
		printed := n
		if !f.all {
			printed = min(n, most)
		}
		for i, p := range rest[:printed] {
			shown := *p
			if i > 0 && p.Pos == rest[i-1].Pos {
				shown.Line, shown.Caret = "", ""
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

func (f *findings) printJSON(problems []*config.Problem) {
	list := make([]jsonProblem, len(problems))
	for i, p := range problems {
		list[i] = jsonProblem{
			File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Severity: p.Severity, Code: definitions.CodeOf(p),
			Message: p.Msg, Definition: p.Name, Excerpt: p.Line, Caret: p.Caret,
		}
	}
	encoder := json.NewEncoder(f.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(list) // f.stdout remembers the error
}

// summarize prints to stderr how many problems there are.
func (f *findings) summarize(problems []*config.Problem) {
	text := plural.Of(f.files.DefinitionCount(), "definition") + ", " +
		plural.Of(countOf(problems, config.Error), "error")
	if warnings := countOf(problems, config.Warning); warnings > 0 {
		text += ", " + plural.Of(warnings, "warning")
	}
	if f.catalog == nil && len(f.files.All) > 0 {
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
