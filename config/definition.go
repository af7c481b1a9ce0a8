package config

import "strings"

// Definition is a derived metric as a file defines it.
type Definition struct {
	Name string
	Pos  Position // of the name

	// Raw is everything behind the = with continuation lines joined; messages of libpcp show it.
	// Expr is Raw without its leading blanks, and never empty. Blanks at the end stay: a caret
	// below the end of an expression goes under the last of them.
	Raw, Expr string

	// OneLine and Help are the texts of the metric; nil where the files give none. A metric
	// without a help text of its own shows its one-line text instead.
	OneLine, Help *string

	// Ignored are the codes of problems that the author has silenced, in a comment right above the definition:
	// "# pmdaderived:ignore CODE…".
	Ignored []string

	Place Place
}

// Place is where an expression stands: what messages about it need besides the expression. It does not hold on
// to the text of the file, unless the expression continues on further lines. The zero value is no place.
type Place struct {
	file   string
	line   int
	before string // the expression, in its line
	joined *line  // an expression on several lines, which is its end; else nil
}

func newPlace(file string, l line, expr string) Place {
	part, column := l.locate(len(l.text) - len(expr))
	if len(l.parts) > 1 || part.source[column-1:] != expr {
		return Place{file: file, joined: &l}
	}
	return Place{file: file, line: part.number, before: strings.Clone(part.source[:column-1])}
}

// At returns the place in the file of a byte of the expression; the place behind its last byte for any
// offset from len(expr) on, that of its first for a negative one.
func (p Place) At(expr string, offset int) Position {
	number, _, column := p.locate(expr, offset)
	return Position{File: p.file, Line: number, Column: column}
}

// Context returns the source line that holds a byte of the expression and, below it, a line with a caret at
// that byte. There is no newline at the end.
func (p Place) Context(expr string, offset int) string {
	_, source, column := p.locate(expr, offset)
	source, caret := Excerpt(source, column)
	return source + "\n" + caret
}

func (p Place) locate(expr string, offset int) (number int, source string, column int) {
	offset = max(0, min(offset, len(expr)))
	if p.joined == nil {
		return p.line, p.before + expr, len(p.before) + 1 + offset
	}
	part, column := p.joined.locate(len(p.joined.text) - len(expr) + offset)
	return part.number, part.source, column
}
