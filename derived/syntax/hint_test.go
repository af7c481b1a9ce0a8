package syntax

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Text that is right in another language has a hint with the text for this one.
func TestHints(t *testing.T) {
	var words []string
	for f := range Functions {
		if f != Largest && f != Smallest {
			words = append(words, f.String())
		}
	}
	unknown := " is not a function; the functions are " + strings.Join(words, ", ")
	for _, row := range []struct{ expr, want string }{
		{"mem.util.free > 10GB", "a number has no units: write mkconst(10, units=Gbyte)"},
		{"mem.util.free > 1.5 kB", "a number has no units: write mkconst(1.5, units=Kbyte)"},
		{"5 minutes", "a number has no units: write mkconst(5, units=min)"},
		{"mkconst(10GB)", "a number has no units: write mkconst(10, units=Gbyte)"},
		{"mem.util.free > 1e6", "a number has digits and a point only: write 1000000"},
		{"mem.util.free > 1.5E3", "a number has digits and a point only: write 1500"},
		{"mem.util.free > 2e-3", "a number has digits and a point only: write 0.002"},
		{"mem.util.free > 1e12", "a number has digits and a point only: write 1000000000000.0"},
		{"mem.util.free > 1e999", ""},
		{"0x1F + hinv.ncpu", "a number has digits and a point only: write 31"},
		{"hinv.ncpu > 1 and hinv.ncpu < 4", "write && in place of and"},
		{"hinv.ncpu AND 1", "write && in place of AND"},
		{"hinv.ncpu or 1", "write || in place of or"},
		{"not hinv.ncpu", "write ! in place of not"},
		{"hinv.ncpu * 2 # twice", "a comment needs a line of its own"},
		{"hinv.ncpu# twice", "a comment needs a line of its own"},
		{"hinv.ncpu;", "a definition ends at the end of its line: omit ;"},
		{"m = x", "write == to compare; only a line of a definition file begins with NAME ="},
		{"hinv.ncpu + 1 = 4", "write == to compare"},
		{"a % 2", "there is no operator %: the remainder of x / y is x - y * floor(x / y)"},
		{"a ^ 2", "there is no operator for powers: write x * x for a square, sqrt(x) for a root"},
		{"a ** 2", "there is no operator for powers: write x * x for a square, sqrt(x) for a root"},
		{"a * * 2", ""},
		{"if a > 1 then 2 else 3", "write x ? y : z in place of if"},
		{"2 if a > 1 else 3", "write x ? y : z in place of if"},
		{"if(a > 1, 2, 3)", "function: write x ? y : z in place of if"},
		{"IF (a > 1) 2", "function: write x ? y : z in place of if"},
		{"a > 1 then 2", "write x ? y : z in place of if"},
		{"a mod 2", "there is no operator %: the remainder of x / y is x - y * floor(x / y)"},
		{"mod(a, 2)", "function: there is no operator %: the remainder of x / y is x - y * floor(x / y)"},
		{"pow(a, 2)", "function: there is no operator for powers: write x * x for a square, sqrt(x) for a root"},
		{"max_sample(a, '1min')", "a string is in double quotes"},
		{"a ? 1", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"a ? 1 ", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"a ? b + c", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"a ? 1 : ", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"a ?: 1", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"max(a ? 1, 2)", "?: needs both values: write x ? y : z, where y or z can be novalue()"},
		{"a ? 1 bc", ""},
		{"max_sample(a, 1min)", `put it in quotes: "1min"`},
		{"max_sample(a, 5 min )", `put it in quotes: "5 min"`},
		{"nth_percentile_sample(a, 95, 1hour)", `put it in quotes: "1hour"`},
		{"max_sample(a, b(c))", ""},
		{"max_sample(a, )", ""},
		{"rescale(a, Kbyte/sec)", `put it in quotes: "Kbyte/sec"`},
		{"hinv.ncpu <> 2", "write != in place of <>"},
		{"rate(kernel.percpu.cpu.user)[cpu0]", "put the expression in front of [ in parentheses: (…)[…]"},
		{"5[cpu0]", ""},
		{
			`disk.dev.total{device="sda"}`,
			"write x[name] for an instance, matchinst(/pattern/, x) for several, matchinst(/pattern/, x, label(name)) by a label",
		},
		{"sum(matchinst(/a/, b, /(/) + c", "parenthesis: a closing parenthesis may be missing"},
		{"a > mkconst(1, unit=Gbyte)", "unit is not a valid tag; the tags are type, semantics, units, meta, indom"},
		{"mkconst(1, type=u64, sem=counter)", "sem is not a valid tag; the tags are type, semantics, units, meta, indom"},
		{"a ? b : novalue(unit=byte)", "unit is not a valid tag; the tags are type, semantics, units, meta, indom"},
		{"mkconst(1, type=u65)", ""},
		{"max(a, b=5)", "write == to compare"},
		{"5 mkconst(1, units=byte)", ""},
		{
			"rate(a) by (b)",
			"by (…) must follow the closing parenthesis of avg, count, max, min, sum, stdev_inst, nth_percentile_inst, " +
				"nth_percentile_bucket, share_bucket",
		},
		{
			"sum by (b) (a)",
			"by (…) must follow the closing parenthesis of avg, count, max, min, sum, stdev_inst, nth_percentile_inst, " +
				"nth_percentile_bucket, share_bucket",
		},
		{"sum(a) by (/a(.)/, /b(.)/)", "name them: by (first=KEY, second=KEY)"},
		{"hinv.ncpu & 1", "write &&"},
		{"hinv.ncpu | 1", "write ||"},
		{"cpu2 GB", ""},
		{"hinv.ncpu and1", ""},
		{"2 apples", ""},
		{"hinv.ncpu hinv.ncpu", ""},
		{"1 +", ""},
		{"", ""},
		{"no.such@", ""},
		{"5()", ""},

		{"rat(b)", "function: rat is not a function; did you mean rate?"},
		{"100 * RATE(b)", "function: RATE is not a function; did you mean rate?"},
		{"a + matchinstance(b)", "function: matchinstance is not a function; did you mean matchinst?"},
		{"average(b)", "function: average is not a function; did you mean avg?"},
		{"maximum(b)", "function: maximum is not a function; did you mean max?"},
		{"cuont(b)", "function: cuont is not a function; did you mean count?"},
		{"cuont( ", "function: cuont is not a function; did you mean count?"},
		{"exp(hinv.ncpu) # x", "function: exp" + unknown},
		{"max_over_time(b[5m])", "function: max_over_time is not a function; did you mean max_sample?"},
		{
			"absent(b)", "function: write !defined(x) for a metric that does not exist, count(x[name]) == 0 for an instance " +
				"without a value",
		},
		{"clamp_min(b, 1)", "function: clamp_min is not a function; did you mean max?"},
		{"predict_linear(b[1h], 60)", "function: predict_linear is not a function; did you mean slope_sample?"},
		{
			"histogram_quantile(0.9, b)",
			"function: histogram_quantile is not a function; did you mean nth_percentile_bucket?",
		},
		{
			"quantile_over_time(0.9, b[5m])",
			"function: quantile_over_time is not a function; did you mean nth_percentile_sample?",
		},
		{"stddev(b)", "function: stddev is not a function; did you mean stdev_inst?"},
		{"topk(b, 5)", "function: topk is not a function; did you mean topk_inst?"},
		{"exp(b)", "function: exp" + unknown},
		{"x(b)", "function: x" + unknown},
		{"rate (b)", "function: rate is a function only if ( follows it without a blank"},
		{"rate \n\t(b)", "function: rate is a function only if ( follows it without a blank"},

		{"a offset 5m", `write first_sample(x, "5min") for the value of five minutes ago`},
		{"a > 5 for 5m", `write min_sample(x > 5, "5min") for a condition that has held for five minutes`},
		{"a unless b", "write y > 5 ? novalue() : x in place of x unless y > 5"},
		{"a == bool 1", "a comparison gives 1 or 0: omit bool"},
		{"a > bool (b)", "function: a comparison gives 1 or 0: omit bool"},
		{"a / on (k) b", "function: there is no on: values pair by instance, and groups of by (…) by their names"},
		{"a / ignoring(k) b", "function: there is no ignoring: values pair by instance, and groups of by (…) by their names"},
		{"a group_left b", "there is no group_left: by (KEY) names groups, and by (KEY -> metric) has their names from another domain"},
		{"info(a)", "function: there is no info: by (KEY) names groups, and by (KEY -> metric) has their names from another domain"},
		{"matchinst(/re/, x, code=label(code))", "a key is /pattern/, a metric or label(name)"},
		{"matchinst(/re/, x, code == 5)", "a key is /pattern/, a metric or label(name)"},
		{`matchinst(/re/, x, "code")`, "a key is /pattern/, a metric or label(name)"},
		{"matchinst(/re/, x, !/x/)", "a key is /pattern/, a metric or label(name)"},
		{"matchinst(/re/, x, sum(y))", "a key is /pattern/, a metric or label(name)"},
		{"matchinst(/re/, x,)", "a key is /pattern/, a metric or label(name)"},
		{"matchinst(/re/,, x)", ""},
		{"matchinst(/re/, x, y, z)", ""},
		{"matchinst(/re/, x = 1)", "write == to compare"},
		{"sum(a) by (b -> max(c))", "only a metric or a definition can follow ->"},
		{"sum(a) by (b -> c -> d)", "a key has one ->"},
		{"sum(a) by (b -> c by (d -> e))", "a key has one ->"},
		{"matchinst(/x/, a, b -> c -> d)", "a key has one ->"},
		{"sum(a) by (b - > c)", "write -> in front of the metric that has the keys"},
		{"sum(a) by (b => c)", "write -> in front of the metric that has the keys"},
		{"sum(a) by (b->c by (d=e))", "write the name of the label in front of the whole key: by (name=KEY -> metric)"},
		{"a->b", "-> is read only in a key: by (KEY -> metric)"},
		{"matchinst(/x/, a -> b)", "-> is read only in a key: by (KEY -> metric)"},
		{"sum(a) by (b - c)", ""},
		{"sum(a) by (b ->= c)", ""},
		{"sum without (k) (a)", "write by (…) with the key that remains, behind the closing parenthesis of the function"},
		{"sum(a) without (k)", "write by (…) with the key that remains, behind the closing parenthesis of the function"},
		{"round(a + 1, 0.1)", "round() takes one argument: write 0.1 * round(x / 0.1) in place of round(x, 0.1)"},
		{"log(a, 2)", "log() takes one argument"},
		{"rate(a, 5)", "rate() takes one argument"},
		{"rescale(,)", ""},

		{"(a + 1", "parenthesis: a closing parenthesis may be missing"},
		{"(a + 1  ", "parenthesis: a closing parenthesis may be missing"},
		{"(a + \n 1", "parenthesis: a closing parenthesis may be missing"},
		{"a + 1)", ""},
		{"(a + )", ""},
		{"* (a", ""},
		{"rate(a", "parenthesis: a closing parenthesis may be missing"},
		{`rescale((a, "(b)")`, ""},
		{`rescale(a, "(") +`, ""},
		{`rescale(a, ")"`, "parenthesis: a closing parenthesis may be missing"},
		{"matchinst(/a\\/(/, b) +", ""},
		{"matchinst( ! /)/, b", "parenthesis: a closing parenthesis may be missing"},
		{"(a / b) / (c", "parenthesis: a closing parenthesis may be missing"},
		{"a[b(c] +", ""},
		{"(a[b)c]", "parenthesis: a closing parenthesis may be missing"},
	} {
		t.Run(row.expr, func(t *testing.T) {
			var fault *Error
			_, err := Parse(row.expr, Literals{})
			require.ErrorAs(t, err, &fault)
			hint := fault.Hint
			kind := map[HintKind]string{HintFunction: "function: ", HintParenthesis: "parenthesis: "}[hint.Kind]
			assert.Equal(t, row.want, kind+hint.Text, err)
			assert.Equal(t, hint.Text == "", hint.Kind == 0)
		})
	}
}

func TestSlips(t *testing.T) {
	for _, row := range []struct {
		x, y string
		want int
	}{
		{"", "", 0},
		{"load", "load", 0},
		{"laod", "load", 1},
		{"lod", "load", 1},
		{"loads", "load", 1},
		{"lead", "load", 1},
		{"lao", "load", 2},
		{"abcd", "badc", 2},
		{"free", "used", 3},
		{"free", "swap", 4},
		{"a", "abcdef", 4},
	} {
		assert.Equal(t, row.want, Distance(row.x, row.y, 3), "%s %s", row.x, row.y)
		assert.Equal(t, row.want, Distance(row.y, row.x, 3), "%s %s", row.y, row.x)
	}
}
