package engine

import (
	"fmt"
	"slices"
	"strings"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
)

var stepNames = [...]string{
	opOperand: "operand", opConst: "const", opConstSet: "constset", opWindow: "window", opNothing: "nothing",
	opConvert: "convert",
	opScale:   "scale", opRescale: "rescale", opArith: "arith", opCompare: "compare", opTruth: "truth", opBool: "bool",
	opNot: "not", opNegate: "negate", opEach: "each", opAggregate: "aggregate",
	opCount: "count", opDelta: "delta", opRate: "rate", opUnchanged: "unchanged",
	opPair: "pair", opTop: "top", opDefault: "default",
	opScalar: "scalar", opSelect: "select", opMatch: "match", opTernary: "ternary",
	opBuckets: "buckets", opWhole: "whole", opGroup: "group", opSpread: "spread", opRename: "rename", opInstances: "instances",
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
		words = append(words, s.pmid().String())
	case opConst:
		words = append(words, column.FormatNumber(s.typ, s.value()))
	case opConstSet:
		words = append(words, column.FormatNumber(s.typ, s.value()), s.domain.String())
	case opWindow:
		w := p.window(s)
		words = append(words, w.Func.String(), w.Every.String(), fmt.Sprint(w.Span), fmt.Sprintf("(%%%d)", w.root))
	case opArith, opCompare, opBool:
		words = append(words, s.operator().String())
	case opPair, opAggregate, opEach, opTop:
		words = append(words, s.function().String())
	case opScale:
		words = append(words, fmt.Sprintf("/%g *%g", p.factor(s).Divisor, p.factor(s).Multiplier))
	case opRescale:
		f, offset := p.converter(s).Factor()
		words = append(words, fmt.Sprintf("*%g /%g", f.Multiplier, f.Divisor))
		if offset != 0 {
			words = append(words, fmt.Sprintf("%+g", offset))
		}
	case opSelect:
		words = append(words, fmt.Sprintf("%q", p.text(s)))
	case opMatch:
		not := ""
		if s.negated() {
			not = "!"
		}
		words = append(words, fmt.Sprintf("%s/%s/", not, p.pattern(s)))
	case opGroup, opSpread, opWhole:
		if s.op == opGroup {
			words = append(words, s.function().String())
		}
		if s.op == opWhole {
			words = append(words, [...]string{"", "merged", "evenly"}[s.merges()])
		}
		words = append(words, s.domain.String())
	case opKey:
		switch s.key {
		case group.KeyLabel:
			words = append(words, "label("+p.text(s)+")")
		case group.KeyPattern:
			words = append(words, fmt.Sprintf("/%s/", p.pattern(s)))
		case group.KeyName:
			words = append(words, "name")
		case group.KeyLookup:
			words = append(words, "lookup")
		case group.KeyGroup:
			at, count := s.place()
			words = append(words, fmt.Sprintf("%d of %d", at, count))
		}
	case opRename:
		words = append(words, s.operandDomain().String(), s.domain.String())
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
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}
