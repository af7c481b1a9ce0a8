package derived

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
)

// Any text is read, or refused with a message, in memory that its length limits.
func TestHostileTexts(t *testing.T) {
	const mb = 1 << 20
	for _, row := range []struct {
		name, text string
		wrong      string // "": it is good
	}{
		{"1 MB of operators", strings.Repeat("bin+", mb/4-1) + "bin", "levels deep"},
		{"1 MB of parallel operators", balanced(1 << 16), ""},
		{"more than 1 MB", strings.Repeat(" ", mb) + "1", "syntax error"},
		{"100,000 parentheses", strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), "levels deep"},
		{"100,000 opening parentheses", strings.Repeat("(", 100_000), "syntax error"},
		{"100,000 minus signs", strings.Repeat("-", 100_000) + "1", "levels deep"},
		{"100,000 ternaries", strings.Repeat("1?1:", 100_000) + "1", "levels deep"},
		{"a NUL byte", "bin\x00+1", "Illegal character"},
		{"invalid UTF-8", "bin + \xff\xfe", "Illegal character"},
		{"a name of 10,000 characters", strings.Repeat("n", 10_000), ""},
		{"a number of 100,000 digits", strings.Repeat("9", 100_000), "Constant value too large"},
		{"a fraction of 100,000 digits", "0." + strings.Repeat("9", 100_000), ""},
		{"an instance of 1 MB", "bin[" + strings.Repeat("x", mb-8) + "]", ""},
		{"a pattern of 1 MB", "matchinst(/" + strings.Repeat("x", mb-64) + "/, bin)", "Regular expression too big"},
		{"a pattern of repeats", "matchinst(/((a{1,255}){1,255}){1,255}/, bin)", "Regular expression too big"},
		{"units of 1 MB", `rescale(bin, "` + strings.Repeat("x", mb-64) + `")`, "Illegal units"},
		{"200,000 operands", "max(" + strings.Repeat("bin,", 200_000) + "0)", ""},
		{"200,000 operands that do not fit", "max(" + strings.Repeat("bin,", 200_000) + "0.5)", ""},
		{
			"9,000 values in place of others",
			strings.Repeat("default(matchinst(/x/,", 4_000) + "bin" + strings.Repeat("),0)", 4_000), "",
		},
		{"100,000 tags", "mkconst(1" + strings.Repeat(",type=32", 100_000) + ")", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := allocated()
			d, err := Parse("m", row.text)
			if row.wrong != "" {
				require.ErrorContains(t, err, row.wrong)
			} else {
				require.NoError(t, err)
				set := Language{}.NewSet([]*Definition{d}, derivedtest.NewCatalog(t), "derived")
				set.NewEvaluation().Value(set.Metrics()[0])
			}
			assert.Less(t, allocated()-before, uint64(64<<20+1000*len(row.text)))
		})
	}
}

// balanced is the sum of n ones, as a tree as flat as can be.
func balanced(n int) string {
	if n == 1 {
		return "1"
	}
	return "(" + balanced(n/2) + "+" + balanced(n-n/2) + ")"
}

// Definitions that use one another twice take no more steps for it, even if default() needs the instances of all.
func TestManyWaysToTheInstances(t *testing.T) {
	defs := []*Definition{definition(t, "m0", "bin")}
	for i := range 60 {
		text := strings.ReplaceAll("default(m#, 0) + (m# ? m# : 1) * max(m#, m#)", "#", strconv.Itoa(i))
		defs = append(defs, definition(t, fmt.Sprint("m", i+1), text))
	}
	defs = append(defs, definition(t, "last", "default(m60 / m59, 0)"))
	set := Language{}.NewSet(defs, derivedtest.NewCatalog(t), "derived")
	last, _ := set.Lookup("last")
	require.Nil(t, last.Err)
	assert.Less(t, set.Steps(), 2000)
}

// 100,000 definitions are a set like any other.
func TestHundredThousandDefinitions(t *testing.T) {
	const n = 100_000
	before := allocated()
	defs := make([]*Definition, n)
	for i := range defs {
		d, err := Parse(fmt.Sprintf("m%d", i), fmt.Sprintf("delta(bin) * %d", i))
		require.NoError(t, err)
		defs[i] = d
	}
	set := Language{}.NewSet(defs, derivedtest.NewCatalog(t), "derived")
	require.Len(t, set.Metrics(), n)
	last, ok := set.Lookup(fmt.Sprintf("m%d", n-1))
	require.True(t, ok)
	assert.Nil(t, last.Err)
	assert.Less(t, allocated()-before, uint64(n*8000), "bytes for all")
}

// Definitions that each use the one before twice make a tree that doubles with each of them, and a
// program that does not.
func TestSharedDefinitions(t *testing.T) {
	defs := []*Definition{definition(t, "m0", "long.one")}
	for i := 1; i <= 1000; i++ {
		before := "m" + strconv.Itoa(i-1)
		defs = append(defs, definition(t, "m"+strconv.Itoa(i), before+" + "+before))
	}
	set := Language{}.NewSet(defs, derivedtest.NewCatalog(t), "derived")
	assert.Equal(t, 1001, set.Steps())
	last, _ := set.Lookup("m1000")
	require.Nil(t, last.Err)
}
