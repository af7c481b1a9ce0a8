package syntax

import (
	"strconv"
	"strings"
	"unicode"

	"pmdaderived/internal/blank"
)

// scanner reads the tokens of a text, one at a time. A mistake in a token is found only when the parser asks for it: so
// the first mistake of the text is reported.
type scanner struct {
	text string
	pos  int // of the first byte that is not read
}

// next reads the next token. A "/" begins a pattern if pattern is set, otherwise it is the operator.
// At the end of the text every call returns tokEnd, whose Span is the last byte.
func (s *scanner) next(pattern bool) (token, *Error) {
	for s.pos < len(s.text) && blank.Is(s.text[s.pos]) {
		s.pos++
	}
	if s.pos == len(s.text) {
		last := max(0, len(s.text)-1)
		return token{kind: tokEnd, at: Span{last, len(s.text)}}, nil
	}
	switch c := s.text[s.pos]; {
	case isLetter(c):
		return s.name(), nil
	case isDigit(c) || c == '.':
		return s.number()
	case c == '"':
		return s.quoted()
	case c == '[':
		return s.escaped(tokInstance, ']', "unterminated instance name")
	case c == '/' && pattern:
		return s.escaped(tokPattern, '/', "unterminated pattern")
	}
	return s.symbol()
}

// name reads a metric name, a reserved word, or a function word with its parenthesis.
func (s *scanner) name() token {
	start := s.pos
	for s.pos < len(s.text) && isNameByte(s.text[s.pos]) {
		s.pos++
	}
	t := token{kind: tokName, text: s.text[start:s.pos]}
	switch t.text {
	case "type", "semantics", "units":
		t.kind = tokKey
	default:
		if strings.HasPrefix(s.text[s.pos:], "(") {
			if t.fn = functionOf(t.text); t.fn != 0 {
				s.pos++
				t.kind, t.text = tokFunc, s.text[start:s.pos]
			}
		}
	}
	t.at = Span{start, s.pos}
	return t
}

// number reads digits with at most one point. A point alone is a number, too. Integers have 32 bits without a sign.
func (s *scanner) number() (token, *Error) {
	start, kind := s.pos, tokInt
	for s.pos < len(s.text) {
		if s.text[s.pos] == '.' && kind == tokInt {
			kind = tokDouble
		} else if !isDigit(s.text[s.pos]) {
			break
		}
		s.pos++
	}
	t := token{kind: kind, text: s.text[start:s.pos], at: Span{start, s.pos}}
	if kind == tokInt {
		num, err := strconv.ParseUint(t.text, 10, 32)
		if err != nil {
			return token{}, &Error{At: start, Msg: "Constant value too large"}
		}
		t.num = uint32(num)
	}
	return t, nil
}

// quoted reads a string in double quotes. There are no escapes in it.
func (s *scanner) quoted() (token, *Error) {
	start := s.pos
	n := strings.IndexByte(s.text[start+1:], '"')
	if n < 0 {
		return token{}, &Error{At: start, Msg: "unterminated STRING"}
	}
	s.pos = start + 1 + n + 1
	return token{kind: tokString, text: s.text[start+1 : s.pos-1], at: Span{start, s.pos}}, nil
}

// escaped reads a token up to its closing delimiter. A byte after a backslash is never the delimiter.
func (s *scanner) escaped(k kind, closing byte, unterminated string) (token, *Error) {
	start := s.pos
	for i := start + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case closing:
			s.pos = i + 1
			return token{kind: k, text: Unescape(s.text[start+1 : i]), at: Span{start, s.pos}}, nil
		}
	}
	return token{}, &Error{At: start, Msg: unterminated}
}

// Unescape returns text with each \x replaced by x. A backslash at the end stays.
func Unescape(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// marks are the punctuation marks, in the order of their kinds from tokNot on.
const marks = "!?:(),="

// symbol reads an operator or a punctuation mark. If two operators fit, it reads the longer one: "<=", not "<".
func (s *scanner) symbol() (token, *Error) {
	rest := s.text[s.pos:]
	t, width := token{}, 0
	for op := Add; op <= Or; op++ {
		if text := op.String(); len(text) > width && strings.HasPrefix(rest, text) {
			t.kind, t.op, width = tokOp, op, len(text)
		}
	}
	if width == 0 {
		mark := strings.IndexByte(marks, rest[0])
		if mark < 0 {
			return token{}, &Error{At: s.pos, Msg: "Illegal character"}
		}
		t.kind, width = tokNot+kind(mark), 1
	}
	t.at = Span{s.pos, s.pos + width}
	s.pos += width
	return t, nil
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isLetter(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '.' }
func isNameRune(r rune) bool { return r <= unicode.MaxASCII && isNameByte(byte(r)) }
