package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// By is the clause after an aggregate that asks for a value for each group of instances. libpcp does not have it: there
// only an operator may follow the parenthesis.
//
//	by (kind=/^([a-z]+)/)   by (proc.id.uid_nm)   by (label(route), label(code))
type By struct {
	node
	Keys []*Key // instances are in the same group if all of their keys are the same; at most MaxKeys
}

// MaxKeys is the largest number of keys of a By.
const MaxKeys = 8

// String returns the canonical text of the clause.
func (b *By) String() string {
	var p printer
	p.by(b)
	return p.String()
}

// LabelName returns the names of the labels that each group has, one for each key, joined by commas.
func (b *By) LabelName() string {
	names := make([]string, len(b.Keys))
	for i, k := range b.Keys {
		names[i] = k.LabelName()
	}
	return strings.Join(names, ",")
}

// Key determines a text for each instance, its key.
//
//	kind=/^([a-z]+)/   proc.id.uid_nm   label(device_type)
type Key struct {
	node
	Label string // the name before "="; "": there is none

	// Source is a *Name of a metric, whose value is the key, or a *Literal that is a Pattern or a LabelName.
	Source Expr
}

// LabelName returns the name of the label that has the key. It is Label, or if that is "" the last component of the
// metric or the name of the label. It is "group" if none of these begins with a letter.
func (k *Key) LabelName() string {
	name := k.Label
	switch source := k.Source.(type) {
	case *Name:
		if name == "" {
			name = source.Name[strings.LastIndexByte(source.Name, '.')+1:]
		}
	case *Literal:
		if name == "" && source.Kind == LabelName {
			name = strings.ReplaceAll(source.Text, ".", "_")
		}
	}
	if name == "" || !isLetter(name[0]) {
		return "group"
	}
	return name
}

// Keys returns the keys by which e groups or selects instances.
func (e *Call) Keys() []*Key {
	if e.By != nil {
		return e.By.Keys
	}
	for i, x := range e.Args {
		if e.Kind(i) == InstanceKey {
			return []*Key{x.(*Key)}
		}
	}
	return nil
}

// keyMetrics returns the metrics among the keys of e.
func (e *Call) keyMetrics() (all []Expr) {
	for _, k := range e.Keys() {
		if name, ok := k.Source.(*Name); ok {
			all = append(all, name)
		}
	}
	return all
}

const keyExpected = "/<pattern>/, <metric> or label(<name>) expected to follow "

// atBy reports whether the clause begins at the current token, after a call of f.
func (p *parser) atBy(f *function) bool {
	return f.groups && p.tok.kind == tokName && p.tok.text == "by"
}

// by = "by" "(" [ NAME "=" ] key { "," [ NAME "=" ] key } ")" .
func (p *parser) by() *By {
	start, after := p.tok.at.Start, "by ("
	b := &By{}
	var below []Expr
	p.advance()
	p.require(tokLParen, "(KEY) expected to follow by")
	for more := true; more; {
		p.scanNext(true)
		if len(b.Keys) == MaxKeys {
			p.fail("At most " + strconv.Itoa(MaxKeys) + " keys")
		}
		k := p.labelledKey(&after)
		below, b.Keys, more = append(below, k), append(b.Keys, k), p.tok.kind == tokComma
		after += "KEY"
		if more {
			after = "by (KEY,"
		}
	}
	p.require(tokRParen, ") or , expected to follow "+after)
	p.advance()
	b.node = p.node(start, start, below...)
	p.checkLabels(b)
	return b
}

// labelledKey = [ NAME "=" ] key .
//
// It appends the label to the text that messages name as that before the key.
func (p *parser) labelledKey(after *string) *Key {
	start, label := p.tok.at.Start, ""
	if p.atWord() && p.peek().kind == tokAssign {
		label = p.tok.text
		if strings.Contains(label, ".") {
			p.fail("Illegal label name: '" + label + "'")
		}
		*after += label + "="
		p.advance()
		p.scanNext(true)
	}
	source := p.key(*after)
	return &Key{node: p.node(start, start, source), Label: label, Source: source}
}

const twoKeys = "Two keys with the label "

// checkLabels fails at a key whose label another key has, too.
func (p *parser) checkLabels(b *By) {
	var seen []string
	for _, k := range b.Keys {
		if p.err != nil {
			return
		}
		name := k.LabelName()
		if slices.Contains(seen, name) {
			p.failAt(k.at.Start, twoKeys+"'"+name+"'")
		}
		seen = append(seen, name)
	}
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

// keyNext reports whether a key may begin after the current token. If none does, libpcp's message is about this token.
func (p *parser) keyNext() bool {
	scan := p.scan
	t, _ := scan.next(true)
	return t.kind == tokPattern || t.kind == tokName
}

// require fails with the message otherwise if the current token is of another kind.
func (p *parser) require(k kind, otherwise string) {
	if p.tok.kind != k {
		p.fail(otherwise)
	}
}

func (p *printer) by(b *By) {
	p.WriteString("by (")
	for i, k := range b.Keys {
		if i > 0 {
			p.WriteString(", ")
		}
		p.key(k)
	}
	p.WriteByte(')')
}

func (p *printer) key(k *Key) {
	if k.Label != "" {
		p.WriteString(k.Label + "=")
	}
	p.expr(k.Source, context{})
}
