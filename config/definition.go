package config

import "strings"

// Definition is a derived metric as a file defines it. It is valid after the load, and nothing changes it.
type Definition struct {
	Name string   // below the root of derived metrics; a legal name in the PMNS
	Pos  Position // of the name

	// Expr is the text after the =, with continuation lines joined and without leading blanks. It is never empty. Blanks
	// at the end stay: a caret below the end of an expression stands behind the last of them.
	Expr string

	// OneLine and Help are the texts of the metric; nil: the files have none. A metric without Help shows OneLine instead.
	OneLine, Help *string

	// Labels are the labels of the metric, as [ParseLabels] returns them; nil: the files have none. LabelsPos is the
	// position of the attribute.
	Labels    *string
	LabelsPos Position

	// Ignored are the codes of problems that the author has silenced, in comments directly above the definition:
	// "# pmdaderived:ignore CODE…".
	Ignored []string

	// Secret: not everyone can read its file, or a file that gives it a text. See the function [Secret].
	Secret bool

	ExprLocation ExprLocation
}

// ExprLocation is the location of an expression in its file. [ExprLocation.Problem] returns the position of a byte of
// the expression. It keeps the text of the file in memory only if the expression has continuation lines. The zero
// value is no location.
type ExprLocation struct {
	file   string
	line   int
	before string // the part of the line before the expression
	joined *line  // for an expression with continuation lines: its line, which ends with the expression; else nil
}

func newExprLocation(file string, l line, expr string) ExprLocation {
	part, column := l.locate(len(l.text) - len(expr))
	if len(l.parts) > 1 || part.source[column-1:] != expr {
		return ExprLocation{file: file, joined: &l}
	}
	return ExprLocation{file: file, line: part.number, before: strings.Clone(part.source[:column-1])}
}

// Problem returns a Problem without a message, at a byte offset of the expression. expr must be the expression
// itself. An offset from len(expr) on means the position behind its last byte, a negative one its first byte.
func (p ExprLocation) Problem(expr string, offset int) *Problem {
	offset = max(0, min(offset, len(expr)))
	number, shown := p.line, Excerpt{p.before, expr, len(p.before) + 1 + offset}
	if p.joined != nil {
		part, column := p.joined.locate(len(p.joined.text) - len(expr) + offset)
		number, shown = part.number, NewExcerpt(part.source, column)
	}
	return &Problem{Pos: Position{File: p.file, Line: number, Column: shown.column}, Excerpt: shown}
}
