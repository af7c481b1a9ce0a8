package syntax

import "strings"

func (e *Name) String() string    { return text(e) }
func (e *Number) String() string  { return text(e) }
func (e *Unary) String() string   { return text(e) }
func (e *Binary) String() string  { return text(e) }
func (e *Ternary) String() string { return text(e) }
func (e *Call) String() string    { return text(e) }
func (e *Select) String() string  { return text(e) }
func (e *Paren) String() string   { return text(e) }
func (e *Literal) String() string { return text(e) }
func (e *Tag) String() string     { return text(e) }
func (e *Key) String() string     { return text(e) }

func text(e Expr) string {
	var p printer
	p.expr(e, context{})
	return p.String()
}

// Beginning returns at least the first bytes of the canonical text of a node. Names and other parts after these are left
// out, so that what follows the bytes means nothing. A message about each node of a long expression needs no more.
func Beginning(e Expr, bytes int) string {
	p := printer{most: bytes}
	p.expr(e, context{})
	return p.String()
}

// printer writes canonical text.
type printer struct {
	strings.Builder
	most int // bytes after which nodes are left out; 0: none are
}

// context is the text around a node. It decides whether the node needs parentheses.
type context struct {
	least  int  // the power that the operator of the node needs to be read as one operand
	next   int  // the power of the operator after the node, 0 if there is none
	inside bool // a ternary cannot begin at the node
}

// binds reports whether e needs no parentheses in the context: the text is read as the same tree.
func (in context) binds(e Expr) bool {
	switch e := e.(type) {
	case *Unary: // its operand must not include the next operator
		return in.next < e.Op.power()
	case *Binary:
		return in.least <= e.Op.power()
	case *Ternary: // a novalue() as the Else ends it, whatever follows
		return in.least <= powerTernary || !in.inside && Is(e.Else, NoValue)
	default:
		return true
	}
}

func (p *printer) expr(e Expr, in context) {
	if p.most > 0 && p.Len() >= p.most {
		return
	}
	if !in.binds(e) {
		p.parens(e)
		return
	}
	switch e := e.(type) {
	case *Name:
		p.WriteString(e.Name)
	case *Number:
		p.WriteString(e.Text)
	case *Unary:
		p.WriteString(e.Op.String())
		p.expr(e.X, context{least: e.Op.power(), next: in.next, inside: true})
	case *Binary:
		power := e.Op.power()
		p.expr(e.X, context{least: power, next: power, inside: in.inside})
		p.between(e.Op.String())
		p.expr(e.Y, context{least: power + 1, next: in.next, inside: true})
	case *Ternary:
		p.expr(e.Guard, context{least: powerTernary, next: powerTernary, inside: in.inside})
		p.between("?")
		p.expr(e.Then, context{})
		p.between(":")
		p.expr(e.Else, context{least: powerTernary + 1, next: in.next, inside: true})
	case *Call:
		p.WriteString(e.Func.String())
		p.WriteByte('(')
		for i, x := range e.Args {
			if i > 0 {
				p.WriteString(", ")
			}
			p.expr(x, context{})
		}
		p.WriteByte(')')
		if e.By != nil {
			p.WriteByte(' ')
			p.by(e.By)
		}
	case *Literal:
		p.literal(e)
	case *Tag:
		p.WriteString(e.Key)
		p.WriteByte('=')
		if e.Quoted {
			p.quoted(e.Value)
		} else {
			p.WriteString(e.Value)
		}
	case *Key:
		p.key(e)
	case *Select:
		switch e.X.(type) {
		case *Name, *Paren:
			p.expr(e.X, context{})
		default:
			p.parens(e.X)
		}
		p.escaped('[', e.Instance, ']')
	case *Paren:
		p.parens(e.X)
	}
}

func (p *printer) parens(e Expr) {
	p.WriteByte('(')
	p.expr(e, context{})
	p.WriteByte(')')
}

func (p *printer) between(op string) {
	p.WriteByte(' ')
	p.WriteString(op)
	p.WriteByte(' ')
}

func (p *printer) literal(e *Literal) {
	switch {
	case e.Kind == Units || e.Kind == Interval:
		p.quoted(e.Text)
	case e.Kind == LabelName:
		p.WriteString("label(" + e.Text + ")")
	case e.Kind != Pattern:
		p.WriteString(e.Text)
	default:
		if e.Negate {
			p.WriteByte('!')
		}
		p.escaped('/', e.Text, '/')
	}
}

func (p *printer) quoted(s string) {
	p.WriteByte('"')
	p.WriteString(s)
	p.WriteByte('"')
}

// escaped writes s between delimiters. It writes a backslash before each closing delimiter and each backslash in s.
func (p *printer) escaped(opening byte, s string, closing byte) {
	p.WriteByte(opening)
	for i := range len(s) {
		if s[i] == closing || s[i] == '\\' {
			p.WriteByte('\\')
		}
		p.WriteByte(s[i])
	}
	p.WriteByte(closing)
}
