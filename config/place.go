package config

import "strings"

// Place is where a definition stands: what messages about its expression need besides the expression. It
// does not hold on to the Definition and the text of the file, unless the expression continues on further
// lines. The zero value is no place.
type Place struct {
	file   string
	line   int
	before string      // the expression, in its line
	joined *Definition // an expression on several lines; else nil
}

// Place returns where d stands.
func (d *Definition) Place() Place {
	part, column := d.locate(0)
	if len(d.line.parts) > 1 || part.source[column-1:] != d.Expr {
		return Place{joined: d}
	}
	return Place{file: d.Pos.File, line: part.number, before: strings.Clone(part.source[:column-1])}
}

// At returns the place in the file of a byte of the expression, as [Definition.At] does.
func (p Place) At(expr string, offset int) Position {
	if p.joined != nil {
		return p.joined.At(offset)
	}
	return Position{File: p.file, Line: p.line, Column: p.column(expr, offset)}
}

// Context returns the source line of a byte of the expression, as [Definition.Context] does.
func (p Place) Context(expr string, offset int) string {
	if p.joined != nil {
		return p.joined.Context(offset)
	}
	source, caret := Excerpt(p.before+expr, p.column(expr, offset))
	return source + "\n" + caret
}

func (p Place) column(expr string, offset int) int {
	return len(p.before) + 1 + max(0, min(offset, len(expr)))
}
