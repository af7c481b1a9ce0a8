package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of Parse. They limit the stack of functions that recurse over a tree: a program cannot recover from a
// stack overflow in Go.
const (
	// MaxText is the longest expression, in bytes.
	MaxText = 1 << 20

	// MaxDepth is the largest number of nodes on a path from the root of a tree to a leaf. An
	// operator chain is as deep as it is long: a+b+c is 3 nodes deep.
	MaxDepth = 10_000
)

// Literals has the functions that check the parts of an expression with a language of their own, while they are
// read. The text of their error is the REASON in the syntax error. A nil field accepts everything.
type Literals struct {
	Units   func(text string) error // for rescale() and the tag units: pmParseUnitsStr(3)
	Pattern func(ere string) error  // for matchinst() and by (KEY): regcomp(3) with REG_EXTENDED
}

// Parse reads one expression: the text of a definition after its "=". The error is an *Error with the first mistake.
// The time is linear in the length of text. The tree has substrings of text.
func Parse(text string, lits Literals) (Expr, error) {
	p := parser{scan: scanner{text: text}, lits: lits}
	if len(text) > MaxText {
		p.failAt(MaxText, fmt.Sprintf("Expression longer than %d bytes", MaxText))
	}
	e := p.definition()
	if p.err != nil {
		p.err.Hint = p.err.hint(text)
		return nil, p.err
	}
	return e, nil
}

// parser reads an expression by recursive descent. It has one method for each production of grammar.txt, except that
// expr reads the operators of all powers. When a method is called, the current token is the first one of its
// production. When it returns, it is the token after the last one.
//
// The first mistake stays. After it every token is tokBad, which no production accepts: so all methods return soon, and
// their results are not used. A method needs no check for an error.
type parser struct {
	scan scanner
	lits Literals
	err  *Error

	tok   token // the current one
	end   int   // offset of the end of the previous token
	first int   // offset of the first token of the text

	constructs []construct // the parts that are not complete, the innermost last
	depth      int         // calls of expr in progress
	atArgument bool        // the next name begins an argument whose exprSince is not Everywhere
}

// advance reads the next token.
func (p *parser) advance() { p.scanNext(false) }

func (p *parser) scanNext(pattern bool) {
	if p.err != nil {
		return
	}
	tok, err := p.scan.next(pattern)
	if err != nil {
		p.setError(err)
		return
	}
	p.end, p.tok = p.tok.at.End, tok
}

// expect reads the token after one of kind k, and fails if the current token is of another kind.
func (p *parser) expect(k kind) {
	if p.tok.kind != k {
		p.failUnexpected()
	}
	p.advance()
}

func (p *parser) openConstruct(c construct) { p.constructs = append(p.constructs, c) }
func (p *parser) closeConstruct()           { p.constructs = p.constructs[:len(p.constructs)-1] }

// failUnexpected fails at the current token, with the message of the innermost construct.
func (p *parser) failUnexpected() {
	if len(p.constructs) == 0 {
		p.fail("")
		return
	}
	p.fail(p.constructs[len(p.constructs)-1].message())
}

// fail sets a mistake at the current token.
func (p *parser) fail(msg string) { p.failAt(p.tok.at.Start, msg) }

func (p *parser) failAt(offset int, msg string) { p.setError(&Error{At: offset, Msg: msg}) }

// setError stores the first mistake and makes all later tokens tokBad.
func (p *parser) setError(err *Error) {
	if p.err == nil {
		p.err, p.tok = err, token{kind: tokBad}
	}
}

// failAfterNext fails because of the current token. libpcp finds some wrong tokens only after it has read the next one:
// so the position is that of the next token, and a mistake in that one is reported instead.
func (p *parser) failAfterNext(what string) {
	found := p.tok
	p.advance()
	p.setError(&Error{
		At: p.tok.at.Start, Msg: what + " '" + p.scan.text[found.at.Start:found.at.End] + "'",
		call: found.kind == tokLParen,
	})
}

// node returns the common part of a node that begins at start, ends before the current token and has
// these operands. It fails at offset if the tree is too deep.
func (p *parser) node(start, offset int, operands ...Expr) node {
	n := node{at: Span{start, p.end}, height: 1}
	if p.err != nil {
		return n // operands may be nil
	}
	for _, e := range operands {
		n.height = max(n.height, e.depth()+1)
	}
	if n.height > MaxDepth {
		p.tooDeep(offset)
	}
	return n
}

func (p *parser) tooDeep(offset int) {
	p.failAt(offset, fmt.Sprintf("Expression more than %d levels deep", MaxDepth))
}

// definition = expr .
func (p *parser) definition() Expr {
	p.advance()
	p.first = p.tok.at.Start
	switch t := p.tok; {
	case t.kind == tokOp && t.op != Sub, t.kind == tokQuest, t.kind == tokColon, t.kind == tokRParen:
		p.failAfterNext("Unexpected initial")
	}
	e := p.expr(powerTernary)
	switch p.tok.kind {
	case tokEnd:
	case tokLParen, tokRParen:
		p.failAfterNext("Unexpected")
	default:
		p.failUnexpected()
	}
	return e
}

// expr reads operands and the operators between them, as long as the operators have at least the power least.
func (p *parser) expr(least int) Expr {
	// Each nested call returns a node below the node of its caller. So more than MaxDepth calls would make a tree that is
	// too deep.
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > MaxDepth {
		p.tooDeep(p.tok.at.Start)
	}

	x := p.operand()
	for {
		switch {
		case p.tok.kind == tokOp && p.tok.op.power() >= least:
			x = p.binary(x)
		case p.tok.kind == tokQuest && powerTernary >= least:
			x = p.ternary(x)
		default:
			return x
		}
	}
}

// binary = x op expr .
//
// expr has only operators of a higher power than op, so chains fold to the left.
func (p *parser) binary(x Expr) Expr {
	op, pos := p.tok.op, p.tok.at.Start
	p.openConstruct(construct{op: op})
	p.advance()
	y := p.expr(op.power() + 1)
	p.closeConstruct()
	return &Binary{node: p.node(x.Span().Start, pos, x, y), Op: op, OpPos: pos, X: x, Y: y}
}

// ternary = guard "?" ( expr ":" ( expr | novalue ) | novalue ":" expr ) .
//
// The last expr has no ternary outside of parentheses, so chains fold to the left. A novalue() as the last operand ends
// the ternary: the operand of an operator after it is the whole ternary.
func (p *parser) ternary(guard Expr) Expr {
	pos := p.tok.at.Start
	p.openConstruct(construct{op: opQuest})
	p.advance()
	none := p.atNoValue()
	then := p.ternaryOperand(powerTernary)
	if p.tok.kind != tokColon {
		p.failUnexpected()
	}
	if !none {
		p.closeConstruct()
		p.openConstruct(construct{op: opColon})
	}
	p.advance()
	if none && p.atNoValue() {
		p.fail("novalue() can only be one of the two operands of a ternary")
	}
	otherwise := p.ternaryOperand(powerTernary + 1)
	p.closeConstruct()
	n := p.node(guard.Span().Start, pos, guard, then, otherwise)
	return &Ternary{node: n, Guard: guard, Then: then, Else: otherwise}
}

// ternaryOperand = expr | novalue .
func (p *parser) ternaryOperand(least int) Expr {
	if p.atNoValue() {
		return p.call()
	}
	return p.expr(least)
}

func (p *parser) atNoValue() bool { return p.tok.kind == tokFunc && p.tok.fn == NoValue }

// operand = prefix | name | number | paren | call .
func (p *parser) operand() Expr {
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
	p.failUnexpected()
	return nil
}

// prefix = op expr .
//
// expr has only operators of at least the power of op.
func (p *parser) prefix(op Op) Expr {
	start := p.tok.at.Start
	p.openConstruct(construct{op: op})
	p.advance()
	x := p.expr(op.power())
	p.closeConstruct()
	return &Unary{node: p.node(start, start, x), Op: op, X: x}
}

// name = NAME [ INSTANCE ] .
func (p *parser) name() Expr {
	atArgument := p.atArgument
	p.atArgument = false
	x := p.metric()
	if !atArgument && !p.tok.follows() {
		p.fail("Arithmetic or relational or boolean operator expected to follow NAME")
	}
	return p.instance(x)
}

// metric = NAME .
func (p *parser) metric() *Name {
	text, start := p.tok.text, p.tok.at.Start
	p.expect(tokName)
	return &Name{node: p.node(start, start), Name: text}
}

// instance = x [ INSTANCE ] .
func (p *parser) instance(x Expr) Expr {
	tok := p.tok
	if tok.kind != tokInstance {
		return x
	}
	p.advance()
	start := x.Span().Start
	return &Select{node: p.node(start, start, x), X: x, Instance: tok.text, InstanceSpan: tok.at}
}

// number = INTEGER | DOUBLE .
func (p *parser) number() *Number {
	tok := p.tok
	x := &Number{Text: tok.text}
	switch tok.kind {
	case tokInt:
		x.Int, x.Float = tok.num, float64(tok.num)
	case tokDouble:
		x.Double = true
		if tok.text != "." { // libpcp reads it as zero, strconv refuses it
			x.Float, _ = strconv.ParseFloat(tok.text, 64) // +Inf for a number out of range, as strtod(3) returns it
		}
	default:
		p.failUnexpected()
	}
	p.advance()
	x.node = p.node(tok.at.Start, tok.at.Start)
	return x
}

// paren = "(" expr ")" [ INSTANCE ] .
func (p *parser) paren() Expr {
	start := p.tok.at.Start
	if start == p.first {
		p.openConstruct(construct{})
	}
	p.advance()
	x := p.expr(powerTernary)
	p.expect(tokRParen)
	if start == p.first {
		p.closeConstruct()
	}
	return p.instance(&Paren{node: p.node(start, start, x), X: x})
}

// call = FUNC [ argument { "," argument } ] ")" [ by ] .
//
// The row of the function says which arguments there may be. The construct of the function changes with each
// argument, so that a wrong token has the right message. max and min become the functions of several operands at
// their first comma.
func (p *parser) call() Expr {
	start, waiting := p.tok.at.Start, len(p.constructs)
	f := &functions[p.tok.fn]
	synonym := strings.TrimSuffix(p.tok.text, "(") != f.word // max_inst() takes one operand only
	e := &Call{Func: p.tok.fn, Args: make([]Expr, 0, len(f.args))}
	for {
		arg, next := e.Func.arg(len(e.Args)), construct{fn: e.Func, arg: int32(len(e.Args))}
		if !arg.afterNewKey && arg.expected != "" {
			p.constructs = append(p.constructs[:waiting], next)
		}
		p.scanNext(arg.Kind == Pattern || arg.Kind == InstanceKey)
		if f.optional && len(e.Args) == 0 && p.tok.kind == tokRParen {
			break
		}
		if arg.afterNewKey && p.atNewKey() {
			p.constructs = append(p.constructs[:waiting], next)
		}
		e.Args = append(e.Args, p.argument(arg))
		if next.read = true; arg.nextExpected != "" {
			p.constructs = append(p.constructs[:waiting], next)
		}
		if f.variadic != 0 && !synonym && p.tok.kind == tokComma {
			e.Func, f = f.variadic, &functions[f.variadic]
		}
		enough := len(f.args)
		if f.required > 0 && p.tok.kind == tokRParen {
			enough = f.required
		}
		if len(e.Args) >= enough && (!f.repeats || p.tok.kind != tokComma) {
			break
		}
		if p.tok.kind != tokComma || e.Func.arg(len(e.Args)).Kind == InstanceKey && !p.keyNext() {
			p.failUnexpected()
			break
		}
	}
	if p.tok.kind == tokRParen {
		p.checkCall(e)
		p.checkWindow(e)
	}
	p.expect(tokRParen)
	p.constructs = p.constructs[:waiting]
	below := e.Args
	if p.atBy(f) {
		e.By = p.by()
		for _, k := range e.By.Keys {
			below = append(slices.Clip(below), k)
		}
	}
	e.node = p.node(start, start, below...)
	return e
}

// argument reads an argument of the kind of its row.
func (p *parser) argument(arg *Arg) Expr {
	switch arg.Kind {
	case Operand:
		p.atArgument = arg.exprSince != Everywhere && p.tok.kind == tokName
		return p.expr(powerTernary)
	case MetricName:
		return p.metric()
	case TypeName:
		return p.literal(TypeName, tokName)
	case Units, Interval:
		return p.literal(arg.Kind, tokString)
	case Pattern:
		return p.pattern()
	case Constant:
		start, minus := p.tok.at.Start, arg.signed && p.tok.kind == tokOp && p.tok.op == Sub
		if minus {
			p.advance()
		}
		x := p.number()
		if minus {
			x.Text, x.Float, x.at.Start = "-"+x.Text, -x.Float, start
		}
		if arg.most > 0 && p.err == nil && (arg.whole && x.Double || x.Float < arg.least || x.Float > arg.most) {
			p.failAt(x.at.Start, p.constructs[len(p.constructs)-1].message())
		}
		return x
	case Metadata:
		return p.tag()
	case InstanceKey:
		return p.key(p.tok.at.Start, "", "matchinst(<filter>,<expr>,")
	case Nothing:
		p.failUnexpected()
	case LabelName: // only in a key
	}
	return nil
}

// literal returns the current token as a *Literal, and fails if it is not of the kind wanted.
func (p *parser) literal(k ArgKind, wanted kind) *Literal {
	x := &Literal{node: node{at: p.tok.at}, Kind: k, Text: p.tok.text}
	p.expect(wanted)
	return x
}

// pattern = [ "!" ] PATTERN .
func (p *parser) pattern() *Literal {
	negate := p.tok.kind == tokNot
	if negate {
		p.scanNext(true)
	}
	if p.tok.kind == tokPattern && p.lits.Pattern != nil {
		if err := p.lits.Pattern(p.tok.text); err != nil {
			p.fail("bad regular expression: '" + err.Error() + "'")
		}
	}
	x := p.literal(Pattern, tokPattern)
	x.Negate = negate
	return x
}

// checkCall checks the arguments that libpcp checks only at the closing parenthesis of a function. So their mistakes
// come after those of later arguments.
func (p *parser) checkCall(e *Call) {
	for i, x := range e.Args {
		switch x := x.(type) {
		case *Literal:
			if x.Kind == Units {
				p.checkUnits(x.Text)
			}
			if x.Kind == TypeName && !isAnonType(x.Text) {
				p.failAt(x.at.Start, unrecognized("type", x.Text))
			}
		case *Number:
			t := strings.ToUpper(e.lastType())
			integer := t != "" && t != "FLOAT" && t != "DOUBLE"
			if e.Kind(i) == Constant && x.Double && integer {
				p.fail("Incompatible floating point constant and type '" + t + "'")
			}
		}
	}
}
