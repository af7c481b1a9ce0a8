package ere

// tokenKind says what a piece of a pattern outside a bracket expression is.
type tokenKind uint8

const (
	tokenEnd           tokenKind = iota // end of the pattern
	tokenChar                           // the character itself, escaped or ordinary
	tokenAny                            // .
	tokenAlternate                      // |
	tokenStar                           // *
	tokenPlus                           // +
	tokenQuestion                       // ?
	tokenOpenInterval                   // {
	tokenCloseInterval                  // }
	tokenOpenGroup                      // (
	tokenCloseGroup                     // )
	tokenOpenBracket                    // [
	tokenAssert                         // ^ $ and \b \B \< \> \` \'
	tokenClass                          // \w \W \s \S
	tokenBackref                        // \1 to \9
	tokenBackslash                      // a backslash with nothing after it
)

// token is one piece of a pattern; char is the character that tells it from others of its kind,
// without the backslash.
type token struct {
	kind tokenKind
	char byte
}

// scanner cuts a pattern into tokens. A bracket expression has rules of its own (bracket.go).
type scanner struct {
	pattern string
	at      int // offset of the next token
}

func (s *scanner) done() bool { return s.at >= len(s.pattern) }

func (s *scanner) next() token {
	if s.done() {
		return token{kind: tokenEnd}
	}
	c := s.pattern[s.at]
	s.at++
	if c != '\\' {
		return token{kind: plainKind(c), char: c}
	}
	if s.done() {
		return token{kind: tokenBackslash, char: c}
	}
	c = s.pattern[s.at]
	s.at++
	return token{kind: escapedKind(c), char: c}
}

func plainKind(c byte) tokenKind {
	switch c {
	case '.':
		return tokenAny
	case '|':
		return tokenAlternate
	case '*':
		return tokenStar
	case '+':
		return tokenPlus
	case '?':
		return tokenQuestion
	case '{':
		return tokenOpenInterval
	case '}':
		return tokenCloseInterval
	case '(':
		return tokenOpenGroup
	case ')':
		return tokenCloseGroup
	case '[':
		return tokenOpenBracket
	case '^', '$':
		return tokenAssert
	}
	return tokenChar
}

// escapedKind tells what \c is. Everything that is not a GNU extension stands for itself:
// \n is an n and \d a d.
func escapedKind(c byte) tokenKind {
	switch c {
	case 'b', 'B', '<', '>', '`', '\'':
		return tokenAssert
	case 'w', 'W', 's', 'S':
		return tokenClass
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return tokenBackref
	}
	return tokenChar
}
