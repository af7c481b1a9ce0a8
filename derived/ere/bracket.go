package ere

import "strings"

// maxBracketName is the longest name in [:name:], [.name.] or [=name=], in bytes, that is looked
// up; behind a longer one the C library no longer sees the end.
const maxBracketName = 31

// element is one element of a bracket expression: a character, or what is named in [.x.], [=x=] or
// [:name:].
type element struct {
	kind byte // '.', '=' or ':', or 0 for a character
	text string
}

// bracket reads the rest of a bracket expression; its "[" is the current token.
//
// A backslash is an ordinary character here, and so are "]" in the first place and "-" in the
// first or last one, or as the end of a range.
func (p *parser) bracket() fragment {
	open := "["
	if p.accept('^') {
		open = "[^"
	}
	if p.done() {
		p.fail(ErrBadPat)
	}
	first := p.bracketTerm(true)
	texts, members := []string{open, first.text}, first.first
	for p.err == nil && !p.accept(']') {
		term := p.bracketTerm(false)
		texts = append(texts, term.text)
		members = members.or(term.first)
	}
	if open == "[^" {
		members = edgeAny
	}
	return one(strings.Join(append(texts, "]"), ""), members)
}

// bracketTerm reads one element or one range; something has to follow it.
func (p *parser) bracketTerm(first bool) (term fragment) {
	if p.peek(0) == '-' && !first && p.peek(1) != ']' {
		p.fail(ErrRange)
	}
	start := p.element()
	if p.acceptRange(start) {
		term = p.span(start, p.element())
	} else {
		term = p.alone(start)
	}
	if p.done() {
		p.fail(ErrBrack)
	}
	return term
}

// acceptRange takes the "-" of a range after its first element.
func (p *parser) acceptRange(start element) bool {
	if start.kind == ':' || start.kind == '=' {
		return false
	}
	if p.done() {
		p.fail(ErrBrack)
	}
	if p.peek(0) != '-' || p.peek(1) == ']' {
		return false
	}
	p.at++
	if p.done() {
		p.fail(ErrBrack)
	}
	return true
}

// element reads a character or one of the [: :], [. .] and [= =] forms.
func (p *parser) element() element {
	if p.done() {
		return element{} // a fault
	}
	kind := p.peek(1)
	if p.peek(0) != '[' || kind != '.' && kind != '=' && kind != ':' {
		p.at++
		return element{text: p.pattern[p.at-1 : p.at]}
	}
	rest := p.pattern[p.at+2:]
	length := strings.Index(rest, string([]byte{kind, ']'}))
	if length < 0 || length > maxBracketName {
		p.fail(ErrBrack)
		return element{}
	}
	p.at += 2 + length + 2
	return element{kind: kind, text: rest[:length]}
}

// alone is what an element stands for when it is not part of a range. In the C locale a
// character is the only collating element there is, and equivalent to itself alone.
func (p *parser) alone(e element) fragment {
	if e.kind == ':' {
		edge, known := classEdge(e.text)
		if !known {
			p.fail(ErrCType)
		}
		return one("[:"+e.text+":]", edge)
	}
	if len(e.text) != 1 {
		p.fail(ErrCollate)
		return fragment{}
	}
	return char(e.text[0])
}

// span is the range from start to end, by byte value.
func (p *parser) span(start, end element) fragment {
	switch {
	case end.kind == ':' || end.kind == '=':
		p.fail(ErrRange)
		return fragment{}
	case len(start.text) != 1 || len(end.text) != 1:
		p.fail(ErrCollate)
		return fragment{}
	}
	low, high := start.text[0], end.text[0]
	if low > high {
		p.fail(ErrRange)
	}
	members := edgeOf(low)
	for c := int(low); c <= int(high); c++ {
		members = members.or(edgeOf(byte(c)))
	}
	return one(literal(low)+"-"+literal(high), members)
}

// classEdge says whether there is a character class [:name:], and what its members are. Go's regexp
// has the same ones, and more.
func classEdge(name string) (e edge, known bool) {
	switch name {
	case "alnum", "alpha", "digit", "lower", "upper", "xdigit":
		return edgeWord, true
	case "blank", "cntrl", "space":
		return edgeRest, true
	case "graph", "print", "punct":
		return edgeAny, true
	}
	return edgeAny, false
}

// peek returns the byte n places ahead, 0 behind the end.
func (p *parser) peek(n int) byte {
	if p.at+n >= len(p.pattern) {
		return 0
	}
	return p.pattern[p.at+n]
}

// accept consumes c if it comes next.
func (p *parser) accept(c byte) bool {
	if p.peek(0) != c {
		return false
	}
	p.at++
	return true
}
