package unittest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/internal/growth"
)

// Every mistake has its place. The first line of a row's test is line 16, below the lines of host.
func TestMistakes(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"no statement", "expected x " +
			"1", `16:1: expected is not a statement; the statements are definitions, interval, metric, indom, label and test, and in a test given, expect, metadata, error, without, start, times, fetches, interval, metric, indom and label`},
		{"outside of a test", "given ncpu 1", "16:1: given belongs to a test: indent it below the test"},
		{
			"inside of a test", "test a\n  definitions x",
			"17:3: definitions applies to the whole file, not to a test: do not indent it",
		},
		{"a test inside", "test a\n  test b", "17:3: test is not a statement; the statements are definitions"},
		{"below none", "  given ncpu 1", "16:3: an indented statement belongs to a test, and there is no test above " +
			"it"},
		{"no title", "test", "16:5: a title missing"},
		{"nothing expected", "test a\n given ncpu 1", "16:1: this test has no expect, metadata or error statement"},
		{
			"wrong labels", "test a\n metadata x 32 instant none singular {\"team\": db}",
			`17:38: labels are not a JSON object such as {"team": "db", "tier": 1}`,
		},
		{"text after labels", "test a\n metadata x 32 instant {} singular", "17:24: text after the labels"},
		{"same title", "test a # 1\n error x\ntest a # 1\n error x", "18:6: the test in line 16 has the same title"},
		{"no path", "definitions", "16:12: path missing"},
		{"same path", "definitions x y\ndefinitions x\ntest a\n error x", "17:13: x is already named"},
		{
			"late interval", "test a\n error x\ninterval 5",
			"18:1: interval must come before the first test, or be indented below a test",
		},
		{"no time", "interval soon", `16:10: "soon" is not a time such as 10s, 5m or 0`},
		{"negative time", "interval -1s", `16:10: "-1s" is not a time such as 10s, 5m or 0`},
		{"no interval", "interval 0", "16:10: the interval must be longer than 0"},
		{"without of no use", "test a\n without y\n error x", "17:10: y is not declared, so without has no effect"},
		{"no start", "test a\n start\n error x", "17:7: seconds since 1970 missing"},
		{"start that is a date", "test a\n start 2026-11-29\n error x", "17:8: \"2026-11-29\" is not a time"},
		{"two starts", "test a\n start 5\n start 6\n error x", "18:2: the test already has a start"},
		{"two intervals", "interval 1 2", "16:12: unexpected 2"},
		{
			"times out of order", "test a\n times 0 10 10\n error x",
			"17:13: each time must be later than the one before it",
		},
		{"metric without type", "metric x", "16:9: type missing"},
		{"metric without semantics", "metric x U32", "16:13: semantics missing"},
		{"no type", "metric x int counter", "16:10: int is not a type; the types are 32, U32"},
		{
			"no semantics", "metric x 32 gauge",
			"16:13: gauge is not a valid value of semantics; use counter, instant or discrete",
		},
		{"no units", "metric x 32 counter apples", "16:21: apples is neither units nor an instance domain"},
		{
			"units with a factor", "metric x 32 counter 5 Kbyte",
			"16:21: 5 Kbyte is neither units nor an instance domain",
		},
		{"no error", "metric x PM_ERR_NOSUCH", "16:10: PM_ERR_NOSUCH is not a PCP error code"},
		{"metric twice", "metric ncpu U32 discrete", "16:8: ncpu is already declared in line 2"},
		{"no name", "metric 9.x U32 discrete", "16:8: 9.x is not a valid metric name"},
		{"no indom", "indom disks sda", "16:7: disks is not an instance domain such as 60.1"},
		{"label without domain", "label 60.77 kind a", "16:7: a label needs an indom statement for 60.77 before it"},
		{"label without a name", "label 60.1", "16:11: name of a label missing"},
		{"label of too many", "indom 60.9 a\nlabel 60.9 kind x y", "17:19: 60.9 has 1 instance"},
		{"label twice", "indom 60.9 a\nlabel 60.9 kind x\nlabel 60.9 kind y", "18:12: kind is already declared"},
		{
			"indom without domain", "indom PM_INDOM_NULL sda",
			"16:7: PM_INDOM_NULL is not an instance domain such as 60.1",
		},
		{"indom twice", "indom 60.1 sda", "16:7: 60.1 is already declared in line 14"},
		{"instance twice", "indom 60.3 a b a", `16:16: instance 2 or "a" is already declared`},
		{"number twice", "indom 60.3 1:a 1:b", `16:18: instance 1 or "b" is already declared`},
		{"open quote", `indom 60.3 "a b`, `16:12: missing "`},
		{"text behind a quote", `indom 60.3 "a"b`, "16:15: unexpected text after the quote"},
		{"open bracket", "test a\n given total[sda 1", "17:13: missing ]"},
		{"text behind a bracket", "test a\n given total[sda]x 1", "17:18: unexpected text after the instance"},
		{"no value", "test a\n given ncpu\n error x", "17:12: value missing"},
		{"time without value", "test a\n given ncpu 1... @5\n error x", "17:20: value missing"},
		{
			"value after the end", "test a\n given ncpu 1... 2\n error x",
			"17:18: only a value with a time, such as @10s, can follow ...",
		},
		{
			"no count", "test a\n given ncpu 1x0\n error x",
			"17:13: x0: use x and a number of samples from 1 to 1000000, or ...",
		},
		{
			"huge count", "test a\n given ncpu 1x99999999999999999999\n error x",
			"17:13: x99999999999999999999: use x and a number",
		},
		{"huge sum", "test a\n given ncpu 1x1000000 1\n error x", "17:23: more than 1000000 samples"},
		{
			"no number", "test a\n given ncpu 1,5\n error x",
			"17:13: 1,5: want a number such as 5 or 0+10x5, a text in quotes, _ for none, or PM_ERR_AGAIN",
		},
		{"huge exponent", "test a\n given temp 1e1000\n error x", "17:13: 1e1000: want a number"},
		{"no such error", "test a\n given ncpu PM_ERR_X\n error x", "17:13: PM_ERR_X is not a PCP error code"},
		{"no bytes", "test a\n given blob [0g]\n error x", "17:13: [0g]: use hexadecimal digits in the brackets"},
		{"text behind a text", "test a\n given node \"a\"b\n error x", "17:13: b: use x and a number"},
		{"undeclared", "test a\n given x 1\n error x", "17:8: x needs a metric statement with its type and semantics"},
		{"absent", "test a\n without ncpu\n given ncpu 1\n error x", "18:8: ncpu needs a metric statement"},
		{"without descriptor", "test a\n given gone 1\n error x", "17:8: gone has no descriptor, so it has no values"},
		{
			"instance of a singular metric", "test a\n given ncpu[0] 1\n error x",
			"17:8: ncpu is singular: it has no instances",
		},
		{
			"no such instance", "test a\n given total[sdc] 1\n error x",
			`17:8: instance "sdc" is not in the indom statement for 60.1`,
		},
		{
			"no instances", "metric y 32 instant 60.9\ntest a\n given y[a] 1\n error x",
			"18:8: y needs an indom statement for 60.9 with its instances",
		},
		{
			"error of an instance", "test a\n given total[sda] PM_ERR_AGAIN\n error x",
			"17:19: an error applies to the whole metric, not to one instance: give it in a statement for total",
		},
		{
			"anything given", "test a\n given ncpu *\n error x",
			"17:13: * is valid only in an expect statement: use a value, or _ for no value",
		},
		{
			"tolerance given", "test a\n given temp 1~0.1\n error x",
			"17:13: a tolerance is valid only in an expect statement",
		},
		{"negative counter", "test a\n given ncpu -1\n error x", "17:13: -1 does not fit into U32"},
		{
			"counter gets too large", "test a\n given reads 4294967290+10x2\n error x",
			"17:14: 4294967300 does not fit into U32",
		},
		{
			"fraction", "test a\n given ncpu 0+0.5x2\n error x",
			"17:13: 0.5 is not a whole number, and U32 holds only whole numbers",
		},
		{
			"no infinite count", "test a\n given ncpu inf\n error x",
			"17:13: ncpu has type U32: its values are whole numbers",
		},
		{
			"text for a number", "test a\n given ncpu \"2\"\n error x",
			"17:13: ncpu has type U32: its values are not strings",
		},
		{
			"number for a text", "test a\n given node 2\n error x",
			"17:13: node has type STRING: its values are not numbers",
		},
		{
			"bytes for a text", "test a\n given node [00]\n error x",
			"17:13: node has type STRING: its values are not bytes",
		},
		{"given twice", "test a\n given ncpu 1\n given ncpu 1\n error x", "18:8: these values are already in line 17"},
		{"expected twice", "test a\n expect x 1\n expect derived.x 1", "18:9: these values are already in line 17"},
		{
			"too few", "test a\n given ncpu 1x3\n expect x 1 1",
			"18:13: 2 values, and the test has 3 samples: end the line with ... to repeat the last value",
		},
		{
			"more than times", "test a\n times 0 5\n given ncpu 1x3\n expect x 1 1",
			"18:13: 3 values, and the test has 2 samples",
		},
		{"a hole", "test a\n interval 5s\n given ncpu 1 @10s 2\n error x", "18:8: no value is given for 5s"},
		{
			"between samples", "test a\n interval 10\n given ncpu 1\n expect x @15s 1",
			"19:16: there is no sample at 15s",
		},
		{
			"not one of the times", "test a\n times 0 10\n given ncpu 1...\n expect x @15s 1",
			"19:16: there is no sample at 15s",
		},
		{
			"backwards", "test a\n given ncpu 1...\n expect x 1x5 @3 1",
			"18:18: 3s is before the end of the values in front of it",
		},
		{"two intervals", "test a\n interval 5s\n interval 6s\n error x", "18:2: there is already an interval in line 17"},
		{
			"interval of no use", "test a\n interval 5s\n times 0 1\n given ncpu 1x2\n error x",
			"17:2: this interval has no effect, because the test has times",
		},
		{"invalid text", "test \xff", "16:6: invalid UTF-8 or a NUL byte"},
		{"text behind an error's", "test a\n error x y z", "17:12: unexpected z"},
		{"title that goes on", "test a \\\nb\n error x", "17:1: unexpected b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, problems := Parse("x.test", []byte(host+row.text+"\n"))
			assert.Nil(t, f)
			require.NotEmpty(t, problems)
			first, _, _ := strings.Cut(problems[0].Error(), "\n")
			if len(row.want) < len("x:1: ") || !strings.HasPrefix(first, "x.test:"+row.want) {
				assert.Equal(t, "x.test:"+row.want, first)
			}
		})
	}
}

// The line and a caret are shown, of the physical line, whatever joins it with others.
func TestMistakeIsShown(t *testing.T) {
	_, problems := Parse("x.test", []byte("metric ncpu U32 discrete\ntest a\n\tgiven ncpu \\\n\t1 no\n error x\n"))
	require.Len(t, problems, 1)
	assert.Equal(t, "x.test:4:4: no: want a number such as 5 or 0+10x5, a text in quotes, _ for none, or "+
		"PM_ERR_AGAIN\n\t1 no\n\t  ^",
		problems[0].Error())
}

// A file with a mistake in every line does not fill the screen.
func TestMistakesAreBounded(t *testing.T) {
	_, problems := Parse("x.test", []byte(strings.Repeat("no\n", 1000)))
	assert.Len(t, problems, MaxProblems)
	_, problems = Parse("x.test", []byte("metric a U32 counter\ntest a\n given a 1...\n expect b 1 # comment \\\n# "+
		"\\\n expect c 1\n"))
	assert.Empty(t, problems, "a comment ends with its line")
}

// The labels of a domain cost as much as their statements.
func TestManyLabels(t *testing.T) {
	growth.Check(t, 1000, func(n int) func() {
		text := []byte("indom 60.1 a\n")
		for i := range n {
			text = fmt.Appendf(text, "label 60.1 l%d v\n", i)
		}
		return func() {
			file, problems := Parse("x.test", append(text, "test t\n error a\n"...))
			require.Empty(t, problems)
			require.NotNil(t, file)
		}
	})
}

// Parsing stops at the first limit that a file exceeds, so that even the largest file is refused soon.
func TestFilesAreBounded(t *testing.T) {
	var tests strings.Builder
	for i := range maxTests + 1 {
		fmt.Fprintf(&tests, "test %d\n error x\n", i)
	}
	for _, row := range []struct{ text, want string }{
		{strings.Repeat("#", MaxFileSize+1), "the file is larger than 4194304 bytes"},
		{tests.String(), "more than 10000 tests"},
		{
			"metric a 32 instant\ntest a\n given a" + strings.Repeat(" 1", maxValues+1),
			"more than 200000 values in a file: repeat one with x or ...",
		},
		{"# nothing\nmetric a 32 instant\n", "the file has no test"},
	} {
		_, problems := Parse("x.test", []byte(row.text))
		assert.True(t, slices.ContainsFunc(problems, func(p *config.Problem) bool { return p.Msg == row.want }), row.want)
	}
}

func TestMetricsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxMetrics + 1 {
		fmt.Fprintf(&b, "metric m%d 32 instant\n", i)
	}
	_, problems := Parse("x.test", []byte(b.String()))
	require.NotEmpty(t, problems)
	assert.Equal(t, "more than 100000 metrics", problems[0].Msg)
}

// The rows show the values of a line, sample by sample.
func TestNotation(t *testing.T) {
	for _, row := range []struct{ name, values, want string }{
		{"numbers", "5 -1.5 +2 2e3 .5 7.", "5 -1.5 2 2000 0.5 7"},
		{"numbers of their own", "inf -inf nan", "inf -inf nan"},
		{"repeated", "7x3", "7 7 7"},
		{"progression", "0+10x5", "0 10 20 30 40"},
		{"downwards, below zero", "1-1x3", "1 0 -1"},
		{"fractions are exact", "0+0.1x4", "0 0.1 0.2 0.3"},
		{"exponents", "1e3+1e2x2", "1000 1100"},
		{"gaps", "_ 1 _x2 1", "_ 1 _ _ 1"},
		{"errors", "PM_ERR_AGAINx2 PM_ERR_PERMISSION", "PM_ERR_AGAIN PM_ERR_AGAIN PM_ERR_PERMISSION"},
		{"texts", `"a b"x2 "\"#]" ""`, `"a b" "a b" "\"#]" ""`},
		{"bytes", `[00fF]x2 []`, `[00ff] [00ff] []`},
		{"anything", "* 1 *x2", "* 1 * *"},
		{"tolerance", "1~0.5x2 0+1~.1x2", "1~0.5 1~0.5 0~0.1 1~0.1"},
		{"times", "1 @3s 2 3 @6s 4", "1 . . 2 3 . 4"},
		{"up to a time", "1... @3s 2... @5 3x2", "1 1 1 2 2 3 3"},
		{"progression up to a time", "0+2... @3 9", "0 2 4 9"},
		{"dots of their own", "1 2 ... @4s 5", "1 2 2 2 5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parsed(t, "test a\n expect x "+row.values+"\n")
			test := f.Tests[0]
			var got []string
			for n := range test.samples {
				shown := "."
				if it := test.expect.series[0].item(n); it != nil {
					shown = it.text(n)
				}
				got = append(got, shown)
			}
			assert.Equal(t, row.want, strings.Join(got, " "))
		})
	}
}

func TestStatements(t *testing.T) {
	f := parsed(t, "\ufeff# comment\r\ndefinitions a.conf \"b c\" # comment\r\ninterval 1m\n\n   # indented comment\n"+
		"test the first # of two\n\tinterval 90s\n\terror x\n\terror derived.y \"some # text\"\ntest the "+
		"second\n\ttimes 0 1 1m1s\n\texpect x @1m1s 1\n")
	assert.Equal(t, []string{"a.conf", "b c"}, f.Definitions)
	require.Len(t, f.Tests, 2)
	assert.Equal(t, "the first # of two", f.Tests[0].Name)
	assert.Equal(t, "x.test:6:1", f.Tests[0].Pos.String())
	assert.Equal(t, "1m30s", timeText(f.Tests[0].sampleTime(1)))
	assert.Equal(t, "some # text", f.Tests[0].errors[1].text)
	assert.Equal(t, "1m1s", timeText(f.Tests[1].sampleTime(2)))
	assert.Equal(t, []string{"x", "y"}, f.Tests[0].Tested())
	assert.Equal(t, []string{"x"}, f.Tests[1].Tested())
}

func TestTimeText(t *testing.T) {
	for given, want := range map[string]string{
		"0": "0s", "60": "1m", "1h": "1h", "3690": "1h1m30s", ".5": "500ms",
		"1h30m": "1h30m", "3601": "1h0m1s",
	} {
		d, err := parseTime(given)
		require.NoError(t, err)
		assert.Equal(t, want, timeText(d))
	}
}
