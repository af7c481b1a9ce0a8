package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/check"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// testdata/compile/steps.txt has definitions, `NAME = EXPR`, and below each, indented, the steps that
// compute it. After the definitions of a story: how many steps there are altogether.
func TestCompile(t *testing.T) {
	const file = "testdata/compile/steps.txt"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	cat := derivedtest.NewCatalog(t)
	var made strings.Builder
	for _, story := range strings.Split(string(text), "=== ")[1:] {
		title, body, _ := strings.Cut(story, "\n")
		var defs []*check.Definition
		for line := range strings.SplitSeq(body, "\n") {
			if name, expr, ok := strings.Cut(line, " = "); ok && line[0] != '\t' {
				defs = append(defs, parse(t, name, expr))
			}
		}
		set := NewSet(check.NewSet(check.Language{}, defs, cat, "derived"))
		fmt.Fprintf(&made, "=== %s\n", title)
		for _, m := range set.Metrics() {
			require.Nil(t, m.Err)
			fmt.Fprintf(&made, "%s = %s\n", m.Name, m.Definition.Text)
			for line := range strings.Lines(set.disassemble(m)) {
				fmt.Fprintf(&made, "\t%s", line)
			}
		}
		fmt.Fprintf(&made, "%d steps\n", len(set.program.steps))
	}
	derivedtest.Golden(t, "compile/steps.txt", made.String())
}

// parse parses a text that is known to be good.
func parse(tb testing.TB, name, text string) *check.Definition {
	tb.Helper()
	d, err := check.Parse(name, text)
	require.NoError(tb, err, "%s = %s", name, text)
	return d
}

// Steps of older samples are not mixed up between definitions, wherever their trees are in memory.
func TestCompileApart(t *testing.T) {
	cat := derivedtest.NewCatalog(t)
	texts := []string{"delta(bin + 1)", "delta(bin * 2)", "delta(-bin)"}
	var defs []*check.Definition
	for i, text := range texts {
		defs = append(defs, parse(t, fmt.Sprintf("d%d", i), text))
	}
	set := NewSet(check.NewSet(check.Language{}, defs, cat, "derived"))
	for i, m := range set.Metrics() {
		alone := NewSet(check.NewSet(check.Language{}, defs[i:i+1], cat, "derived"))
		assert.Equal(t, alone.disassemble(alone.Metrics()[0]), set.disassemble(m), texts[i])
	}
}

// Every step comes after those that it takes from, whatever the order of the definitions.
func TestStepOrder(t *testing.T) {
	set := NewSet(check.NewSet(check.Language{}, []*check.Definition{
		parse(t, "a", "derived.b + delta(derived.c)"),
		parse(t, "b", "rate(c * 2) + 1"),
		parse(t, "c", "bin ? bin : -bin"),
	}, derivedtest.NewCatalog(t), "derived"))
	for i, s := range set.program.steps {
		s.takes(func(k int32) { assert.Less(t, k, int32(i)) })
	}
}

func TestNeeds(t *testing.T) {
	cat := derivedtest.NewCatalog(t)
	id := func(name string) pdu.PMID { return cat.Metrics[name].PMID }
	set := NewSet(check.NewSet(check.Language{}, []*check.Definition{
		parse(t, "nothing", "1 + defined(long.one)"),
		parse(t, "plain", "bin.d + bin + bin.d"),
		parse(t, "match", "matchinst(/x/, bin) + matchinst(/y/, bin)"),
		parse(t, "select", "bin[b] + bin[a] * bin.d[a]"),
		parse(t, "members", "mkconst(1, indom=29.3) + other"),
		parse(t, "history", "delta(rate(bin) > 0) + delta(bin.u)"),
		parse(t, "nested", "derived.match + (plain)[c]"),
		parse(t, "chosen", "defined(nosuch) ? bin : long.one"),
		parse(t, "broken", "nosuch + long.one"),
	}, cat, "derived"))
	for name, want := range map[string]Needs{
		"nothing": {},
		"plain":   {Operands: []pdu.PMID{id("bin"), id("bin.d")}},
		"match":   {Operands: []pdu.PMID{id("bin")}, Names: []pdu.InDom{derivedtest.BinInDom}},
		"select": {
			Operands:  []pdu.PMID{id("bin"), id("bin.d")},
			Selectors: []Selector{{derivedtest.BinInDom, "a"}, {derivedtest.BinInDom, "b"}},
		},
		"members": {Operands: []pdu.PMID{id("other")}, Members: []pdu.InDom{derivedtest.OtherInDom}},
		"history": {Operands: []pdu.PMID{id("bin"), id("bin.u")}, History: 2, HasDelta: true},
		"nested": {
			Operands:  []pdu.PMID{id("bin"), id("bin.d")},
			Names:     []pdu.InDom{derivedtest.BinInDom},
			Selectors: []Selector{{derivedtest.BinInDom, "c"}},
		},
		"chosen": {Operands: []pdu.PMID{id("long.one")}},
		"broken": {},
	} {
		m, ok := set.Lookup(name)
		require.True(t, ok)
		assert.Equal(t, want, *m.Needs(), name)
	}
}

// dated is a sample with nothing but a time.
type dated struct {
	Sample
	at time.Time
}

// Samples that no longer belong to the evaluation's history are not kept.
func TestResetForgetsSamples(t *testing.T) {
	e := NewSet(check.NewSet(check.Language{}, nil, derivedtest.NewCatalog(t), "derived")).NewEvaluation()
	e.Reset(dated{at: time.Unix(2, 0)}, dated{at: time.Unix(1, 0)})
	e.Reset(dated{at: time.Unix(3, 0)})
	assert.Nil(t, e.history[:2][1])
}
