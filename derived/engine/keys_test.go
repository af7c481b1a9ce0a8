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

// windowSet compiles definitions "name = expression" of which all are valid.
func windowSet(tb testing.TB, cat derivedtest.Catalog, lines ...string) *Set {
	tb.Helper()
	var defs []*check.Definition
	for _, line := range lines {
		name, expr, _ := strings.Cut(line, " = ")
		defs = append(defs, parse(tb, name, expr))
	}
	set := NewSet(check.NewSet(check.Language{}, defs, cat, "derived"))
	for _, m := range set.Metrics() {
		require.Nil(tb, m.Err, "%s = %s", m.Name, m.Definition.Text)
	}
	return set
}

// A window has another key if anything that its values depend on differs, also in the definitions that it uses.
func TestKeys(t *testing.T) {
	cat := derivedtest.NewCatalog(t)
	lines := []string{
		`x = max_sample(y + max(long.one, long.ten), "5s")`,
		`y = sum(matchinst(!/a/, bin * 2)) + (bin)[bin-1] + sum(sum(bin) by (/b/)) + sum(sum(bin) by (/l/ -> other by (/m/))) + mkconst(1, meta=w) * (rescale(byte, "byte") > 0) + z`,
		`z = (mkconst(1, meta=w) > 0 ? -long.ten : 2) + nth_percentile_inst(bin, 50) + defined(w)`,
		`w = mkconst(3, type=u32)`,
	}
	key := func(cat derivedtest.Catalog, lines ...string) string {
		keys := windowSet(t, cat, lines...).Keys()
		require.Len(t, keys, 1)
		return keys[0]
	}
	before := key(cat, lines...)
	assert.Equal(t, before, key(cat, append([]string{`u = byte * 2`}, lines...)...), "another definition is of no concern")
	for _, change := range []string{
		`max_sample(->min_sample(`, `"5s"->"6s"`, `y + max(->y - max(`, `+ max(->+ min(`, `long.one, long.ten->long.ten, long.one`,
		`!/a/->/a/`, `!/a/->!/b/`, `bin * 2->bin * 3`, `bin-1->bin-2`, `by (/b/)->by (/c/)`, `by (/b/)->by (other=/b/)`,
		`/l/->/k/`, `other by (/m/)->other.string by (/m/)`, `by (/m/)->by (/n/)`, `by (/m/)->by (other)`, ` by (/m/)->`,
		`"byte"->"Kbyte"`, `-long.ten->long.ten`, `-long.ten->(-long.ten)`, `: 2)->: 3)`, `bin, 50->bin, 51`,
		`defined(w)->defined(v)`, `> 0 ->>= 0 `, `mkconst(3, type=u32)->mkconst(3, type=u64)`,
	} {
		from, to, _ := strings.Cut(change, "->")
		changed := strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), from, to), "\n")
		assert.NotEqual(t, lines, changed, change)
		assert.NotEqual(t, before, key(cat, changed...), change)
	}
	for _, name := range []string{"long.one", "long.ten", "bin", "byte", "other"} {
		other := derivedtest.NewCatalog(t)
		desc := other.Metrics[name]
		desc.PMID++
		other.Metrics[name] = desc
		assert.NotEqual(t, before, key(other, lines...), name)
	}
	cat.Metrics["w"] = cat.Metrics["long.one"]
	assert.NotEqual(t, before, key(cat, lines...), "a metric of the collector in place of a definition")
}

// The keys of all windows cost as much as the text, however the windows and definitions use each other.
func TestKeysOfWhatIsShared(t *testing.T) {
	for _, row := range []struct {
		name  string
		lines func(n int) []string
	}{
		{"windows over each link of a chain of definitions", func(n int) (lines []string) {
			lines = append(lines, "d0 = long.one")
			for i := range n {
				lines = append(lines, fmt.Sprintf(`d%d = d%d + 1`, i+1, i), fmt.Sprintf(`w%d = max_sample(d%d, "5s")`, i, i))
			}
			return lines
		}},
		{"latches within each other", func(n int) []string {
			return []string{"x = " + strings.Repeat("latch(", n) + "long.one > 0" + strings.Repeat(", long.one < 0)", n)}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			growth.Check(t, 200, func(n int) func() {
				set := windowSet(t, derivedtest.NewCatalog(t), row.lines(n)...)
				return func() { assert.Len(t, set.Keys(), n) }
			})
		})
	}
}
