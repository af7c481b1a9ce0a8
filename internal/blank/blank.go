// Package blank knows what isspace(3) takes for a blank in the C locale, as libpcp does.
package blank

import "strings"

// All are the blanks.
const All = " \t\n\v\f\r"

// Is reports whether a byte is a blank.
func Is(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Skip returns the offset of the first byte of a text, from an offset on, that is not blank.
func Skip(text string, from int) int {
	return len(text) - len(strings.TrimLeft(text[from:], All))
}
