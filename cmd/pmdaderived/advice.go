package main

import (
	"errors"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
)

// advice is what a mistake may come from.
type advice struct{ code, text string }

// adviceOn says what the error of an expression may come from; empty if that is not known.
func adviceOn(expr string, err error) advice {
	at, ok := errors.AsType[*derived.SyntaxError](err)
	if !ok {
		return advice{}
	}
	if text := functionMeant(expr, at.Offset()); text != "" && strings.HasSuffix(err.Error(), "Unexpected '('") {
		return advice{codeNoFunction, text}
	}
	if text := at.Err.Hint(expr); text != "" {
		return advice{codeHint, text}
	}
	if forgotten(expr, at.Offset()) {
		return advice{codeUnclosed, "a parenthesis is not closed?"}
	}
	return advice{}
}

// advise remembers what the error that an expression has may come from.
func (r *definitions) advise(d *config.Definition, err error) {
	a := adviceOn(d.Expr, err)
	if a.text == "" {
		return
	}
	at, _ := errors.AsType[*derived.SyntaxError](err)
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
