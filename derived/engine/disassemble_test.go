package engine

import (
	"fmt"
	"strings"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

var stepNames = [...]string{
	opOperand: "operand", opConst: "const", opConstSet: "constset", opWindow: "window", opNothing: "nothing", opConvert: "convert",
	opScale: "scale", opRescale: "rescale", opArith: "arith", opCompare: "compare", opTruth: "truth", opBool: "bool",
	opNot: "not", opNegate: "negate", opEach: "each", opAggregate: "aggregate", opCount: "count", opDelta: "delta", opRate: "rate", opUnchanged: "unchanged",
	opPair: "pair", opTop: "top", opDefault: "default",
	opScalar: "scalar", opSelect: "select", opMatch: "match", opTernary: "ternary",
	opGroup: "group", opSpread: "spread", opRename: "rename",
}

// disassemble lists the steps that compute a metric, one a line, operands before operators.
func (s *Set) disassemble(m *Metric) string {
	var b strings.Builder
	numbers := map[int32]int{}
	var down func(int32)
	down = func(i int32) {
		if _, ok := numbers[i]; ok {
			return
		}
		s.program.steps[i].takes(down)
		numbers[i] = len(numbers)
		fmt.Fprintf(&b, "%d\t%s\n", numbers[i], s.program.print(i, numbers))
	}
	down(m.root)
	return b.String()
}

func (p *program) print(i int32, numbers map[int32]int) string {
	s := &p.steps[i]
	words := []string{stepNames[s.op]}
	switch s.op {
	case opOperand:
		words = append(words, pdu.PMID(s.id).String())
	case opConst:
		words = append(words, column.FormatNumber(s.typ, s.value()))
	case opConstSet:
		words = append(words, column.FormatNumber(s.typ, s.value()), pdu.InDom(s.id).String())
	case opWindow:
		w := p.windows[s.id]
		words = append(words, w.Func.String(), w.Every.String(), fmt.Sprint(w.Span), fmt.Sprintf("(%%%d)", w.root))
	case opArith, opCompare, opBool:
		words = append(words, syntax.Op(s.syntax).String())
	case opPair, opAggregate, opEach, opTop:
		words = append(words, syntax.Func(s.syntax).String())
	case opScale:
		words = append(words, fmt.Sprintf("/%g *%g", p.factors[s.b].Divisor, p.factors[s.b].Multiplier))
	case opRescale:
		f, offset := p.converters[s.b].Factor()
		words = append(words, fmt.Sprintf("*%g /%g", f.Multiplier, f.Divisor))
		if offset != 0 {
			words = append(words, fmt.Sprintf("%+g", offset))
		}
	case opSelect:
		words = append(words, fmt.Sprintf("%q", p.texts[s.b]))
	case opMatch:
		not := ""
		if s.variant {
			not = "!"
		}
		words = append(words, fmt.Sprintf("%s/%s/", not, p.patterns[s.b]))
	case opGroup, opSpread:
		if s.op == opGroup {
			words = append(words, syntax.Func(s.syntax).String())
		}
		words = append(words, pdu.InDom(s.id).String())
		if s.key == group.KeyLabel {
			words = append(words, "label("+p.texts[s.b]+")")
		}
		if s.key == group.KeyPattern {
			words = append(words, fmt.Sprintf("/%s/", p.patterns[s.b]))
		}
	case opRename:
		words = append(words, pdu.InDom(uint32(s.b)).String(), pdu.InDom(s.id).String())
	default:
	}
	s.takes(func(k int32) { words = append(words, fmt.Sprintf("%%%d", numbers[k])) })
	if s.age > 0 {
		words = append(words, fmt.Sprintf("@-%d", s.age))
	}
	words = append(words, "->", s.typ.String())
	if s.set {
		words = append(words, "set")
	}
	return strings.Join(words, " ")
}
