package main

import "strings"

// blanks are what may stand between the parts of an expression.
const blanks = " \t\r\n\v\f"

// forgotten reports whether a syntax error at an offset may come from a parenthesis that is not closed: the
// expression has come to its end.
func forgotten(expr string, offset int) bool {
	end := len(strings.TrimRight(expr, blanks))
	return offset >= end-1 && unclosed(expr)
}

// unclosed reports whether more parentheses are opened than closed, those in strings, patterns and names of instances aside.
func unclosed(expr string) bool {
	depth := 0
	last := byte(0) // that is no blank
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		end := byte(0)
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '"':
			end = '"'
		case c == '[':
			end = ']'
		case c == '/' && (last == '(' || last == '!'):
			end = '/'
		}
		if end != 0 {
			for i++; i < len(expr) && expr[i] != end; i++ {
				if expr[i] == '\\' {
					i++
				}
			}
		}
		if strings.IndexByte(blanks, c) < 0 {
			last = c
		}
	}
	return depth > 0
}
