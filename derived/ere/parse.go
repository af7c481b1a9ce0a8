package ere

// Limits of a pattern; one that exceeds them is refused with ErrSize.
const (
	maxPattern = 64 << 10  // bytes
	maxDepth   = 1000      // groups in groups
	maxRepeat  = 1000      // the largest number in an interval, and their product where one is inside another
	maxProgram = 128 << 10 // instructions, about one for each byte when intervals are written out
)

// parser writes a pattern anew for Go's regexp, by recursive descent. Which fault is found first, and
// so which error is reported, follows from reading strictly left to right: the first one stays, and behind it
// the pattern is at its end.
type parser struct {
	pattern string
	at      int   // offset of what follows token
	token   token // not yet consumed
	nest    int   // open groups
	groups  int   // groups opened so far
	err     error // the first fault
}

// token is one piece of a pattern outside a bracket expression, which has rules of its own (bracket.go).
type token struct {
	kind tokenKind
	char byte // without the backslash
}

type tokenKind uint8

const (
	tokenEnd       tokenKind = iota
	tokenPlain               // a character, be it special or not
	tokenEscaped             // a backslash and a character
	tokenBackslash           // a backslash with nothing after it
)

func (t token) is(plain byte) bool { return t == token{tokenPlain, plain} }

// translate returns what pattern is for Go's regexp, over subjects of which each byte is a character.
func translate(pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", ErrSize
	}
	p := &parser{pattern: pattern}
	p.advance()
	all := p.alternation()
	return "(?s)" + all.text, p.err
}

// fail is for a fault; it counts if it is the first.
func (p *parser) fail(err Error) {
	if p.err == nil {
		p.err, p.at, p.token = err, len(p.pattern), token{}
	}
}

func (p *parser) advance() {
	p.token = token{}
	if p.done() {
		return
	}
	p.token = token{tokenPlain, p.pattern[p.at]}
	p.at++
	if p.token.char != '\\' {
		return
	}
	p.token.kind = tokenBackslash
	if !p.done() {
		p.token = token{tokenEscaped, p.pattern[p.at]}
		p.at++
	}
}

func (p *parser) done() bool { return p.at >= len(p.pattern) }

// alternation reads branches between "|"; each of them may be empty.
func (p *parser) alternation() fragment {
	branches := []fragment{p.branch()}
	for p.token.is('|') {
		p.advance()
		branches = append(branches, p.branch())
	}
	return choice(branches)
}

// branch reads expressions up to "|", the end, or the ")" of the group it is in.
func (p *parser) branch() fragment {
	var sequence []fragment
	for !p.atBranchEnd() {
		sequence = append(sequence, p.expression())
	}
	return p.join(sequence)
}

func (p *parser) atBranchEnd() bool {
	return p.token.kind == tokenEnd || p.token.is('|') || p.token.is(')') && p.nest > 0
}

// expression reads an atom and the repetitions after it. Assertions take no repetition: the
// operator in "^*" has nothing to repeat and is an error.
func (p *parser) expression() fragment {
	if f, ok := assertion(p.token); ok {
		p.advance()
		return f
	}
	f, all := p.atom(), times{1, 1}
	for {
		var next times
		switch {
		case p.token.is('*'):
			next = times{0, unlimited}
		case p.token.is('+'):
			next = times{1, unlimited}
		case p.token.is('?'):
			next = times{0, 1}
		case p.token.is('{'):
			next = p.interval()
		default:
			return p.repeat(f, all)
		}
		p.advance()
		both, ok := all.again(next)
		if !ok {
			f, both = p.repeat(f, all), next
		}
		all = both
	}
}

// atom reads what a repetition applies to. A ")" without "(", and a "}" without "{", stand for
// themselves.
func (p *parser) atom() (f fragment) {
	switch t := p.token; {
	case t.kind == tokenBackslash:
		p.fail(ErrEscape)
	case t.kind == tokenEscaped:
		f = p.escaped(t.char)
	case t.is('('):
		return p.group()
	case t.is('['):
		f = p.bracket()
	case t.is('.'):
		f = one(".", edgeAny)
	case t.is('*'), t.is('+'), t.is('?'), t.is('{'):
		p.fail(ErrBadRpt)
	default:
		f = char(t.char)
	}
	p.advance()
	return f
}

// escaped is \c for what is no assertion. All but the GNU extensions stand for themselves: \n is an
// n and \d a d.
func (p *parser) escaped(c byte) fragment {
	switch c {
	case 'w':
		return one(`\w`, edgeWord)
	case 'W':
		return one(`\W`, edgeRest)
	case 's':
		return one("[[:space:]]", edgeRest) // \s of Go's regexp lacks the vertical tab
	case 'S':
		return one("[[:^space:]]", edgeAny)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if int(c-'0') > p.groups {
			p.fail(ErrSubReg)
		}
		p.fail(ErrBackref)
	}
	return char(c)
}

// assertion is a condition on the place between two bytes.
func assertion(t token) (f fragment, ok bool) {
	f = fragment{size: 1, empty: true}
	switch t {
	case token{tokenPlain, '^'}, token{tokenEscaped, '`'}:
		f.text, f.last = `\A`, edgeRest
	case token{tokenPlain, '$'}, token{tokenEscaped, '\''}:
		f.text, f.first = `\z`, edgeRest
	case token{tokenEscaped, 'b'}, token{tokenEscaped, 'B'}:
		f.text = `\` + string(rune(t.char))
	case token{tokenEscaped, '<'}, token{tokenEscaped, '>'}:
		f.wordEdge = t.char
	default:
		return fragment{}, false
	}
	return f, true
}

func (p *parser) group() fragment {
	if p.nest == maxDepth {
		p.fail(ErrSize)
	}
	p.nest++
	p.groups++
	p.advance()
	inner := p.alternation()
	if !p.token.is(')') {
		p.fail(ErrParen)
	}
	p.nest--
	p.advance()
	inner.text = "(" + inner.text + ")"
	inner.size += 2
	return inner
}

// interval reads "{n}", "{n,}", "{,m}" or "{n,m}" and leaves the "}" as the current token.
func (p *parser) interval() times {
	low, valid := p.number()
	if low == noNumber && valid {
		if p.token.char != ',' {
			p.fail(ErrBadBr)
		}
		low = 0
	}
	high := low
	if valid && !p.token.is('}') {
		high, valid = p.number()
	}
	switch {
	case !valid && p.token.kind == tokenEnd:
		p.fail(ErrBrace)
	case !valid, !p.token.is('}'), high != noNumber && low > high:
		p.fail(ErrBadBr)
	case max(low, high) > maxRepeat:
		p.fail(ErrSize)
	case high == noNumber:
		high = unlimited
	}
	return times{low, high}
}

// noNumber is the value of a number without digits.
const noNumber = -1

// number reads up to a comma or the end of the interval, which becomes the current token, and
// tells whether there were only digits before it. Numbers above maxRepeat are cut to maxRepeat+1.
//
// As in the C library an escaped digit or comma does the same as a bare one.
func (p *parser) number() (n int, valid bool) {
	n, valid = noNumber, true
	for {
		p.advance()
		switch c := p.token.char; {
		case p.token.kind == tokenEnd:
			return n, false
		case p.token.is('}'), c == ',':
			return n, valid
		case c < '0' || c > '9' || p.token.kind == tokenEscaped && c != '0':
			valid = false
		default:
			n = min(max(n, 0)*10+int(c-'0'), maxRepeat+1)
		}
	}
}
