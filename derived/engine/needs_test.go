package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/check"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/internal/growth"
)

// A chain of definitions that each add something to the one before needs half the square of its length. What is beyond
// the limit is refused, with what uses it, and nothing else.
func TestNeedsAreBounded(t *testing.T) {
	const length = 1500 // whose needs are about four times MaxNeeds
	for name, format := range map[string]string{
		"instances": "m%d + (bin)[i%d]", "windows": `m%d + max_sample(long.one, "%ds", "1s")`, "latches": `latch(m%d > 0, long.one > %d)`,
		"labels": "m%d + max(sum(bin) by (label(l%d)))",
	} {
		t.Run(name, func(t *testing.T) {
			defs := []*check.Definition{parse(t, "m0", "max(bin)")}
			for i := range length {
				defs = append(defs, parse(t, fmt.Sprint("m", i+1), fmt.Sprintf(format, i, i+1)))
			}
			for i := range 1000 {
				defs = append(defs, parse(t, fmt.Sprint("other", i), fmt.Sprintf(`(bin)[i%d] + max_sample(bin, "%ds", "1s")`, i, i+1)))
			}
			set := NewSet(check.NewSet(check.Language{}, defs, derivedtest.NewCatalog(t), "derived"))
			entries, refused := -2*length, 0 // what each adds to the one before, and its window, does not count
			for _, m := range set.Metrics() {
				entries += max(0, m.Needs().size()-freeNeeds)
				if m.Err == nil {
					require.True(t, refused == 0 || int(m.Index) > length, "%s uses what is refused", m.Name)
					continue
				}
				refused++
				require.Less(t, int(m.Index), length+1, m.Name)
				require.Equal(t, check.RuleTooDeep, m.Err.Rule)
			}
			assert.LessOrEqual(t, entries, MaxNeeds)
			assert.Greater(t, entries, MaxNeeds/3, "the rest is of windows")
			assert.Positive(t, refused)
			last, _ := set.Lookup(fmt.Sprint("m", length))
			assert.EqualError(t, last.Err, fmt.Sprintf("Semantic error: derived metric m%d: operand <expr>: Definitions nested too "+
				"deeply (definitions of a file need at most 250000 operands and instances of each other, "+
				"those of all files 2500000)", length))
		})
	}
}

// Nothing that others need takes the needs of a definition's own text from it, however many they are.
func TestOwnNeedsAreNotBounded(t *testing.T) {
	defs := []*check.Definition{parse(t, "m0", "max(bin)")}
	for i := range 1500 {
		defs = append(defs, parse(t, fmt.Sprint("m", i+1), fmt.Sprintf("m%d + (bin)[i%d]", i, i+1)))
	}
	var instances []string
	for i := range 100 {
		instances = append(instances, fmt.Sprintf("(bin)[i%d]", i))
	}
	flat := strings.Join(instances, " + ")
	for i := range 1500 {
		defs = append(defs, parse(t, fmt.Sprint("flat", i), flat), parse(t, fmt.Sprint("window", i), "max_sample("+flat+`, "5s")`))
	}
	set := NewSet(check.NewSet(check.Language{}, defs, derivedtest.NewCatalog(t), "derived"))
	for _, m := range set.Metrics()[1501:] { // the chain is beyond the limit
		require.Nil(t, m.Err, m.Name)
	}
}

// A file that needs too much takes nothing from another, even if both have the same definitions.
func TestNeedsOfAnotherFile(t *testing.T) {
	defs := []*check.Definition{parse(t, "m0", "max(bin)")}
	for i := range 1500 {
		defs = append(defs, parse(t, fmt.Sprint("m", i+1), fmt.Sprintf("m%d + (bin)[i%d]", i, i+1)))
	}
	for _, file := range []string{"a", "b"} {
		for name, format := range map[string]string{"sum": "m50 + %d", "window": "max_sample(m50, \"%ds\", \"1s\")", "latch": `latch(m50 > 0, m50 < %d)`} {
			for i := range 100 {
				defs = append(defs, parse(t, fmt.Sprint(file, name, i), fmt.Sprintf(format, i+1)))
			}
		}
	}
	for _, d := range defs {
		if d.File = "a"; d.Name[0] == 'b' {
			d.File = "b"
		}
	}
	set := NewSet(check.NewSet(check.Language{}, defs, derivedtest.NewCatalog(t), "derived"))
	for _, m := range set.Metrics() {
		if m.Definition.File == "b" {
			require.Nil(t, m.Err, m.Name)
			require.NotEmpty(t, m.Needs().Selectors, m.Name)
		}
	}
	last, _ := set.Lookup("m1500")
	assert.NotNil(t, last.Err)
}

// Many files need together no more than ten at their limit, and take nothing from a file that needs little.
func TestNeedsOfAllFiles(t *testing.T) {
	const files, length = 15, 700
	var defs []*check.Definition
	chain := func(file string, length int) {
		for i := range length + 1 {
			text := "max(bin)"
			if i > 0 {
				text = fmt.Sprintf("%[1]s%[2]d + (bin)[%[1]s%[2]d]", file, i-1)
			}
			d := parse(t, fmt.Sprint(file, i), text)
			d.File = file
			defs = append(defs, d)
		}
	}
	for k := range files {
		chain(fmt.Sprint("big", k, ".m"), length)
	}
	chain("small.m", 90)
	set := NewSet(check.NewSet(check.Language{}, defs, derivedtest.NewCatalog(t), "derived"))
	entries, refused := 0, 0
	for _, m := range set.Metrics() {
		entries += max(0, m.Needs().size()-freeNeeds-1) // one is its own
		if m.Err != nil {
			refused++
			require.NotEqual(t, "small.m", m.Definition.File)
		}
	}
	assert.LessOrEqual(t, entries, maxAllNeeds+(files+1)*minNeeds)
	assert.Greater(t, entries, maxAllNeeds*9/10)
	assert.Positive(t, refused)
}

// What is needed for twice as long a chain is not four times as much.
func TestNeedsOfAChain(t *testing.T) {
	growth.Check(t, 1500, func(n int) func() {
		defs := []*check.Definition{parse(t, "m0", "max(bin)")}
		for i := range n {
			defs = append(defs, parse(t, fmt.Sprint("m", i+1), fmt.Sprintf("m%d + (bin)[i%d]", i, i+1)))
		}
		checked := check.NewSet(check.Language{}, defs, derivedtest.NewCatalog(t), "derived")
		return func() { NewSet(checked) }
	})
}
