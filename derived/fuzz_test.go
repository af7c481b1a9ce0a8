package derived

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived/check"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
	"pmdaderived/test/conformance"
)

// maxFuzzAlloc is the most that a text of up to 4 KiB may allocate on its way to values, in bytes.
const maxFuzzAlloc = 256 << 20

// FuzzPipeline takes texts from parsing to values: nothing panics, steps are in proportion to the text,
// and what comes out is what the descriptor says. Lines are definitions m0, m1, … that may use each
// other.
func FuzzPipeline(f *testing.F) {
	for _, d := range mixture(f) {
		f.Add(d.Text, uint64(1))
	}
	for rule := RuleUnknownOperand; rule <= check.RuleEvents; rule++ {
		f.Add(rule.Example(), uint64(2))
	}
	names := strings.NewReplacer("sample.", "", "long.bin", "bin", "ulong.bin", "bin.u",
		"double.bin", "bin.d", "string.bin", "bin.string")
	for i, c := range conformance.ReadCorpus(f, "testdata/corpus") {
		if i%7 == 0 {
			f.Add(names.Replace(c.Expr), uint64(i))
		}
	}
	f.Add("m1 + 1\nderived.m2 * m3\nm0\nbin", uint64(3))
	f.Add("sum(bin) by (/-(.)/ -> bin.u by (/(.)$/), x=bin -> m1)\nmax(other) by (label(l))", uint64(5))
	f.Add("delta(m1)\ndelta(m2)\nrate(bin) > 0", uint64(4))

	cat := derivedtest.NewHostCatalog(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 4096 {
			return
		}
		before := allocated()
		var defs []*Definition
		for line := range strings.SplitSeq(text, "\n") {
			if d, err := Parse("m"+string(rune('0'+len(defs)%10)), line); err == nil {
				defs = append(defs, d)
			}
		}
		set := Language{}.NewSet(defs, cat, "derived")
		assert.LessOrEqual(t, set.Steps(), (MaxHistory+1)*(4*len(text)+4))
		samples := randomMoments(rand.New(rand.NewPCG(seed, 1)), cat, 3)
		eval := set.NewEvaluation()
		for i := range samples {
			eval.Reset(newestFirst(samples[:i+1])...)
			for _, m := range set.Metrics() {
				v := eval.Value(m)
				if m.Err == nil {
					checkVector(t, m, v)
				} else {
					assert.Equal(t, pdu.ErrBadDerive, v.Code)
					_ = m.Err.Error()
				}
			}
		}
		assert.Less(t, allocated()-before, uint64(maxFuzzAlloc))
	})
}

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
