package main

import (
	"slices"
	"strings"

	"pmdaderived/derived"
)

// functionMeant says which function a word may have been meant for that stands before a parenthesis which nobody
// expects; empty if the expression up to the offset does not end so.
func functionMeant(expr string, offset int) string {
	before, ok := strings.CutSuffix(expr[:min(max(offset, 0), len(expr))], "(")
	if !ok {
		return ""
	}
	text := strings.TrimRight(before, blanks)
	start := len(text)
	for start > 0 && inWord(text[start-1]) {
		start--
	}
	word := text[start:]
	if word == "" || word[0] >= '0' && word[0] <= '9' {
		return ""
	}
	names := derived.FunctionNames()
	if slices.Contains(names, word) {
		return word + " is a function only if its parenthesis follows at once"
	}
	lower := strings.ToLower(word)
	best, least := "", len(word)
	for _, name := range names {
		most := 1 + len(name)/6 // slips; more makes another word
		n := distance(lower, name, most)
		if strings.HasPrefix(lower, name) { // maximum, matchinstance
			n = min(n, most)
		}
		if n <= most && n < least {
			best, least = name, n
		}
	}
	if lower == "average" || lower == "mean" {
		best = "avg"
	}
	if best == "" {
		return "there is no function " + word + "; there are " + strings.Join(names, ", ")
	}
	return "there is no function " + word + "; is " + best + " meant?"
}

// inWord reports whether a byte may be part of a name.
func inWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
