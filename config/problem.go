package config

import (
	"errors"
	"strconv"
	"strings"

	"pmdaderived/internal/printable"
)

// Severity says what happened to the text that a Problem is about.
type Severity int

// The severities.
const (
	Error   Severity = iota // it is refused
	Warning                 // it is accepted, but the author may mean something else
	Note                    // it is accepted
)

// String returns "error", "warning" or "note".
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// MarshalText implements encoding.TextMarshaler, so that logs in text and in JSON agree.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Position is a position in a file. Lines and columns count from 1, columns in bytes. Line 0 means the file as a
// whole, column 0 the line as a whole.
type Position struct {
	File   string // as named in the path list, or below a directory of it
	Line   int
	Column int
}

// String returns "file:line:column", without the parts that are 0.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is a message for the author of a file. It implements error, whatever its severity.
type Problem struct {
	Pos      Position
	Severity Severity
	Msg      string

	Excerpt Excerpt // the source line of Pos, if it has a line

	Code      string // kind of warning or note, "" for some errors; never changes, since people silence problems by it
	Name      string // of the definition; "": the problem is not in a definition
	Attribute bool   // the problem is in an attribute of the definition
	Path      string // of the file or directory that was not read, if that is the problem

	// Replaced is the position of the former definition or text, if the problem is that the one at Pos replaces it;
	// otherwise its File is empty.
	Replaced Position

	Err error // the cause: the error of Accept, or an *fs.PathError; may be nil
}

// Error returns "file:line:column: message" and, if there are any, the source line and its caret on lines of their
// own.
func (p *Problem) Error() string {
	text := p.Pos.String() + ": " + p.Msg
	if line, caret := p.Excerpt.Lines(); caret != "" {
		text += "\n" + line + "\n" + caret
	}
	return text
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Excerpt is a source line with a position in it. The zero value is no line. It only refers to the line: what is shown of
// it is made when it is printed, as a line can have many problems.
type Excerpt struct {
	before, rest string // the line
	column       int    // in the line, in bytes from 1; 0: there is no line
}

// NewExcerpt returns the excerpt of a source line at a column, which counts bytes from 1.
func NewExcerpt(source string, column int) Excerpt {
	return Excerpt{rest: source, column: max(1, column)}
}

// At returns the excerpt of the same line at another column.
func (e Excerpt) At(column int) Excerpt { return Excerpt{e.before, e.rest, column} }

// Lines returns the line, and a line with a caret to show below it; both are empty if there is none. They are fit for a
// terminal: bytes that are not printable UTF-8 are replaced, and a very long line is cut around the caret.
func (e Excerpt) Lines() (line, caret string) {
	if e.column == 0 {
		return "", ""
	}
	const cut = "…"
	size := len(e.before) + len(e.rest)
	at := min(e.column-1, size)
	from, to := 0, size
	if size > maxShown {
		from = max(0, min(at-maxShown/2, size-maxShown))
		to = from + maxShown
	}
	part := func(text string, from, to int) string {
		return text[min(max(0, from), len(text)):min(max(0, to), len(text))]
	}
	shown := part(e.before, from, to) + part(e.rest, from-len(e.before), to-len(e.before))
	line, caret = printable.Line(shown), Caret(shown, at-from)
	if from > 0 {
		line, caret = cut+line, " "+caret
	}
	if to < size {
		line += cut
	}
	return line, caret
}

// Caret returns a line with a caret to show below a text, at a byte offset. It has the tabs of the text, so it fits
// at any tab width.
func Caret(text string, offset int) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case i >= offset:
		case r == '\t':
			b.WriteByte('\t')
		default:
			b.WriteByte(' ')
		}
	}
	return b.String() + "^"
}

// Offset returns the byte offset in an expression that an error is about: the result of the method Offset that the
// error, or one that it wraps, has. It returns 0 without such a method.
func Offset(err error) int {
	if at, ok := errors.AsType[interface {
		error
		Offset() int
	}](err); ok {
		return at.Offset()
	}
	return 0
}

// Clip returns a text for a message on a terminal: at most 2,000 bytes of it, with characters that are not printable
// replaced.
func Clip(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return printable.Line(s)
}
