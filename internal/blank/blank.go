// Package blank has the characters that isspace(3) treats as blanks in the C locale, as libpcp does.
package blank

import "strings"

// All has every blank.
const All = " \t\n\v\f\r"

// Is reports whether a byte is a blank.
func Is(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Skip returns the offset of the first byte of text, at or after from, that is not blank.
func Skip(text string, from int) int {
	return len(text) - len(strings.TrimLeft(text[from:], All))
}
