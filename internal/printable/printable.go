// Package printable makes texts that come from outside fit for a terminal and for other programs.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Append appends a text without bytes that are not UTF-8 and without characters that are not printable, since these
// could control a terminal. It writes them as Go does, such as \x1b. The characters in kept stay.
func Append(b []byte, text, kept string) []byte {
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) || strings.ContainsRune(kept, r) {
			b = append(b, text[:size]...)
		} else {
			start := len(b)
			b = strconv.AppendQuote(b, text[:size])
			b = append(b[:start], b[start+1:len(b)-1]...)
		}
		text = text[size:]
	}
	return b
}

// Escaped returns a text with everything that is not printable written as in Go, such as \n, \x1b or \xff, except
// tabs. It is for names of files, which may have any bytes, and for messages of one line. Different texts without
// backslashes stay different.
func Escaped(text string) string { return string(Append(nil, text, "\t")) }

// Line returns a text that fits on one line of a terminal: with blanks for line ends, and one character for each other
// that is not printable, so that columns stay.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || unicode.IsPrint(r):
			return r
		case r == '\n':
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}
