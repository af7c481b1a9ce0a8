package definitions

import (
	"errors"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/served"
	"pmdaderived/pmda"
)

// Codes of problems besides those of package lint. They stay what they are.
const (
	CodeControlOption = "control-option"
	CodeUnclosed      = "open-parenthesis"

	CodeNoFunction = "unknown-function"
	CodeHint       = "syntax-hint"

	CodeSyntax      = "syntax-error"
	CodeSemantics   = "semantic-error"
	CodeUnknown     = "unknown-operand"
	CodeUnavailable = "operand-unavailable"
	CodeName        = "name-conflict"
	CodeLine        = "malformed-line"
	CodeUnusable    = "unusable"
)

// CodeOf returns the code of a problem.
func CodeOf(p *config.Problem) string {
	var fault *derived.Error
	var syntaxError *syntax.Error
	var name *pmda.NameError
	switch {
	case p.Code != "":
		return p.Code
	case errors.As(p.Err, &syntaxError):
		return CodeSyntax
	case errors.As(p.Err, &fault):
		switch {
		case !fault.Unbound():
			return CodeSemantics
		case fault.Rule == derived.RuleOperandMetadata:
			return CodeUnavailable
		}
		return CodeUnknown
	case errors.As(p.Err, &name):
		return CodeName
	}
	return CodeLine
}

// Hints returns notes about the probable causes of syntax errors, and of the first line of a file that does not begin
// as a definition.
func (r *Parsed) Hints() []*config.Problem {
	codes := map[syntax.HintKind]string{
		syntax.HintFunction: CodeNoFunction, syntax.HintParenthesis: CodeUnclosed, syntax.HintLanguage: CodeHint,
	}
	var found []*config.Problem
	noDefinition := ""
	for _, p := range r.Problems {
		var hint syntax.Hint
		if fault, ok := errors.AsType[*syntax.Error](p.Err); ok {
			hint = fault.Hint
		} else if p.Name == "" && strings.Contains(p.Msg, "derived metric name") && p.Pos.File != noDefinition {
			noDefinition = p.Pos.File
			hint = syntax.Hint{
				Kind: syntax.HintLanguage, Text: "write NAME = EXPRESSION for a definition, # in the first column for a comment",
			}
			if line, _ := p.Excerpt.Lines(); strings.HasPrefix(line, "[") {
				hint.Text = "a section in brackets is for another program, such as pmrep: this is no file of definitions"
			}
		}
		if hint.Text == "" {
			continue
		}
		note := *p
		note.Severity, note.Code, note.Msg, note.Err = config.Note, codes[hint.Kind], hint.Text, nil
		found = append(found, &note)
	}
	return found
}

// ErrorOf returns the error of a definition that could not be read, nil if there is none.
func (r *Parsed) ErrorOf(name string) *config.Problem {
	for _, p := range r.Problems {
		if p.Name == name && p.Severity == config.Error {
			return p
		}
	}
	return nil
}

// MalformedLine returns the problem of a line that begins with a name and does not define it, nil if there is none.
func (r *Parsed) MalformedLine(name string) *config.Problem {
	for _, p := range r.Problems {
		if p.Severity != config.Error || p.Name != "" || p.Pos.Line == 0 {
			continue
		}
		line, _ := p.Excerpt.Lines()
		words := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t=(", c) })
		if len(words) > 0 && (words[0] == name || words[0] == derived.ShortName(name)) {
			return p
		}
	}
	return nil
}

// ProblemOf returns a fault as a problem with its place in the file.
func ProblemOf(d *config.Definition, f served.Fault) *config.Problem {
	p := ProblemAt(d, f.Offset)
	p.Msg, p.Err = f.Message, f.Err
	if f.Err == nil {
		p.Code = CodeUnusable
	}
	return p
}

// ProblemAt returns a problem at a byte of a definition's expression; -1 means its name.
func ProblemAt(d *config.Definition, offset int) *config.Problem {
	p := d.ExprLocation.Problem(d.Expr, offset)
	p.Name = d.Name
	if offset < 0 {
		if d.Pos.Line == p.Pos.Line {
			p.Excerpt = p.Excerpt.At(d.Pos.Column)
		} else { // the expression begins on a line below
			p.Excerpt = config.NewExcerpt(d.Name, 1)
		}
		p.Pos = d.Pos
	}
	return p
}
