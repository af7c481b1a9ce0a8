package ere

import "strings"

// maxBracketName is the longest name in [:name:], [.name.] or [=name=], in bytes, that is looked
// up; behind a longer one the C library no longer sees the end.
const maxBracketName = 31

// elementKind says what one element of a bracket expression is.
type elementKind uint8

const (
	elementChar    elementKind = iota
	elementCollate             // [.x.]
	elementEquiv               // [=x=]
	elementClass               // [:name:]
)

// element is one element of a bracket expression; text is the character or the name.
type element struct {
	kind elementKind
	text string
}

// bracket reads the rest of a bracket expression; the scanner stands behind its "[".
//
// A backslash is an ordinary character here, and so are "]" in the first place and "-" in the
// first or last one, or as the end of a range.
func (p *parser) bracket() (byteSet, error) {
	var set byteSet
	negated := p.accept('^')
	if p.done() {
		return set, ErrBadPat
	}
	for first := true; first || !p.accept(']'); first = false {
		if err := p.bracketTerm(&set, first); err != nil {
			return set, err
		}
		if p.done() {
			return set, ErrBrack
		}
	}
	if negated {
		set = set.complement()
	}
	return set, nil
}

// bracketTerm reads one element or one range into set.
func (p *parser) bracketTerm(set *byteSet, first bool) error {
	if p.peek(0) == '-' && !first && p.peek(1) != ']' {
		return ErrRange
	}
	start, err := p.element()
	if err != nil {
		return err
	}
	ranged, err := p.acceptRange(start)
	if err != nil {
		return err
	}
	if !ranged {
		return start.addTo(set)
	}
	end, err := p.element()
	if err != nil {
		return err
	}
	return addSpan(set, start, end)
}

// acceptRange takes the "-" of a range after its first element.
func (p *parser) acceptRange(start element) (bool, error) {
	if start.kind == elementClass || start.kind == elementEquiv {
		return false, nil
	}
	if p.done() {
		return false, ErrBrack
	}
	if p.peek(0) != '-' || p.peek(1) == ']' {
		return false, nil
	}
	p.at++
	if p.done() {
		return false, ErrBrack
	}
	return true, nil
}

// element reads a character or one of the [: :], [. .] and [= =] forms.
func (p *parser) element() (element, error) {
	kind := elementChar
	if p.peek(0) == '[' {
		switch p.peek(1) {
		case '.':
			kind = elementCollate
		case '=':
			kind = elementEquiv
		case ':':
			kind = elementClass
		}
	}
	if kind == elementChar {
		p.at++
		return element{text: p.pattern[p.at-1 : p.at]}, nil
	}
	rest := p.pattern[p.at+2:]
	length := strings.Index(rest, string([]byte{p.peek(1), ']'}))
	if length < 0 || length > maxBracketName {
		return element{}, ErrBrack
	}
	p.at += 2 + length + 2
	return element{kind: kind, text: rest[:length]}, nil
}

// addTo adds what the element stands for when it is not part of a range. In the C locale a
// character is the only collating element there is, and equivalent to itself alone.
func (e element) addTo(set *byteSet) error {
	if e.kind == elementClass {
		class, known := classSet(e.text)
		if !known {
			return ErrCType
		}
		set.addSet(class)
		return nil
	}
	if len(e.text) != 1 {
		return ErrCollate
	}
	set.add(e.text[0])
	return nil
}

// addSpan adds the range from start to end, by byte value.
func addSpan(set *byteSet, start, end element) error {
	if end.kind == elementClass || end.kind == elementEquiv {
		return ErrRange
	}
	if len(start.text) != 1 || len(end.text) != 1 {
		return ErrCollate
	}
	if start.text[0] > end.text[0] {
		return ErrRange
	}
	set.addRange(start.text[0], end.text[0])
	return nil
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
