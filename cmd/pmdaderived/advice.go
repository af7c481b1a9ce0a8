package main

import (
	"errors"
	"strings"

	"pmdaderived/config"
)

// advice is what a mistake may come from.
type advice struct{ code, text string }

// advise remembers what the error that an expression has may come from.
func (r *definitions) advise(d *config.Definition, err error) {
	at, ok := errors.AsType[interface {
		error
		Offset() int
	}](err)
	if !ok {
		return
	}
	a := advice{codeNoFunction, functionMeant(d.Expr, at.Offset())}
	switch {
	case a.text != "" && strings.HasSuffix(err.Error(), "Unexpected '('"):
	case forgotten(d.Expr, at.Offset()):
		a = advice{codeUnclosed, "a parenthesis is not closed?"}
	default:
		return
	}
	if r.advised == nil {
		r.advised = map[config.Position]advice{}
	}
	r.advised[d.At(at.Offset())] = a
}

// advice are notes below errors.
func (r *definitions) advice() []*config.Problem {
	var found []*config.Problem
	for _, p := range r.Problems {
		if a, ok := r.advised[p.Pos]; ok && p.Severity == config.Error && p.Err != nil {
			note := *p
			note.Severity, note.Code, note.Msg, note.Err = config.Note, a.code, a.text, nil
			found = append(found, &note)
		}
	}
	return found
}
