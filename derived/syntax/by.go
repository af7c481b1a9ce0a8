package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// By is the clause after an aggregate that asks for a value for each group of instances. libpcp does not have it: there
// only an operator may follow the parenthesis.
//
//	by (kind=/^([a-z]+)/)   by (proc.id.uid_nm)   by (label(route), label(code))   by (/^(.*)$/ -> containers.name)
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
//	kind=/^([a-z]+)/   proc.id.uid_nm   label(device_type)   label(id) -> containers.name
type Key struct {
	node
	Label string // the name before "="; "": there is none

	// Source is a *Name of a metric, whose value is the key, or a *Literal that is a Pattern or a LabelName.
	Source Expr

	Lookup *Lookup // what is looked up by the text of Source, and is the key in its place; nil: there is none
}

// Lookup takes a key from instances of another domain: it is the value of a metric there.
//
//	-> containers.name   -> filesys.mountdir by (/^\/dev\/mapper\/(.*)$/)
type Lookup struct {
	Metric *Name
	By     Expr // of the text that finds an instance of Metric, as Source of a Key; nil: its name does
}

// LabelName returns the name of the label that has the key. It is Label, or if that is "" the last component of the
// metric whose value is the key, or the name of the label. It is "group" if none of these begins with a letter.
func (k *Key) LabelName() string {
	name, from := k.Label, k.Source
	if k.Lookup != nil {
		from = k.Lookup.Metric
	}
	switch source := from.(type) {
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
		all = append(all, k.Metrics()...)
	}
	return all
}

// Metrics returns the metrics that k is made from, in the order of the text.
func (k *Key) Metrics() (all []Expr) {
	parts := []Expr{k.Source}
	if k.Lookup != nil {
		parts = append(parts, k.Lookup.Metric, k.Lookup.By)
	}
	for _, x := range parts {
		if name, ok := x.(*Name); ok {
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
	return p.key(start, label, *after)
}

const (
	lookupExpected = "<metric> expected to follow KEY ->"
	lookupEnd      = ") expected to follow -> <metric> by (KEY"
)

// key = source [ "->" NAME [ "by" "(" source ")" ] ] .
func (p *parser) key(start int, label, after string) *Key {
	k := &Key{Label: label, Source: p.source(after)}
	below := []Expr{k.Source}
	if p.atArrow() {
		p.advance()
		p.advance()
		p.require(tokName, lookupExpected)
		k.Lookup = &Lookup{Metric: p.metric()}
		if below = append(below, k.Lookup.Metric); p.tok.kind == tokName && p.tok.text == "by" {
			p.advance()
			p.require(tokLParen, "(KEY) expected to follow by")
			p.scanNext(true)
			k.Lookup.By = p.source("by (")
			p.require(tokRParen, lookupEnd)
			p.advance()
			below = append(below, k.Lookup.By)
		}
	}
	k.node = p.node(start, start, below...)
	return k
}

// atArrow reports whether "->" begins at the current token. libpcp, and each expression, has "-" and ">" there.
func (p *parser) atArrow() bool {
	next := p.peek()
	return p.tok.op == Sub && next.op == Gt && next.at.Start == p.tok.at.End
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

// source = PATTERN | NAME | "label" "(" NAME ")" .
func (p *parser) source(after string) Expr {
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
	if p.expr(k.Source, context{}); k.Lookup == nil {
		return
	}
	p.WriteString(" -> " + k.Lookup.Metric.Name)
	if k.Lookup.By != nil {
		p.WriteString(" by (")
		p.expr(k.Lookup.By, context{})
		p.WriteByte(')')
	}
}
