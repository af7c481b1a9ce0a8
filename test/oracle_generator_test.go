//go:build pcp

package test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/derived/syntax"
)

// operands of random expressions: metrics of the sample agent that do not move by themselves. They
// have all types, the three semantics, several dimensions and scales, and instance domains of which
// some metrics have all instances, others some or none.
var (
	singular = []string{
		"sample.long.one", "sample.long.ten", "sample.long.million", "sample.ulong.one", "sample.ulong.hundred",
		"sample.longlong.ten", "sample.longlong.million", "sample.ulonglong.one", "sample.ulonglong.hundred",
		"sample.float.one", "sample.float.ten", "sample.float.million", "sample.double.one", "sample.double.hundred",
		"sample.double.write_me", "sample.long.write_me", "sample.bigid", "sample.load", "sample.error_code",
		"sample.write_me", "sample.controller.mirage", "sample.dodgey.control", "sample.many.count",
		"sample.ulong.count.base", "sample.ulong.count.deca", "sample.ulong.count.kilo", "sample.ulong.count.mega",
		"sample.secret.foo.two", "sample.dynamic.meta.metric", "sample.updown.control.step",
	}
	sets = []string{
		"sample.bin", "sample.bucket", "sample.long.bin", "sample.ulong.bin", "sample.longlong.bin",
		"sample.float.bin", "sample.double.bin", "sample.long.bin_ctr", "sample.ulong.bin_ctr",
		"sample.longlong.bin_ctr", "sample.float.bin_ctr", "sample.double.bin_ctr",
	}
	otherSets = []string{"sample.many.int", "sample.hordes.one", "sample.hordes.two"}
	sparse    = []string{
		"sample.part_bin", "sample.bad.novalues", "sample.darkness", "sample.noinst",
		"sample.needprofile", "sample.bad.fetch.again",
	}
	texts  = []string{"sample.string.hullo", "sample.string.bin", "sample.aggregate.hullo", "sample.secret.bar"}
	absent = []string{"sample.no.such", "sample.long", "sample.bad.unknown", "nosuch"}

	// extraUnits are metrics that PCP has since 7.2.
	extraUnits = []string{
		"sample.voltage.volt", "sample.voltage.millivolt", "sample.voltage.microvolt", "sample.temperature.celsius",
		"sample.temperature.fahrenheit", "sample.temperature.kelvin", "sample.current.amp", "sample.current.milliamp",
		"sample.power.kilowatt", "sample.power.watt", "sample.power.microwatt",
	}
)

// generator makes random expressions. The same seed makes the same ones, on a pmcd of the same version.
type generator struct {
	*rand.Rand

	extra   bool // with extra units
	novalue bool // with novalue()
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) operand() string {
	if g.extra && g.chance(20) {
		return pick(g, extraUnits...)
	}
	switch n := g.IntN(100); {
	case n < 45:
		return pick(g, singular...)
	case n < 85:
		return pick(g, sets...)
	case n < 90:
		return pick(g, otherSets...)
	case n < 95:
		return pick(g, sparse...)
	case n < 98:
		return pick(g, texts...)
	}
	return pick(g, absent...)
}

func (g *generator) units() string {
	if g.extra && g.chance(50) { // no other word stands behind one: libpcp 7.2.2 never returns from some
		return pick(g, "voltage (V)", "voltage (mV)", "voltage (uV)", "temperature (C)", "temperature (F)", "temperature (K)",
			"current (A)", "current (uA)", "power (kW)", "power (W)", "power (mW)", "/ voltage (V)", "sec / power (W)",
			"voltage (mV) / sec", "Kbyte voltage (V)", "VOLTAGE (MV)", "2 power (W)", "voltage", "voltage (V) power (W)")
	}
	return pick(g, "byte", "Kbyte", "Mbyte", "sec", "millisec", "min", "count", "count x 10^3", "byte / sec",
		"Kbyte / min",
		"count / sec", "/ sec", "byte^2", "Mbyte / count", "none", "", "fortnight")
}

func (g *generator) number() string {
	return pick(g, "0", "1", "2", "3", "7", "10", "100", "255", "65536", "1000000", "2147483648", "4294967295",
		"0.5", "1.5", "2.0", "3.14159", "100.25", ".5", "5.", "1000000.0")
}

func (g *generator) constant() string {
	if g.chance(60) {
		return g.number()
	}
	text := "mkconst(" + g.number()
	tags := 0
	if g.chance(60) {
		text += ", type=" + pick(g, "32", "U32", "64", "u64", "float", "DOUBLE")
		tags++
	}
	if g.chance(50) {
		text += ", semantics=" + pick(g, "counter", "instant", "discrete")
		tags++
	}
	if g.chance(40) || tags == 0 {
		text += fmt.Sprintf(", units=%q", g.units())
	}
	return text + ")"
}

func (g *generator) leaf() string {
	if g.chance(30) {
		return g.constant()
	}
	return g.operand()
}

// expr makes an expression of at most the given depth.
func (g *generator) expr(depth int) string {
	if depth <= 0 || g.chance(12) {
		return g.leaf()
	}
	switch n := g.IntN(100); {
	case n < 50:
		return g.side(depth) + " " + g.binary() + " " + g.side(depth)
	case n < 57:
		return "-" + g.side(depth)
	case n < 61:
		return "!" + g.side(depth)
	case n < 71:
		if g.novalue && g.chance(30) {
			return g.withNoValue(depth)
		}
		return g.side(depth) + " ? " + g.side(depth) + " : " + g.side(depth)
	case n < 95:
		return g.function(depth)
	case n < 98:
		return pick(g, sets...) + "[" + pick(g, "bin-100", "bin-500", "bin-900", "nosuch") + "]"
	}
	return "instant(" + pick(g, sets...) + ")"
}

// function returns a call of any function of libpcp that can stand by itself, by its row.
func (g *generator) function(depth int) string {
	f := pick(g, slices.DeleteFunc(slices.Collect(syntax.Functions), func(f syntax.Func) bool {
		return f.Since() != syntax.Everywhere || f == syntax.Const
	})...)
	var args []string
	for _, arg := range f.Args() {
		switch {
		case arg.Kind == syntax.Units:
			args = append(args, strconv.Quote(g.units()))
		case arg.Kind == syntax.Pattern:
			args = append(args, pick(g, "", "!")+pick(g, "/bin-[1-4]/", "/^bin/", "/0$/", "/(1|9)00/", "/./", "/none/"))
		case f == syntax.Scalar: // of others libpcp crashes
			args = append(args, pick(g, append(singular, sets...)...))
		case len(f.Args()) == 1: // libpcp wants a name
			args = append(args, g.operand())
		default:
			args = append(args, g.expr(depth-1))
		}
	}
	return f.String() + "(" + strings.Join(args, ", ") + ")"
}

// withNoValue returns a ternary with a novalue() and most often a guard that is known when it is bound.
func (g *generator) withNoValue(depth int) string {
	guard := pick(g, "0", "1", "!1", "defined("+g.operand()+")", "!defined("+g.operand()+")", "1 && defined(nosuch)",
		"mkconst(1, type=float)")
	if g.chance(10) {
		guard = g.side(depth)
	}
	none := "novalue(" + pick(g, "", "type=double", "type=32, semantics=counter", `units="Kbyte"`,
		"meta=sample.byte_rate", "meta=nosuch",
		"indom=29.2", `indom="511.0"`, "type=float, meta=sample.bin") + ")"
	if g.chance(50) {
		return guard + " ? " + none + " : " + g.side(depth)
	}
	return guard + " ? " + g.side(depth) + " : " + none
}

// side returns an operand of an operator. Without parentheses it may bind otherwise.
func (g *generator) side(depth int) string {
	text := g.expr(depth - 1)
	if g.chance(50) && strings.ContainsAny(text, " ") {
		return "(" + text + ")"
	}
	return text
}

func (g *generator) binary() string {
	switch n := g.IntN(100); {
	case n < 65:
		return pick(g, "+", "-", "*", "/")
	case n < 88:
		return pick(g, "<", "<=", "==", ">=", ">", "!=")
	}
	return pick(g, "&&", "||")
}

// damage makes a likely syntax error out of an expression.
func (g *generator) damage(text string) string {
	pieces := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ", "?", " ? ", ":", " : ").Replace(text))
	at := g.IntN(len(pieces))
	switch g.IntN(3) {
	case 0:
		pieces = append(pieces[:at:at], pieces[at+1:]...)
	case 1:
		pieces = append(pieces[:at:at], append([]string{pick(g, "+", ")", "(", ",", "?", "sum(", "1.5", "$", "&", "=",
			"[x]", "!", "units")}, pieces[at:]...)...)
	default:
		to := g.IntN(len(pieces))
		pieces[at], pieces[to] = pieces[to], pieces[at]
	}
	return strings.NewReplacer(" (", "(", "( ", "(", " )", ")").Replace(strings.Join(pieces, " "))
}
