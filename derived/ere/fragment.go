package ere

import (
	"fmt"
	"strings"
)

// fragment is a part of a pattern, written for Go's regexp.
type fragment struct {
	text string
	size int // instructions it takes, roughly, when its intervals are written out

	// What is known of the first and the last byte, or of the neighbour of a place that takes none.
	first, last edge
	empty       bool // it takes no byte, whatever it matches
	wordEdge    byte // '<' or '>' is that assertion, for which join writes what Go has
}

// edge says what a byte may be.
type edge uint8

const (
	edgeAny  edge = iota
	edgeWord      // a letter, a digit or _
	edgeRest      // any other byte; or the subject begins or ends there
)

func (e edge) or(other edge) edge {
	if e == other {
		return e
	}
	return edgeAny
}

func edgeOf(c byte) edge {
	if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' {
		return edgeWord
	}
	return edgeRest
}

// one is a fragment that takes one byte.
func one(text string, e edge) fragment { return fragment{text: text, size: 1, first: e, last: e} }

func char(c byte) fragment { return one(literal(c), edgeOf(c)) }

// literal is c where Go's regexp reads it as itself, in brackets and outside.
func literal(c byte) string {
	if edgeOf(c) == edgeWord {
		return string(rune(c))
	}
	return fmt.Sprintf(`\x%02x`, c)
}

// join puts fragments one after the other.
func (p *parser) join(parts []fragment) fragment {
	after := make([]edge, len(parts)+1) // what is known of the byte after part i-1
	for i := len(parts) - 1; i >= 0; i-- {
		after[i] = parts[i].first.past(parts[i], after[i+1])
	}
	all := fragment{first: after[0], empty: true}
	var text strings.Builder
	for i, part := range parts {
		if part.wordEdge != 0 {
			if !decided(part.wordEdge, all.last, after[i+1]) {
				p.fail(ErrWordEdge)
			}
			part.text = `\b`
		}
		text.WriteString(part.text)
		all.size += part.size
		all.last = part.last.past(part, all.last)
		all.empty = all.empty && part.empty
	}
	all.text = text.String()
	return all
}

// past is what is known at an end of a fragment, or if it takes no byte and tells nothing, beyond it.
func (e edge) past(f fragment, beyond edge) edge {
	if e == edgeAny && f.empty {
		return beyond
	}
	return e
}

// decided says whether \b between two edges is all that a word edge asks for.
func decided(wordEdge byte, before, after edge) bool {
	if wordEdge == '<' {
		return before == edgeRest || after == edgeWord
	}
	return before == edgeWord || after == edgeRest
}

// choice is any one of branches.
func choice(branches []fragment) fragment {
	all := branches[0]
	texts := []string{all.text}
	for _, branch := range branches[1:] {
		texts = append(texts, branch.text)
		all.size += branch.size + 1
		all.first = all.first.or(branch.first)
		all.last = all.last.or(branch.last)
		all.empty = all.empty && branch.empty
	}
	all.text = strings.Join(texts, "|")
	return all
}

// times says how often a fragment is repeated.
type times struct{ low, high int }

// unlimited is the high of times without an upper bound.
const unlimited = maxRepeat + 1

// again is what t, repeated by u, comes to where that is times, too: "+?" is "*".
func (t times) again(u times) (times, bool) {
	plain := func(t times) bool { return t.low <= 1 && (t.high == 1 || t.high == unlimited) }
	switch {
	case t.high == 0 || u.high == 0:
		return times{}, true
	case plain(t) && plain(u):
		return times{t.low * u.low, max(t.high, u.high)}, true
	}
	return times{}, false
}

func (p *parser) repeat(f fragment, t times) fragment {
	copies, operator := t.high, fmt.Sprintf("{%d,%d}", t.low, t.high)
	switch {
	case t == times{1, 1}:
		return f
	case t.high == unlimited:
		copies, operator = max(t.low, 1), fmt.Sprintf("{%d,}", t.low)
	}
	f.text = "(?:" + f.text + ")" + operator
	f.size = (f.size + 1) * copies
	if t.low == 0 {
		f.first, f.last = edgeAny, edgeAny
	}
	if f.size > maxProgram {
		p.fail(ErrSize)
	}
	return f
}
