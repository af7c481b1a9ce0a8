package config

import "strings"

// Definition is a derived metric as a file defines it.
type Definition struct {
	Name string
	Pos  Position // of the name

	// Expr is what is behind the =, with continuation lines joined and without leading blanks, and never empty. Blanks at the
	// end stay: a caret below the end of an expression goes under the last of them.
	Expr string

	// OneLine and Help are the texts of the metric; nil where the files give none. A metric
	// without a help text of its own shows its one-line text instead.
	OneLine, Help *string

	// Ignored are the codes of problems that the author has silenced, in a comment right above the definition:
	// "# pmdaderived:ignore CODE…".
	Ignored []string

	// Secret: not everybody may read its file, or one that gives it a text.
	Secret bool

	ExprLocation ExprLocation
}

// ExprLocation is where an expression stands: what messages about it need besides the expression. It does not hold on
// to the text of the file, unless the expression continues on further lines. The zero value is no place.
type ExprLocation struct {
	file   string
	line   int
	before string // the expression, in its line
	joined *line  // an expression on several lines, which is its end; else nil
}

func newExprLocation(file string, l line, expr string) ExprLocation {
	part, column := l.locate(len(l.text) - len(expr))
	if len(l.parts) > 1 || part.source[column-1:] != expr {
		return ExprLocation{file: file, joined: &l}
	}
	return ExprLocation{file: file, line: part.number, before: strings.Clone(part.source[:column-1])}
}

// Problem has the place of a byte of the expression, and no message yet: the place behind its last byte for any offset from
// len(expr) on, that of its first for a negative one.
func (p ExprLocation) Problem(expr string, offset int) *Problem {
	offset = max(0, min(offset, len(expr)))
	number, source, column := p.line, p.before+expr, len(p.before)+1+offset
	if p.joined != nil {
		part, at := p.joined.locate(len(p.joined.text) - len(expr) + offset)
		number, source, column = part.number, part.source, at
	}
	line, caret := Excerpt(source, column)
	return &Problem{Pos: Position{File: p.file, Line: number, Column: column}, Line: line, Caret: caret}
}
