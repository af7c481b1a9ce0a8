package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
)

// Lines shows every kind of node, with the operands of operators cut short.
func TestLines(t *testing.T) {
	lets := []*Definition{
		parsed(t, "sum2", "byte + kbyte"), parsed(t, "twice", "sum2 * derived.sum2"),
		parsed(t, "chosen", "defined(sum2) ? sum2 : twice"),
	}
	for _, row := range []struct{ expr, want string }{
		{"(long.one)", "long.one\n"},
		{`rescale(byte, "Kbyte")`, "rescale(..., \"Kbyte\")\n byte /1024 *1\n"},
		{"rate(millisec)", "rate(...)\n millisec /1000 *1\n"},
		{"byte + kbyte", "byte + kbyte\n byte /1024 *1\n kbyte\n"},
		{"mbyte > mkconst(1, units=byte)", "mbyte > mkconst(1, units=byte)\n mbyte\n mkconst(1, units=byte) /1.048576e+06 *1\n"},
		{"(bin * 2)[a\\]b] > avg(bin)", "... > avg(...)\n (...)[a\\]b]\n  bin * 2\n   bin\n   2\n avg(...)\n  bin\n"},
		{"bin[x y]", "bin[x y]\n bin\n"},
		{`matchinst(!/a\/b/, -bin)`, "matchinst(!/a\\/b/, ...)\n -bin\n  bin\n"},
		{"!long.one ? novalue() : scalar(bin)", "... ? novalue() : scalar(...)\n !long.one\n  long.one\n novalue()\n scalar(...)\n  bin\n"},
		{"defined(no.such) && no.such", "defined(no.such) && no.such\n"},
		{"defined(sum2) + 1.5", "defined(sum2) + 1.5\n defined(sum2)\n 1.5\n"},
		{"twice", "twice = sum2 * derived.sum2\n sum2 = byte + kbyte\n  byte /1024 *1\n  kbyte\n derived.sum2 = byte + kbyte again\n"},
		{"chosen * 2", "chosen * 2\n chosen = byte + kbyte\n  byte /1024 *1\n  kbyte\n 2\n"},
		{"1 ? sum2 : no.such", "byte + kbyte\n byte /1024 *1\n kbyte\n"},
		{`rescale(volt, "voltage (uV)")`, "rescale(..., \"voltage (uV)\")\n volt /1 *1e+06\n"},
		{`rescale(volt / volt * mkconst(50.0, units="temperature (F)"), "temperature (C)")`, "rescale(..., \"temperature (C)\")\n ... * mkconst(50.0, units=\"temperature (F)\") /9 *5 -17.7778\n  volt / volt\n   volt\n   volt\n  mkconst(50.0, units=\"temperature (F)\")\n"},
		{"nosuch", ""},
	} {
		t.Run(row.expr, func(t *testing.T) {
			defs := append([]*Definition{parsed(t, "it", row.expr)}, lets...)
			set := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived")
			m, _ := set.Lookup("it")
			assert.Equal(t, row.want, drawn(m))
		})
	}
}

// drawn is a line for each node, indented by its depth.
func drawn(m *Metric) string {
	var b strings.Builder
	for l := range m.Lines {
		b.WriteString(strings.Repeat(" ", l.Depth))
		if l.Name != "" {
			b.WriteString(l.Name + " = ")
		}
		b.WriteString(l.Title)
		if !l.Conversion.Trivial() {
			fmt.Fprintf(&b, " /%g *%g", l.Conversion.Divisor, l.Conversion.Multiplier)
		}
		if l.Offset != 0 {
			fmt.Fprintf(&b, " %+.6g", l.Offset)
		}
		if l.Repeated {
			b.WriteString(" again")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Lines stops when it is told to, wherever that is.
func TestLinesStops(t *testing.T) {
	defs := []*Definition{parsed(t, "it", "(bin + 1) * -(bin - 2)")}
	m := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived").Metrics()[0]
	total := strings.Count(drawn(m), "\n")
	require.Equal(t, 8, total)
	for stop := 1; stop <= total; stop++ {
		seen := 0
		for range m.Lines {
			if seen++; seen == stop {
				break
			}
		}
		assert.Equal(t, stop, seen)
	}
}

// Definitions that double with each level have a tree of 2^40 nodes, of which few are shown.
func TestLinesOfSharedTrees(t *testing.T) {
	defs := []*Definition{parsed(t, "d0", "long.one")}
	for i := range 40 {
		defs = append(defs, parsed(t, fmt.Sprintf("d%d", i+1), fmt.Sprintf("d%d + d%d", i, i)))
	}
	m, _ := NewSet(Language{}, defs, derivedtest.NewCatalog(t), "derived").Lookup("d40")
	require.Nil(t, m.Err)
	assert.Equal(t, 81, strings.Count(drawn(m), "\n"))
}
