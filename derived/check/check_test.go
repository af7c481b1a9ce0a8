package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/group"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// The tables in testdata/check have an expression a line and below it, indented, its metadata
//
//	TYPE semantics units [indom]
//
// or its error. A line `let NAME = EXPR` defines a metric that all expressions of the file may use,
// also those before it. The metrics of the collector are those of package derivedtest. -update writes what the
// checker says.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	cat := derivedtest.NewCatalog(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			lines := strings.Split(string(text), "\n")
			var lets []*Definition
			for _, line := range lines {
				if let, ok := strings.CutPrefix(line, "let "); ok {
					name, expr, _ := strings.Cut(let, " = ")
					lets = append(lets, parsed(t, name, expr))
				}
			}
			var table strings.Builder
			for i, line := range lines {
				switch {
				case strings.HasPrefix(line, "\t"):
					continue // written again below its expression
				case line == "" || line[0] == '#' || strings.HasPrefix(line, "let "):
					fmt.Fprintf(&table, "%s\n", line)
					continue
				}
				got := metadata(line, lets, cat)
				fmt.Fprintf(&table, "%s\n\t%s\n", line, got)
				if !*derivedtest.Update {
					require.Less(t, i+1, len(lines), "%s: no result", line)
					assert.Equal(t, strings.TrimSpace(lines[i+1]), got, "%s", line)
				}
			}
			if *derivedtest.Update {
				require.NoError(t, os.WriteFile(file, []byte(strings.TrimSuffix(table.String(), "\n")), 0o644))
			}
		})
	}
}

// parsed parses a text that is known to be good.
func parsed(tb testing.TB, name, text string) *Definition {
	tb.Helper()
	d, err := Parse(name, text)
	require.NoError(tb, err, "%s = %s", name, text)
	return d
}

// metadata is the line that a table has for an expression.
func metadata(expr string, lets []*Definition, cat Catalog) string {
	def, err := Parse("it", expr)
	if err != nil {
		return err.Error()
	}
	set := NewSet(Language{}, append([]*Definition{def}, lets...), cat, "derived")
	m, _ := set.Lookup("it")
	if m.Err != nil {
		return "error: " + strings.TrimPrefix(m.Err.Error(), "Semantic error: derived metric it: ")
	}
	return written(m.Desc)
}

func written(d pdu.Desc) string {
	text := d.Type.String() + " " + d.Sem.String() + " "
	if units := d.Units.String(); units != "" {
		text += units
	} else {
		text += "none"
	}
	if d.InDom != pdu.NoInDom {
		text += " " + d.InDom.String()
	}
	return text
}

// The example of each rule breaks this rule, and no other one.
func TestCatalogue(t *testing.T) {
	require.Len(t, ruleTexts, int(RuleEvents)+1)
	used := []*Definition{
		parsed(t, "cycle.a", "cycle.b - 1"),
		parsed(t, "cycle.b", "2 * derived.cycle.a"),
		parsed(t, "broken.definition", "string + 1"),
		parsed(t, "deep.first", "long.one"+strings.Repeat(" + 1", 9_000)),
		parsed(t, "deep.second", "deep.first"+strings.Repeat(" + 1", 9_000)),
		parsed(t, "deep.last", "deep.second"+strings.Repeat(" + 1", 9_000)),
	}
	for rule := RuleUnknownOperand; rule <= RuleEvents; rule++ {
		t.Run(fmt.Sprint(int(rule), " ", rule), func(t *testing.T) {
			require.NotEmpty(t, rule.String())
			defs := []*Definition{parsed(t, "it", ruleTexts[rule].example)}
			if rule >= RuleCycle {
				defs = append(defs, used...)
			}
			l := Language{GroupInDom: func(g group.Domain) pdu.InDom {
				if g.Label == "full" {
					return pdu.NoInDom
				}
				return pdu.NewInDom(groupsOf, firstGroupSerial+len(g.Label))
			}}
			m := NewSet(l, defs, derivedtest.NewHostCatalog(t), "derived").Metrics()[0]
			require.NotNil(t, m.Err, "%s is good", ruleTexts[rule].example)
			assert.Equal(t, rule, m.Err.Rule, m.Err.Error())
			assert.Equal(t, "it", m.Err.Metric)
			assert.Contains(t, m.Err.Error(), ": "+rule.String())
			assert.Empty(t, drawn(m))
			assert.Equal(t, pdu.Desc{}, m.Desc)
			span := m.Err.Span
			assert.Less(t, span.Start, span.End, "an error says where")
			assert.LessOrEqual(t, span.End, len(ruleTexts[rule].example))
		})
	}
}

// Advice to take increase() first is for results of counters: others never have one.
func TestIncreaseOfResults(t *testing.T) {
	for text, want := range map[string]Rule{
		"increase(now())": RuleIncreaseOperand, "increase(increase(disk.dev.total))": RuleIncreaseOperand,
		"increase(sum(rate(disk.dev.total)))": RuleIncreaseOperand, "increase(kernel.all.load[it])": RuleIncreaseOperand,
		"increase(sum(disk.dev.total))": RuleIncreaseResult, "increase(disk.dev.total + disk.dev.total)": RuleIncreaseResult,
	} {
		m := NewSet(Language{}, []*Definition{parsed(t, "it", text)}, derivedtest.NewHostCatalog(t), "derived").Metrics()[0]
		require.NotNil(t, m.Err, text)
		assert.Equal(t, want, m.Err.Rule, text)
	}
}

// What a KEY or a guard forbids inside a function is accepted where the message advises to write it.
func TestAdviceForKeys(t *testing.T) {
	keys := []string{
		"held = latch(kernel.all.load > 8, kernel.all.load < 4)", "clock = kernel.all.load < (now() > 5)",
		`long = max_sample(kernel.all.load, "1min") > 4`, "seen = max_sample(kernel.all.load) > 4",
		`recent = max_sample(kernel.all.load, "10s") > 4`,
	}
	const inside, outside = "or of what it selects: write the function inside", "or of what it selects: write now() outside"
	for _, row := range []struct{ refused, says, advised string }{
		{`max_sample(matchinst(/1/, kernel.all.load, held), "1min")`, inside, `matchinst(/1/, max_sample(kernel.all.load, "1min"), held)`},
		{`max_sample(sum(kernel.all.load) by (a=held), "1min")`, inside, `sum(max_sample(kernel.all.load, "1min")) by (a=held)`},
		{`max_sample(latch(kernel.all.load > 8, hinv.ncpu), "1min")`, inside, `latch(max_sample(kernel.all.load, "1min") > 8, hinv.ncpu)`},
		{"rate(matchinst(/1/, kernel.all.load, clock))", outside, "matchinst(/1/, rate(kernel.all.load), clock)"},
		{"delta(sum(kernel.all.load) by (a=clock))", outside, "sum(delta(kernel.all.load)) by (a=clock)"},
		{"delta(now() > 5 ? hinv.ncpu : novalue())", outside, "now() > 5 ? delta(hinv.ncpu) : novalue()"},
		{
			`max_sample(delta(matchinst(/1/, kernel.all.load, clock)), "1min")`, outside,
			`max_sample(matchinst(/1/, delta(kernel.all.load), clock), "1min")`,
		},
		{"rate(matchinst(/1/, kernel.all.load, held))", "or of what it selects: write it inside", "matchinst(/1/, rate(kernel.all.load), held)"},
		{
			`max_sample(sum(kernel.all.load) by (a=long), "1min")`, "Function over time of another one",
			`sum(max_sample(kernel.all.load, "1min")) by (a=long)`,
		},
		{
			"latch(matchinst(/1/, kernel.all.load, seen), hinv.ncpu)", "Function over time without a window in latch()",
			"latch(matchinst(/1/, kernel.all.load, recent), hinv.ncpu)",
		},
	} {
		var defs []*Definition
		for _, line := range append(slices.Clone(keys), "refused = "+row.refused, "advised = "+row.advised) {
			name, text, _ := strings.Cut(line, " = ")
			defs = append(defs, parsed(t, name, text))
		}
		set := NewSet(Language{}, defs, derivedtest.NewHostCatalog(t), "derived")
		for _, m := range set.Metrics() {
			if m.Name != "refused" {
				assert.Nil(t, m.Err, "%s = %s", m.Name, row.advised)
			} else if assert.NotNil(t, m.Err, row.refused) {
				assert.Contains(t, m.Err.Error(), row.says, row.refused)
			}
		}
	}
}

// The span of an error is the part of the text that the message is about.
func TestErrorSpan(t *testing.T) {
	for _, row := range []struct{ name, expr, part string }{
		{"operand", "1 + nosuch", "nosuch"},
		{"inner operator", "long.one * (bin + other)", "bin + other"},
		{"function", "1 + avg(string)", "avg(string)"},
		{"rescale", `2 * rescale(kbyte, "sec")`, `rescale(kbyte, "sec")`},
		{"ternary", "1 + (long.one ? bin : other)", "long.one ? bin : other"},
		{"meta", "1 + mkconst(1, meta=nosuch)", "nosuch"},
		{"defined", "1 + defined(broken.desc)", "broken.desc"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := NewSet(Language{}, []*Definition{parsed(t, "it", row.expr)}, derivedtest.NewCatalog(t), "derived").Metrics()[0]
			require.NotNil(t, m.Err)
			assert.Equal(t, row.part, row.expr[m.Err.Span.Start:m.Err.Span.End])
			assert.Equal(t, m.Err.Span.Start, m.Err.Offset())
		})
	}
}

// Unbound is true only for errors that disappear when a metric appears.
func TestErrorUnbound(t *testing.T) {
	for expr, unbound := range map[string]bool{
		"nosuch":                       true,
		"broken.desc":                  true,
		"inner.node":                   true,
		"user":                         true,
		"user.user":                    true,
		"bad.user":                     false,
		"defined(nosuch) ? 1 : nosuch": true,
		"string + 1":                   false,
		"bin + other":                  false,
		"round":                        false,
	} {
		t.Run(expr, func(t *testing.T) {
			defs := []*Definition{
				parsed(t, "it", expr), parsed(t, "user", "nosuch + 1"),
				parsed(t, "user.user", "user + 1"), parsed(t, "bad.user", "bad + 1"),
				parsed(t, "bad", "string + 1"), parsed(t, "round", "it"),
			}
			m := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived").Metrics()[0]
			require.NotNil(t, m.Err)
			assert.Equal(t, unbound, m.Err.Unbound())
		})
	}
}

// chain is n definitions, each of which uses the next.
func chain(tb testing.TB, n int) []*Definition {
	defs := make([]*Definition, n)
	for i := range defs {
		next := "m" + strconv.Itoa(i+1) + " + 1"
		if i == n-1 {
			next = "long.one"
		}
		defs[i] = parsed(tb, "m"+strconv.Itoa(i), next)
	}
	return defs
}

// Long chains of definitions work whatever their order, up to a limit that does not depend on it.
func TestChain(t *testing.T) {
	for _, row := range []struct {
		name    string
		n, good int
	}{
		{"within limits", 10_000, 10_000},
		{"beyond", 25_000, maxHeight},
	} {
		t.Run(row.name, func(t *testing.T) {
			defs := chain(t, row.n)
			reversed := make([]*Definition, row.n)
			for i, d := range defs {
				reversed[row.n-1-i] = d
			}
			for name, defs := range map[string][]*Definition{"forwards": defs, "backwards": reversed} {
				set := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived")
				good := 0
				for _, m := range set.Metrics() {
					if m.Err == nil {
						good++
					} else {
						assert.Equal(t, RuleTooDeep, m.Err.Rule)
					}
				}
				assert.Equal(t, row.good, good, name)
			}
		})
	}
}

// The error at the end of a long chain is told in each of its definitions, but not again and again.
func TestBrokenChain(t *testing.T) {
	defs := chain(t, 10_000)
	defs[9_999] = parsed(t, "m9999", "nosuch")
	m := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived").Metrics()[0]
	require.NotNil(t, m.Err)
	assert.EqualError(t, m.Err, "Semantic error: derived metric m0: operand m1: Definition of operand metric failed "+
		"(Semantic error: derived metric m9999: operand nosuch: Unknown operand metric)")
	assert.True(t, m.Err.Unbound())
	assert.True(t, m.Err.Absent())
}

// A ring of definitions is an error in each of them, however long it is.
func TestRing(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1000, maxChain + 1000} {
		defs := chain(t, n)
		defs[n-1] = parsed(t, defs[n-1].Name, "derived.m0 * 2")
		for _, m := range NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived").Metrics() {
			require.NotNil(t, m.Err)
			if n <= maxChain {
				require.Equal(t, RuleCycle, m.Err.Rule)
			}
		}
	}
}

// The last of several definitions with one name counts, in the place of the first.
func TestDuplicateName(t *testing.T) {
	set := NewSet(Language{}, []*Definition{
		parsed(t, "a", "1"), parsed(t, "b", "a"), parsed(t, "a", "1.5"),
	}, derivedtest.NewCatalog(t), "derived")
	require.Len(t, set.Metrics(), 2)
	assert.Equal(t, "a", set.Metrics()[0].Name)
	b, ok := set.Lookup("b")
	require.True(t, ok)
	assert.Equal(t, pdu.TypeDouble, b.Desc.Type)
	_, ok = set.Lookup("c")
	assert.False(t, ok)
}

// Without a prefix there is no other name for a definition.
func TestNoPrefix(t *testing.T) {
	defs := []*Definition{parsed(t, "a", "1"), parsed(t, "b", "derived.a")}
	set := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "")
	require.NotNil(t, set.Metrics()[1].Err)
	assert.Equal(t, RuleUnknownOperand, set.Metrics()[1].Err.Rule)
}

// asked counts what the checker asks of a collector.
type asked struct {
	derivedtest.Catalog
	names map[string]bool
}

func (c asked) Desc(name string) (pdu.Desc, error) {
	c.names[name] = true
	return c.Catalog.Desc(name)
}

// A collector is never asked for names below the prefix, nor for the operand that a static
// guard does not select.
func TestNotAsked(t *testing.T) {
	cat := asked{derivedtest.NewCatalog(t), map[string]bool{}}
	NewSet(Language{}, []*Definition{
		parsed(t, "a", "derived.b + derived.nosuch"),
		parsed(t, "b", "long.one"),
		parsed(t, "c", "1 ? long.ten : bin"),
	}, cat, "derived")
	assert.Equal(t, map[string]bool{"long.one": true, "long.ten": true}, cat.names)
}

func TestNames(t *testing.T) {
	d := parsed(t, "it", "defined(a) ? sum(b) + anon(PM_TYPE_32) : "+
		`mkconst(1, meta=c) + (b)[x] ? rescale(d, "") : novalue(meta=e)`)
	var names []string
	for name := range d.Names {
		names = append(names, name)
	}
	assert.Equal(t, []string{"a", "b", "c", "b", "d", "e"}, names)
	for name := range d.Names {
		assert.Equal(t, "a", name)
		break
	}
}

func TestSyntaxError(t *testing.T) {
	_, err := Parse("it", "1 + * 2")
	var fault *syntax.Error
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, "syntax error: Arithmetic expression expected to follow PLUS", fault.Error())
	assert.Equal(t, 4, fault.Offset())
	_, err = Parse("it", "1 2")
	require.EqualError(t, err, "syntax error")
	for _, text := range []string{`mkconst(1, units="x")`, `rescale(a, "x")`, "matchinst(/(/, a)"} {
		_, err = Parse("it", text)
		require.ErrorAs(t, err, &fault, text)
	}
}
