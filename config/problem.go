package config

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity says what became of the text that a Problem is about.
type Severity int

// The severities.
const (
	Error   Severity = iota // refused
	Warning                 // taken, perhaps not as meant
	Note                    // taken; good to know
)

// String gives "error", "warning" or "note".
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// MarshalText makes text and JSON logs agree.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Position is a place in a file. Lines and columns count from 1, columns in bytes; a line of 0
// means the file as a whole.
type Position struct {
	File   string // as named in the path list, or below a directory of it
	Line   int
	Column int
}

// String gives "file:line:column", or as much of it as there is.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problem is something to tell the author of a file. It is an error, whatever its severity.
type Problem struct {
	Pos      Position
	Severity Severity
	Msg      string

	// Line is the source line of Pos and Caret a line with a caret to show below it; both are
	// empty where Pos has no line. They are fit for a terminal: bytes that are not printable
	// UTF-8 are replaced, and of a very long line only the part around the caret is there.
	Line, Caret string

	Code string // kind of warning or note, "" for some errors; it stays what it is: people silence them by it
	Name string // of the definition concerned, if any
	Path string // of the file or directory that was not read, if that is the problem

	// Replaced is the place of what the definition or text at Pos takes the place of; its File is empty if that is not
	// the problem.
	Replaced Position

	Err error // the reason behind Msg, if there is one: what Accept returned, an *fs.PathError
}

// Error gives "file:line:column: message" and, if there is one, the source line with its caret.
func (p *Problem) Error() string {
	text := p.Pos.String() + ": " + p.Msg
	if p.Caret != "" {
		text += "\n" + p.Line + "\n" + p.Caret
	}
	return text
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Excerpt makes a source line and a column of it, counted in bytes from 1, fit for a terminal, as in
// [Problem].
func Excerpt(source string, column int) (line, caret string) {
	const cut = "…"
	at := max(0, min(column-1, len(source)))
	from, to := 0, len(source)
	if len(source) > maxShown {
		from = max(0, min(at-maxShown/2, len(source)-maxShown))
		to = from + maxShown
	}

	shown := source[from:to]
	line, caret = strings.Map(printable, shown), Caret(shown, at-from)
	if from > 0 {
		line, caret = cut+line, " "+caret
	}
	if to < len(source) {
		line += cut
	}
	return line, caret
}

// Caret is a line with a caret to show below a text, at a byte of it. It has the tabs of the text, so it fits at any tab width.
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

// Offset is the place in an expression that an error is about, if it has or wraps one that has a method Offset; else 0.
func Offset(err error) int {
	if at, ok := errors.AsType[interface {
		error
		Offset() int
	}](err); ok {
		return at.Offset()
	}
	return 0
}

// Clip makes a text that a message quotes fit for a terminal.
func Clip(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return strings.Map(printable, s)
}

// Printable writes what is not printable in a text as Go does, such as \n, \x1b or \xff, but leaves tabs: it is for names of
// files, which may have any bytes, and for what is said in one line. Different texts stay different, unless they have
// backslashes.
func Printable(text string) string {
	odd := func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if odd(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.Quote(text[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printable replaces what would move a terminal's cursor or hide itself.
func printable(r rune) rune {
	if r != '\t' && !unicode.IsPrint(r) {
		return unicode.ReplacementChar
	}
	return r
}
