package engine

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"pmdaderived/derived/syntax"
)

// Keys returns a key for each window. Windows of two sets have the same key if they have the same values: a window of a
// new set can continue with the values of an old one. A key depends on everything that the values depend on: the
// expression, and the descriptors of all operands.
func (s *Set) Keys() []string {
	d := digester{set: s, exprs: make(map[syntax.Expr]string), names: make(map[string]string)}
	keys := make([]string, len(s.program.windows))
	for i, w := range s.program.windows {
		keys[i] = d.digest(w.operands, fmt.Sprint(w.Histograms, w.Func, w.Number, w.Span, w.Every, w.Type, w.Desc,
			w.Grouped, s.checked.Language().NoValue))
	}
	return keys
}

// digester makes digests of expressions, each once, from those of its operands: definitions share what they use.
type digester struct {
	set   *Set
	exprs map[syntax.Expr]string
	names map[string]string // digests of what names mean
}

// digest returns the digest of a text and of operands.
func (d *digester) digest(operands []syntax.Expr, text string) string {
	var b strings.Builder
	b.WriteString(text)
	for _, x := range operands {
		b.WriteString("\n" + d.expr(x))
	}
	sum := sha256.Sum256([]byte(b.String()))
	return string(sum[:])
}

func (d *digester) expr(e syntax.Expr) string {
	known, ok := d.exprs[e]
	if ok {
		return known
	}
	text := fmt.Sprintf("%T ", e)
	switch e := e.(type) {
	case *syntax.Name:
		return d.name(e.Name)
	case *syntax.Unary:
		text += e.Op.String()
	case *syntax.Binary:
		text += e.Op.String()
	case *syntax.Select:
		text += e.Instance
	case *syntax.Call:
		text += e.Func.String()
		for i, arg := range e.Args {
			switch e.Kind(i) {
			case syntax.Operand:
			case syntax.MetricName:
				text += d.expr(arg)
			default:
				text += " " + arg.String()
			}
		}
		for t := range e.Tags {
			if t.Key == "meta" {
				text += d.name(t.Value)
			}
		}
		if e.By != nil {
			text += e.By.String()
		}
	case *syntax.Number:
		text += e.Text
	}
	known = d.digest(syntax.Operands(e), text)
	d.exprs[e] = known
	return known
}

// name returns the digest of what a name means in the set: a metric of the collector, or a definition.
func (d *digester) name(name string) string {
	known, ok := d.names[name]
	if ok {
		return known
	}
	d.names[name] = "" // until it is known: defined() may be about the definition that it is in
	desc, other, err := d.set.checked.Resolve(name)
	if text := fmt.Sprintln(name, desc, err); other != nil {
		known = d.digest([]syntax.Expr{other.Definition.Expr}, text)
	} else {
		known = d.digest(nil, text)
	}
	d.names[name] = known
	return known
}
