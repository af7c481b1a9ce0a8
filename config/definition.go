package config

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

	line line // Expr is its end
}

// At returns the place in the file of a byte of Expr; the place behind its last byte for any
// offset from len(Expr) on, that of its first for a negative one.
func (d *Definition) At(offset int) Position {
	part, column := d.locate(offset)
	return Position{File: d.Pos.File, Line: part.number, Column: column}
}

// Context returns the source line that holds a byte of Expr and, below it, a line with a caret at
// that byte. There is no newline at the end.
func (d *Definition) Context(offset int) string {
	part, column := d.locate(offset)
	source, caret := Excerpt(part.source, column)
	return source + "\n" + caret
}

func (d *Definition) locate(offset int) (part, int) {
	offset = max(0, min(offset, len(d.Expr)))
	return d.line.locate(len(d.line.text) - len(d.Expr) + offset)
}
