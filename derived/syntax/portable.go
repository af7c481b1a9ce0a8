package syntax

import "strings"

// Unportable calls yield for each part of e that not every libpcp understands, with its position in text, its name, and
// the versions that understand it. text is the text that e was parsed from. Parts whose support depends on metrics are
// not among them.
func Unportable(e Expr, text string, yield func(at Span, what string, s Support)) {
	Walk(e, func(e Expr) bool {
		switch e := e.(type) {
		case *Call:
			e.unportable(text, yield)
		case *Select:
			if _, ok := e.X.(*Paren); ok {
				yield(e.InstanceSpan, "an instance of an expression", PCP63)
			}
		}
		return true
	})
}

func (e *Call) unportable(text string, yield func(at Span, what string, s Support)) {
	f := functions[e.Func]
	word, _, _ := strings.Cut(text[e.at.Start:], "(")
	switch {
	case word != f.word:
		yield(e.at, word+"()", Nowhere)
	case f.variadic == 0 && functionOf(word) != e.Func:
		yield(e.at, word+"() of several operands", f.since)
	case f.since != Everywhere:
		yield(e.at, word+"()", f.since)
	}
	if e.By != nil {
		yield(e.By.at, "by (KEY)", Nowhere)
	}
	for i, x := range e.Args {
		name, _ := x.(*Name)
		if s := e.Func.arg(i).exprSince; s != Everywhere && name == nil && f.since == Everywhere {
			yield(x.Span(), word+"() of an expression", s)
		}
		if tag, ok := x.(*Tag); ok {
			if s := tag.since(); s > f.since {
				yield(tag.at, tag.what(), s)
			}
		}
		if e.Kind(i) == InstanceKey {
			yield(x.Span(), "a key of matchinst()", Nowhere)
		} else if e.Func == Match {
			Walk(x, func(x Expr) bool {
				if b, ok := x.(*Binary); ok && b.Op == Div {
					yield(Span{b.OpPos, b.OpPos + 1}, "a division within matchinst()", Nowhere)
				}
				return true
			})
		}
	}
}

// since returns which versions of libpcp understand the tag.
func (t *Tag) since() Support {
	switch {
	case t.Key == "meta" && t.Quoted:
		return Nowhere
	case t.Key == "meta":
		return PCP63
	case t.Key == "indom":
		return PCP7
	default:
		return Everywhere
	}
}

func (t *Tag) what() string {
	if t.Key == "meta" && t.Quoted {
		return "a metric in quotes as meta"
	}
	return "the tag " + t.Key
}
