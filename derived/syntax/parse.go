package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of what Parse accepts. They bound the stack of everything that recurses over a tree: a Go
// stack that overflows cannot be recovered.
const (
	// MaxText is the longest expression, in bytes.
	MaxText = 1 << 20

	// MaxDepth is the largest number of nodes on a path from the root of a tree to a leaf. An
	// operator chain is as deep as it is long: a+b+c is 3 nodes deep.
	MaxDepth = 10_000
)

// Literals judges the parts of an expression that have a language of their own, when they are
// read. The text of the error is the REASON in the syntax error. A nil field accepts everything.
type Literals struct {
	Units   func(text string) error // of rescale and the units of tags: pmParseUnitsStr(3)
	Pattern func(ere string) error  // of matchinst: regcomp(3) with REG_EXTENDED
}

// Limits are lower than MaxText and MaxDepth where somebody wants that. What is 0 or higher is MaxText or MaxDepth.
type Limits struct {
	Text  int // bytes
	Depth int // nodes on a path from the root of the tree to a leaf
}

// within returns the limits that are in force.
func (l Limits) within() Limits { return Limits{within(l.Text, MaxText), within(l.Depth, MaxDepth)} }

func within(limit, most int) int {
	if limit <= 0 || limit > most {
		return most
	}
	return limit
}

// Parse reads one definition: the text after the "=". It takes time linear in its length. The error
// is an *Error. The tree refers to text and keeps it alive.
func Parse(text string, lits Literals) (Expr, error) { return ParseWithin(text, lits, Limits{}) }

// ParseWithin is [Parse] with limits of one's own.
func ParseWithin(text string, lits Literals, limits Limits) (Expr, error) {
	limits = limits.within()
	if len(text) > limits.Text {
		return nil, &Error{Offset: limits.Text, Msg: fmt.Sprintf("Expression longer than %d bytes", limits.Text)}
	}
	p := parser{scan: scanner{text: text}, lits: lits, deepest: limits.Depth}
	return p.definition()
}

// Depth returns the largest number of nodes on a path from the root of a tree to a leaf.
func Depth(e Expr) int { return e.depth() }

// parser has one method per production of grammar.txt; operators go by binding power. Each method
// begins at the first token of its production and ends after the last one.
type parser struct {
	scan scanner
	lits Literals

	tok   token // the one to look at
	end   int   // where the token before it ended
	first int   // where the first token of the text begins

	open     []construct // what waits for its rest, innermost last
	deepest  int         // the limit of the depth
	depth    int         // calls of expr in progress
	argument bool        // the name about to be read begins the argument of a function
}

// advance goes on to the next token.
func (p *parser) advance() error { return p.scanNext(false) }

func (p *parser) scanNext(pattern bool) error {
	tok, err := p.scan.next(pattern)
	if err != nil {
		return err
	}
	p.end, p.tok = p.tok.at.End, tok
	return nil
}

// expect goes past a token of kind k, or refuses another one.
func (p *parser) expect(k kind) error {
	if p.tok.kind != k {
		return p.refuse()
	}
	return p.advance()
}

func (p *parser) begin(c construct) { p.open = append(p.open, c) }
func (p *parser) finish()           { p.open = p.open[:len(p.open)-1] }

// refuse is the error for a token that does not fit: the innermost open construct has the word.
func (p *parser) refuse() *Error {
	if len(p.open) == 0 {
		return p.fail("")
	}
	return p.fail(p.open[len(p.open)-1].message())
}

// fail is an error at the current token.
func (p *parser) fail(msg string) *Error { return &Error{Offset: p.tok.at.Start, Msg: msg} }

// swallow is the error of PCP for a token it only finds wrong after reading the one behind it.
func (p *parser) swallow(what string) error {
	found := p.tok
	if err := p.advance(); err != nil {
		return err
	}
	e := p.fail(what + " '" + p.scan.text[found.at.Start:found.at.End] + "'")
	e.call = found.kind == tokLParen
	return e
}

// node makes the common part of a node that begins at start, ends before the current token and has
// these operands; it refuses a tree that grows too high.
func (p *parser) node(start int, operands ...Expr) (node, error) {
	n := node{at: Span{start, p.end}, height: 1}
	for _, e := range operands {
		n.height = max(n.height, e.depth()+1)
	}
	if n.height > p.deepest {
		return node{}, p.tooDeep(start)
	}
	return n, nil
}

func (p *parser) tooDeep(offset int) *Error {
	return &Error{Offset: offset, Msg: fmt.Sprintf("Expression more than %d levels deep", p.deepest)}
}

// definition = expr .
func (p *parser) definition() (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	p.first = p.tok.at.Start
	switch p.tok.kind {
	case tokOp:
		if p.tok.op != Sub {
			return nil, p.swallow("Unexpected initial")
		}
	case tokQuest, tokColon, tokRParen:
		return nil, p.swallow("Unexpected initial")
	default:
	}

	e, err := p.expr(powerTernary)
	if err != nil {
		return nil, err
	}
	switch p.tok.kind {
	case tokEnd:
	case tokLParen, tokRParen:
		return nil, p.swallow("Unexpected")
	default:
		return nil, p.refuse()
	}
	return e, nil
}

// expr reads operands and the operators between them that have at least the power least.
func (p *parser) expr(least int) (Expr, error) {
	// Every call yields a node below that of the call around it: calls nest no deeper than the tree.
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > p.deepest {
		return nil, p.tooDeep(p.tok.at.Start)
	}

	x, err := p.operand()
	for err == nil {
		switch {
		case p.tok.kind == tokOp && p.tok.op.power() >= least:
			x, err = p.binary(x)
		case p.tok.kind == tokQuest && powerTernary >= least:
			x, err = p.ternary(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

// binary = x op expr, where expr binds tighter than op: chains fold to the left.
func (p *parser) binary(x Expr) (Expr, error) {
	op, pos := p.tok.op, p.tok.at.Start
	p.begin(construct{op: op})
	if err := p.advance(); err != nil {
		return nil, err
	}
	y, err := p.expr(op.power() + 1)
	if err != nil {
		return nil, err
	}
	p.finish()
	n, err := p.node(x.Span().Start, x, y)
	if err != nil {
		return nil, p.tooDeep(pos)
	}
	return &Binary{node: n, Op: op, OpPos: pos, X: x, Y: y}, nil
}

// ternary = guard "?" ( expr ":" ( expr | novalue ) | novalue ":" expr ), where the last expr is no bare
// ternary: chains fold to the left. A novalue() is the whole operand: what follows it goes on after the ternary.
func (p *parser) ternary(guard Expr) (Expr, error) {
	pos := p.tok.at.Start
	p.begin(construct{op: opQuest})
	if err := p.advance(); err != nil {
		return nil, err
	}
	then, none, err := p.selectable(powerTernary)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokColon {
		return nil, p.refuse()
	}
	if !none {
		p.finish()
		p.begin(construct{op: opColon})
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if none && p.atNoValue() {
		return nil, p.fail("novalue() can only be one of the two operands of a ternary")
	}
	otherwise, _, err := p.selectable(powerTernary + 1)
	if err != nil {
		return nil, err
	}
	p.finish()
	n, err := p.node(guard.Span().Start, guard, then, otherwise)
	if err != nil {
		return nil, p.tooDeep(pos)
	}
	return &Ternary{node: n, Guard: guard, Then: then, Else: otherwise}, nil
}

// selectable reads an operand of a ternary; none says that it is a novalue().
func (p *parser) selectable(least int) (e Expr, none bool, err error) {
	if p.atNoValue() {
		e, err = p.call()
		return e, true, err
	}
	e, err = p.expr(least)
	return e, false, err
}

func (p *parser) atNoValue() bool { return p.tok.kind == tokFunc && p.tok.fn == NoValue }

// operand = prefix | name | number | paren | call .
func (p *parser) operand() (Expr, error) {
	switch p.tok.kind {
	case tokOp:
		if p.tok.op == Sub {
			return p.prefix(Neg)
		}
	case tokNot:
		return p.prefix(Not)
	case tokName:
		return p.name()
	case tokInt, tokDouble:
		return p.number()
	case tokLParen:
		return p.paren()
	case tokFunc:
		if !p.atNoValue() {
			return p.call()
		}
	default:
	}
	return nil, p.refuse()
}

// prefix = op expr, where expr binds at least as tight as op asks for.
func (p *parser) prefix(op Op) (Expr, error) {
	start := p.tok.at.Start
	p.begin(construct{op: op})
	if err := p.advance(); err != nil {
		return nil, err
	}
	x, err := p.expr(op.power())
	if err != nil {
		return nil, err
	}
	p.finish()
	n, err := p.node(start, x)
	if err != nil {
		return nil, err
	}
	return &Unary{node: n, Op: op, X: x}, nil
}

// name = NAME [ INSTANCE ] .
func (p *parser) name() (Expr, error) {
	argument := p.argument
	p.argument = false
	x, err := p.metric()
	if err != nil {
		return nil, err
	}
	if !argument && !p.tok.follows() {
		return nil, p.fail(afterName)
	}
	return p.instance(x)
}

// metric = NAME .
func (p *parser) metric() (*Name, error) {
	text, start := p.tok.text, p.tok.at.Start
	if err := p.expect(tokName); err != nil {
		return nil, err
	}
	n, err := p.node(start)
	return &Name{node: n, Name: text}, err
}

// instance reads the INSTANCE that may follow a name or a parenthesis.
func (p *parser) instance(x Expr) (Expr, error) {
	if p.tok.kind != tokInstance {
		return x, nil
	}
	tok := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.node(x.Span().Start, x)
	if err != nil {
		return nil, err
	}
	return &Select{node: n, X: x, Instance: tok.text, InstanceSpan: tok.at}, nil
}

// number = INTEGER | DOUBLE .
func (p *parser) number() (*Number, error) {
	tok := p.tok
	x := &Number{Text: tok.text}
	switch tok.kind {
	case tokInt:
		x.Int, x.Float = tok.num, float64(tok.num)
	case tokDouble:
		x.Double = true
		if tok.text != "." { // PCP takes it as zero, strconv refuses it
			x.Float, _ = strconv.ParseFloat(tok.text, 64) // out of range: +Inf, as strtod(3) has it
		}
	default:
		return nil, p.refuse()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	x.node, err = p.node(tok.at.Start)
	return x, err
}

// paren = "(" expr ")" [ INSTANCE ] .
func (p *parser) paren() (Expr, error) {
	start := p.tok.at.Start
	if start == p.first {
		p.begin(construct{})
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	x, err := p.expr(powerTernary)
	if err != nil {
		return nil, err
	}
	if err := p.expect(tokRParen); err != nil {
		return nil, err
	}
	if start == p.first {
		p.finish()
	}
	n, err := p.node(start, x)
	if err != nil {
		return nil, err
	}
	return p.instance(&Paren{node: n, X: x})
}

// call = FUNC [ argument { "," argument } ] ")" .
func (p *parser) call() (Expr, error) {
	word, waiting := p.tok, len(p.open)
	f := &functions[word.fn]
	e := &Call{Func: word.fn, Args: make([]Expr, 0, len(f.args))}
	for {
		arg, begun := e.Func.arg(len(e.Args)), construct{fn: e.Func, arg: int32(len(e.Args))}
		if !arg.late && arg.wants != "" {
			p.open = append(p.open[:waiting], begun)
		}
		if err := p.scanNext(arg.Kind == Pattern); err != nil {
			return nil, err
		}
		if f.optional && len(e.Args) == 0 && p.tok.kind == tokRParen {
			break
		}
		if arg.late && p.newKey() {
			p.open = append(p.open[:waiting], begun)
		}
		x, err := p.argumentOf(arg)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, x)
		if begun.read = true; arg.then != "" {
			p.open = append(p.open[:waiting], begun)
		}
		if len(e.Args) >= len(f.args) && !(f.more && p.tok.kind == tokComma) {
			break
		}
		if p.tok.kind != tokComma {
			return nil, p.refuse()
		}
	}
	if p.tok.kind == tokRParen {
		if err := p.judgeCall(e); err != nil {
			return nil, err
		}
	}
	if err := p.expect(tokRParen); err != nil {
		return nil, err
	}
	p.open = p.open[:waiting]
	var err error
	e.node, err = p.node(word.at.Start, e.Args...)
	return e, err
}

// argumentOf reads an argument of a function.
func (p *parser) argumentOf(arg *Arg) (Expr, error) {
	switch arg.Kind {
	case Operand:
		p.argument = arg.named && p.tok.kind == tokName
		return p.expr(powerTernary)
	case MetricName:
		return p.metric()
	case TypeName:
		return p.literal(TypeName, tokName)
	case Units:
		return p.literal(Units, tokString)
	case Pattern:
		return p.pattern()
	case Constant:
		return p.number()
	case Metadata:
		return p.tag()
	}
	return nil, p.refuse()
}

// literal is a token as an argument.
func (p *parser) literal(k ArgKind, wanted kind) (*Literal, error) {
	x := &Literal{node: node{at: p.tok.at}, Kind: k, Text: p.tok.text}
	return x, p.expect(wanted)
}

// pattern = [ "!" ] PATTERN .
func (p *parser) pattern() (*Literal, error) {
	negate := p.tok.kind == tokNot
	if negate {
		if err := p.scanNext(true); err != nil {
			return nil, err
		}
	}
	if p.tok.kind == tokPattern && p.lits.Pattern != nil {
		if err := p.lits.Pattern(p.tok.text); err != nil {
			return nil, p.fail("bad regular expression: '" + err.Error() + "'")
		}
	}
	x, err := p.literal(Pattern, tokPattern)
	x.Negate = negate
	return x, err
}

// judgeCall refuses arguments that PCP looks at only when the function is complete, at its closing parenthesis.
func (p *parser) judgeCall(e *Call) error {
	for i, x := range e.Args {
		switch x := x.(type) {
		case *Literal:
			if x.Kind == Units {
				return p.judgeUnits(x.Text)
			}
			if x.Kind == TypeName && !isAnonType(x.Text) {
				return &Error{Offset: x.at.Start, Msg: unrecognized("type", x.Text)}
			}
		case *Number:
			if t := strings.ToUpper(e.lastType()); e.Kind(i) == Constant && x.Double && t != "" && t != "FLOAT" && t != "DOUBLE" {
				return p.fail("Incompatible floating point constant and type '" + t + "'")
			}
		}
	}
	return nil
}
