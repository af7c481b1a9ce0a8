package ere

// Limits of a pattern; one that exceeds them is refused with ErrSize.
const (
	maxPattern = 64 << 10 // bytes
	maxDepth   = 1000     // groups in groups, and repetitions of repetitions
	maxRepeat  = 32767    // RE_DUP_MAX of the C library: largest number in an interval
)

// lastBackref is the largest group number a back-reference can name.
const lastBackref = 9

// parser builds the tree of a pattern by recursive descent. Which fault is found first, and so
// which error is reported, follows from reading strictly left to right.
type parser struct {
	scanner
	token  token // not yet consumed
	nest   int   // open groups
	groups int   // groups opened so far
	closed uint  // bit n: group n is complete here and may be referred to
}

func parse(pattern string) (*node, error) {
	if len(pattern) > maxPattern {
		return nil, ErrSize
	}
	p := &parser{scanner: scanner{pattern: pattern}}
	p.advance()
	return p.alternation()
}

func (p *parser) advance() { p.token = p.next() }

// alternation reads branches between "|"; each of them may be empty.
//
// A group that one branch completes cannot be referred to in the next one, but after the
// alternation it can.
func (p *parser) alternation() (*node, error) {
	before, after := p.closed, p.closed
	var branches []*node
	for {
		p.closed = before
		branch, err := p.branch()
		if err != nil {
			return nil, err
		}
		after |= p.closed
		branches = append(branches, branch)
		if p.token.kind != tokenAlternate {
			p.closed = after
			return list(nodeAlternate, branches), nil
		}
		p.advance()
	}
}

// branch reads expressions up to "|", the end, or the ")" of the group it is in.
func (p *parser) branch() (*node, error) {
	var sequence []*node
	for !p.atBranchEnd() {
		expression, err := p.expression()
		if err != nil {
			return nil, err
		}
		sequence = append(sequence, expression)
	}
	return list(nodeConcat, sequence), nil
}

func (p *parser) atBranchEnd() bool {
	kind := p.token.kind
	return kind == tokenEnd || kind == tokenAlternate || kind == tokenCloseGroup && p.nest > 0
}

// expression reads an atom and the repetitions after it. Assertions take no repetition: the
// operator in "^*" has nothing to repeat and is an error.
func (p *parser) expression() (*node, error) {
	if p.token.kind == tokenAssert {
		n := &node{kind: nodeAssert, assertion: assertionOf(p.token.char), depth: 1}
		p.advance()
		return n, nil
	}
	n, err := p.atom()
	for err == nil {
		switch p.token.kind {
		case tokenStar:
			n, err = repeat(n, 0, unlimited)
		case tokenPlus:
			n, err = repeat(n, 1, unlimited)
		case tokenQuestion:
			n, err = repeat(n, 0, 1)
		case tokenOpenInterval:
			var low, high int
			if low, high, err = p.interval(); err == nil {
				n, err = repeat(n, low, high)
			}
		default:
			return n, nil
		}
		p.advance()
	}
	return nil, err
}

// atom reads what a repetition applies to. A ")" without "(", and a "}" without "{", stand for
// themselves.
func (p *parser) atom() (*node, error) {
	t := p.token
	var n *node
	switch t.kind {
	case tokenOpenGroup:
		return p.group()
	case tokenOpenBracket:
		set, err := p.bracket()
		if err != nil {
			return nil, err
		}
		n = leaf(set)
	case tokenBackref:
		group := int(t.char - '0')
		if p.closed&(1<<group) == 0 {
			return nil, ErrSubReg
		}
		n = &node{kind: nodeBackref, group: group, depth: 1}
	case tokenStar, tokenPlus, tokenQuestion, tokenOpenInterval:
		return nil, ErrBadRpt
	case tokenBackslash:
		return nil, ErrEscape
	case tokenAny:
		n = leaf(byteSet{}.complement())
	case tokenClass:
		n = leaf(escapeSet(t.char))
	default: // tokenChar, tokenCloseGroup, tokenCloseInterval
		n = leaf(single(t.char))
	}
	p.advance()
	return n, nil
}

func (p *parser) group() (*node, error) {
	if p.nest == maxDepth {
		return nil, ErrSize
	}
	p.nest++
	p.groups++
	number := p.groups
	p.advance()
	inner, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if p.token.kind != tokenCloseGroup {
		return nil, ErrParen
	}
	p.nest--
	p.advance()
	if number <= lastBackref {
		p.closed |= 1 << number
	}
	return deeper(&node{kind: nodeGroup, group: number}, inner)
}

// interval reads "{n}", "{n,}", "{,m}" or "{n,m}" and leaves the "}" as the current token.
func (p *parser) interval() (low, high int, err error) {
	low, valid := p.number()
	if low == noNumber && valid {
		if p.token.char != ',' {
			return 0, 0, ErrBadBr
		}
		low = 0
	}
	high = low
	if valid && p.token.kind != tokenCloseInterval {
		high, valid = p.number()
		if high == noNumber {
			high = unlimited
		}
	}
	switch {
	case !valid && p.token.kind == tokenEnd:
		return 0, 0, ErrBrace
	case !valid, p.token.kind != tokenCloseInterval, high != unlimited && low > high:
		return 0, 0, ErrBadBr
	case max(low, high) > maxRepeat:
		return 0, 0, ErrSize
	}
	return low, high, nil
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
		case p.token.kind == tokenCloseInterval, c == ',':
			return n, valid
		case p.token.kind != tokenChar, c < '0', c > '9':
			valid = false
		default:
			n = min(max(n, 0)*10+int(c-'0'), maxRepeat+1)
		}
	}
}

// repeat applies a repetition to n.
func repeat(n *node, low, high int) (*node, error) {
	switch {
	case high == 0:
		return &node{kind: nodeEmpty, depth: 1}, nil
	case n.kind == nodeRepeat && n.min == 0 && n.max == unlimited:
		return n, nil // nothing changes what "x*" matches
	}
	return deeper(&node{kind: nodeRepeat, min: low, max: high}, n)
}

// deeper makes child the only child of parent.
func deeper(parent, child *node) (*node, error) {
	parent.sub = []*node{child}
	parent.depth = child.depth + 1
	if parent.depth > maxDepth {
		return nil, ErrSize
	}
	return parent, nil
}

// list joins nodes without adding to the depth when there is nothing to join.
func list(kind nodeKind, nodes []*node) *node {
	switch len(nodes) {
	case 0:
		return &node{kind: nodeEmpty, depth: 1}
	case 1:
		return nodes[0]
	}
	n := &node{kind: kind, sub: nodes}
	for _, sub := range nodes {
		n.depth = max(n.depth, sub.depth)
	}
	return n
}

func leaf(set byteSet) *node { return &node{kind: nodeSet, set: set, depth: 1} }

func assertionOf(char byte) assertion {
	switch char {
	case '^', '`':
		return atStart
	case '$', '\'':
		return atEnd
	case '<':
		return atWordStart
	case '>':
		return atWordEnd
	case 'b':
		return atWordEdge
	default: // 'B'
		return notAtWordEdge
	}
}

func escapeSet(char byte) byteSet {
	space, _ := classSet("space")
	switch char {
	case 'w':
		return wordSet()
	case 'W':
		return wordSet().complement()
	case 's':
		return space
	default: // 'S'
		return space.complement()
	}
}
