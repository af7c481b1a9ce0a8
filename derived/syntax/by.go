package syntax

import "strings"

// By is the clause after an aggregate that asks for a value for each group of instances. libpcp does not have it: there
// only an operator may follow the parenthesis.
//
//	by (kind=/^([a-z]+)/)   by (proc.id.uid_nm)   by (label(device_type))
type By struct {
	node
	Label string // the name before "="; "": there is none

	// Key determines the group of an instance. It is a *Name of a metric, whose value is the name of the group, or a
	// *Literal that is a Pattern or a LabelName.
	Key Expr
}

// String returns the canonical text of the clause.
func (b *By) String() string {
	var p printer
	p.by(b)
	return p.String()
}

// LabelName returns the name of the label that each group has. It is Label, or if that is "" the last component of the
// metric or the name of the label in Key. It is "group" if none of these begins with a letter.
func (b *By) LabelName() string {
	name := b.Label
	switch key := b.Key.(type) {
	case *Name:
		if name == "" {
			name = key.Name[strings.LastIndexByte(key.Name, '.')+1:]
		}
	case *Literal:
		if name == "" && key.Kind == LabelName {
			name = strings.ReplaceAll(key.Text, ".", "_")
		}
	}
	if name == "" || !isLetter(name[0]) {
		return "group"
	}
	return name
}

// Metric returns the metric that is the key, nil if there is none. b may be nil.
func (b *By) Metric() *Name {
	if b == nil {
		return nil
	}
	name, _ := b.Key.(*Name)
	return name
}

const keyExpected = "/<pattern>/, <metric> or label(<name>) expected to follow "

// atBy reports whether the clause begins at the current token, after a call of f.
func (p *parser) atBy(f *function) bool {
	return f.groups && p.tok.kind == tokName && p.tok.text == "by"
}

// by = "by" "(" [ NAME "=" ] key ")" .
func (p *parser) by() *By {
	start := p.tok.at.Start
	b := &By{}
	p.advance()
	p.require(tokLParen, "(KEY) expected to follow by")
	p.scanNext(true)
	after := "by ("
	if p.atWord() && p.peek().kind == tokAssign {
		b.Label = p.tok.text
		if strings.Contains(b.Label, ".") {
			p.fail("Illegal label name: '" + b.Label + "'")
		}
		after += b.Label + "="
		p.advance()
		p.scanNext(true)
	}
	b.Key = p.key(after)
	p.require(tokRParen, ") expected to follow "+after+"KEY")
	p.advance()
	b.node = p.node(start, start, b.Key)
	return b
}

// key = PATTERN | NAME | "label" "(" NAME ")" .
func (p *parser) key(after string) Expr {
	switch {
	case p.tok.kind == tokPattern:
		return p.pattern()
	case p.tok.kind == tokName && p.tok.text == "label" && p.peek().kind == tokLParen:
		start := p.tok.at.Start
		p.advance()
		p.advance()
		text := p.tok.text
		if !p.atWord() {
			p.fail("<name> expected to follow label(")
		}
		p.advance()
		p.require(tokRParen, ") expected to follow label(<name>")
		p.advance()
		return &Literal{node: p.node(start, start), Kind: LabelName, Text: text}
	case p.tok.kind == tokName:
		return p.metric()
	}
	p.fail(keyExpected + after)
	return nil
}

// atWord reports whether the current token is a name, or a word that is reserved elsewhere.
func (p *parser) atWord() bool { return p.tok.kind == tokName || p.tok.kind == tokKey }

// peek returns the token after the current one.
func (p *parser) peek() token {
	scan := p.scan
	t, _ := scan.next(false)
	return t
}

// require fails with the message otherwise if the current token is of another kind.
func (p *parser) require(k kind, otherwise string) {
	if p.tok.kind != k {
		p.fail(otherwise)
	}
}

func (p *printer) by(b *By) {
	p.WriteString("by (")
	if b.Label != "" {
		p.WriteString(b.Label + "=")
	}
	p.expr(b.Key, context{})
	p.WriteByte(')')
}
