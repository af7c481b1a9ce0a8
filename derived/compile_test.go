package derived

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// testdata/compile/steps.txt has definitions, `NAME = EXPR`, and below each, indented, the steps that
// compute it. After the definitions of a story: how many steps there are altogether.
func TestCompile(t *testing.T) {
	const file = "testdata/compile/steps.txt"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	cat := newTestCatalog(t)
	var made strings.Builder
	for _, story := range strings.Split(string(text), "=== ")[1:] {
		title, body, _ := strings.Cut(story, "\n")
		var defs []*Definition
		for line := range strings.SplitSeq(body, "\n") {
			if name, expr, ok := strings.Cut(line, " = "); ok && line[0] != '\t' {
				defs = append(defs, definition(t, name, expr))
			}
		}
		set := Language{}.NewSet(defs, cat, "derived")
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
	golden(t, "compile/steps.txt", made.String())
}

// What one definition takes from samples before is not what another one takes, wherever their trees lie.
func TestCompileApart(t *testing.T) {
	cat := newTestCatalog(t)
	texts := []string{"delta(bin + 1)", "delta(bin * 2)", "delta(-bin)"}
	var defs []*Definition
	for i, text := range texts {
		defs = append(defs, definition(t, fmt.Sprintf("d%d", i), text))
	}
	set := Language{}.NewSet(defs, cat, "derived")
	for i, m := range set.Metrics() {
		alone := Language{}.NewSet(defs[i:i+1], cat, "derived")
		assert.Equal(t, alone.disassemble(alone.Metrics()[0]), set.disassemble(m), texts[i])
	}
}

// Every step comes after those that it takes from, whatever the order of the definitions.
func TestStepOrder(t *testing.T) {
	set := Language{}.NewSet([]*Definition{
		definition(t, "a", "derived.b + delta(derived.c)"),
		definition(t, "b", "rate(c * 2) + 1"),
		definition(t, "c", "bin ? bin : -bin"),
	}, newTestCatalog(t), "derived")
	for i, s := range set.program.steps {
		s.takes(func(k int32) { assert.Less(t, k, int32(i)) })
	}
}

func TestNeeds(t *testing.T) {
	cat := newTestCatalog(t)
	id := func(name string) pdu.PMID { return cat.metrics[name].PMID }
	set := Language{}.NewSet([]*Definition{
		definition(t, "nothing", "1 + defined(long.one)"),
		definition(t, "plain", "bin.d + bin + bin.d"),
		definition(t, "match", "matchinst(/x/, bin) + matchinst(/y/, bin)"),
		definition(t, "select", "bin[b] + bin[a] * bin.d[a]"),
		definition(t, "members", "mkconst(1, indom=29.3) + other"),
		definition(t, "history", "delta(rate(bin) > 0) + delta(bin.u)"),
		definition(t, "nested", "derived.match + (plain)[c]"),
		definition(t, "chosen", "defined(nosuch) ? bin : long.one"),
		definition(t, "broken", "nosuch + long.one"),
	}, cat, "derived")
	for name, want := range map[string]Needs{
		"nothing": {},
		"plain":   {Operands: []pdu.PMID{id("bin"), id("bin.d")}},
		"match":   {Operands: []pdu.PMID{id("bin")}, Names: []pdu.InDom{binInDom}},
		"select": {
			Operands:  []pdu.PMID{id("bin"), id("bin.d")},
			Selectors: []Selector{{binInDom, "a"}, {binInDom, "b"}},
		},
		"members": {Operands: []pdu.PMID{id("other")}, Members: []pdu.InDom{otherInDom}},
		"history": {Operands: []pdu.PMID{id("bin"), id("bin.u")}, History: 2, Adds: true},
		"nested": {
			Operands:  []pdu.PMID{id("bin"), id("bin.d")},
			Names:     []pdu.InDom{binInDom},
			Selectors: []Selector{{binInDom, "c"}},
		},
		"chosen": {Operands: []pdu.PMID{id("long.one")}},
		"broken": {},
	} {
		m, ok := set.Lookup(name)
		require.True(t, ok)
		assert.Equal(t, want, *m.Needs(), name)
	}
}
