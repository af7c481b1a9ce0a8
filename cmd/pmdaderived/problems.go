package main

import (
	"errors"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/agent/served"
	"pmdaderived/pmda"
)

// Codes of problems besides those of package lint. They stay what they are.
const (
	codeControlOption = "control-option"
	codeUnclosed      = "open-parenthesis"

	codeNoFunction = "unknown-function"
	codeHint       = "syntax-hint"

	codeSyntax      = "syntax-error"
	codeSemantics   = "semantic-error"
	codeUnknown     = "unknown-operand"
	codeUnavailable = "operand-unavailable"
	codeName        = "name-conflict"
	codeLine        = "malformed-line"
	codeUnusable    = "unusable"
)

// codeOf is the code of a problem, whatever found it.
func codeOf(p *config.Problem) string {
	var fault *derived.Error
	var syntaxError *syntax.Error
	var name *pmda.NameError
	switch {
	case p.Code != "":
		return p.Code
	case errors.As(p.Err, &syntaxError):
		return codeSyntax
	case errors.As(p.Err, &fault):
		switch {
		case !fault.Unbound():
			return codeSemantics
		case fault.Rule == derived.RuleOperandMetadata:
			return codeUnavailable
		}
		return codeUnknown
	case errors.As(p.Err, &name):
		return codeName
	}
	return codeLine
}

// hints are notes below syntax errors: what they may come from.
func (r *definitions) hints() []*config.Problem {
	codes := map[syntax.HintKind]string{
		syntax.HintFunction: codeNoFunction, syntax.HintParenthesis: codeUnclosed, syntax.HintLanguage: codeHint,
	}
	var found []*config.Problem
	for _, p := range r.Problems {
		fault, ok := errors.AsType[*syntax.Error](p.Err)
		if !ok || fault.Hint.Text == "" {
			continue
		}
		note := *p
		note.Severity, note.Code, note.Msg, note.Err = config.Note, codes[fault.Hint.Kind], fault.Hint.Text, nil
		found = append(found, &note)
	}
	return found
}

// problem is why a definition of that name could not be read, nil if there is none.
func (r *definitions) problem(name string) *config.Problem {
	for _, p := range r.Problems {
		if p.Name == name && p.Severity == config.Error {
			return p
		}
	}
	return nil
}

// unnamed is what is wrong with a line that begins with a name and does not define it, nil if there is none.
func (r *definitions) unnamed(name string) *config.Problem {
	for _, p := range r.Problems {
		if p.Severity != config.Error || p.Name != "" || p.Pos.Line == 0 {
			continue
		}
		words := strings.FieldsFunc(p.Line, func(c rune) bool { return strings.ContainsRune(" \t=(", c) })
		if len(words) > 0 && (words[0] == name || words[0] == derived.ShortName(name)) {
			return p
		}
	}
	return nil
}

// problemOf places a fault in the file.
func problemOf(d *config.Definition, f served.Fault) *config.Problem {
	p := problemAt(d, f.Offset)
	p.Msg, p.Err = f.Message, f.Err
	if f.Err == nil {
		p.Code = codeUnusable
	}
	return p
}

// problemAt is a problem of a definition at a byte of its expression; -1: at its name.
func problemAt(d *config.Definition, offset int) *config.Problem {
	p := d.Place.Problem(d.Expr, offset)
	p.Name = d.Name
	if offset < 0 {
		if d.Pos.Line != p.Pos.Line { // the expression begins on a line below
			p.Line = d.Name
		}
		p.Pos = d.Pos
		p.Caret = config.Caret(p.Line, strings.Index(p.Line, d.Name))
	}
	return p
}
