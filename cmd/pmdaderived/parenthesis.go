package main

import (
	"errors"
	"strings"

	"pmdaderived/config"
)

// forgotten reports whether a syntax error at an offset may come from a parenthesis that is not closed: the
// expression has come to its end.
func forgotten(expr string, offset int) bool {
	end := len(strings.TrimRight(expr, " \t\r\n\v\f"))
	return offset >= end-1 && unclosed(expr)
}

// unclosed reports whether more parentheses are opened than closed, those in strings, patterns and names of instances aside.
func unclosed(expr string) bool {
	depth := 0
	last := byte(0) // that is no blank
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		end := byte(0)
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '"':
			end = '"'
		case c == '[':
			end = ']'
		case c == '/' && (last == '(' || last == '!'):
			end = '/'
		}
		if end != 0 {
			for i++; i < len(expr) && expr[i] != end; i++ {
				if expr[i] == '\\' {
					i++
				}
			}
		}
		if strings.IndexByte(" \t\r\n\v\f", c) < 0 {
			last = c
		}
	}
	return depth > 0
}

// noteUnclosed remembers the place of an error that may come from a parenthesis which is not closed.
func (r *definitions) noteUnclosed(d *config.Definition, err error) {
	at, ok := errors.AsType[interface {
		error
		Offset() int
	}](err)
	if !ok || !forgotten(d.Expr, at.Offset()) {
		return
	}
	if r.unclosed == nil {
		r.unclosed = map[config.Position]bool{}
	}
	r.unclosed[d.At(at.Offset())] = true
}

// advice are notes below errors that may come from parentheses which are not closed.
func (r *definitions) advice() []*config.Problem {
	var found []*config.Problem
	for _, p := range r.Problems {
		if p.Severity == config.Error && p.Err != nil && r.unclosed[p.Pos] {
			note := *p
			note.Severity, note.Code, note.Err = config.Note, codeUnclosed, nil
			note.Msg = "a parenthesis is not closed?"
			found = append(found, &note)
		}
	}
	return found
}
