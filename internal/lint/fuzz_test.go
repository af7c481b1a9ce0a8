package lint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
)

// FuzzCheck: whatever an expression is, warnings about it have a known code, a place in it and a message, and it is no
// worse without a collector.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"ncpu > 8 ? 2 : ncpu > 4 ? 1 : 0", "defined(free) ? swap : free", "!ncpu > 8 || swap > free && 0 * ncpu / 0",
		"rate(instant(delta(total)))", "rescale(free, \"Mbyte\") - rescale(free, \"Mbyte\")",
		"matchinst(!/a/, total)[b] == mkconst(1, meta=total)",
		"free < 0 ? novalue() : nosuch.metric", "1 < 2 < 3", "ncpu - procs", "free / delta(total)", "total[sdz] / 5",
		"matchinst(/pmcd/, rss)",
	} {
		f.Add(seed)
	}
	known := map[Code]bool{}
	for _, c := range Codes() {
		known[c] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := derived.Parse("x", text)
		if err != nil || len(text) > 4096 {
			return
		}
		other, err := derived.Parse("y", "x + free")
		require.NoError(t, err)
		for _, o := range []Options{{Root: "derived"}, {
			Root: "derived", Catalog: host(), Host: fakeHost{},
			Suggest: func(name string) string { return name + "s" },
		}} {
			for _, w := range Check([]*derived.Definition{other, d}, o) {
				require.True(t, known[w.Code], w.Code)
				require.NotEmpty(t, w.Message)
				require.GreaterOrEqual(t, w.Offset, -1)
				require.LessOrEqual(t, w.Offset, len(w.Definition.Text))
			}
		}
	})
}
