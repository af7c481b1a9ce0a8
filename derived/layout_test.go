package derived

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// listed is a moment that has its numbers in a list.
type listed struct {
	moment
	layout  *Layout
	vectors []Vector
}

func (l *listed) Vectors() (*Layout, []Vector) { return l.layout, l.vectors }

// A list is used where it has the operand; the order may be another in every sample.
func TestArrangedSamples(t *testing.T) {
	a, b, c := pdu.NewPMID(29, 9, 1), pdu.NewPMID(29, 9, 2), pdu.NewPMID(29, 9, 3)
	cat := CatalogMap{}
	for name, id := range map[string]pdu.PMID{"a": a, "b": b, "c": c} {
		cat[name] = pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	}
	set, m := only(t, "a - delta(b) + c", cat)
	vector := func(n uint64) *Vector { return &Vector{Type: pdu.TypeU64, Bits: []uint64{n}} }
	sample := func(sec int64, l *Layout, numbers ...uint64) Sample {
		s := &listed{layout: l, moment: moment{at: time.Unix(sec, 0), values: map[pdu.PMID]*Vector{c: vector(1000)}}}
		for _, n := range numbers {
			s.vectors = append(s.vectors, *vector(n))
		}
		return s
	}
	ab, ba := NewLayout([]pdu.PMID{a, b}), NewLayout([]pdu.PMID{b, a, b})
	plain := &moment{at: time.Unix(9, 0), values: map[pdu.PMID]*Vector{a: vector(50), b: vector(5), c: vector(1000)}}
	eval := set.NewEvaluation()
	for _, row := range []struct {
		name        string
		now, before Sample
		want        float64
	}{
		{"one layout", sample(2, ab, 100, 7), sample(1, ab, 0, 3), 1096},
		{"the same again", sample(3, ab, 200, 8), sample(2, ab, 100, 7), 1199},
		{"two layouts", sample(4, ba, 9, 300, 77), sample(3, ab, 200, 8), 1299},
		{"the other way round", sample(5, ab, 400, 11), sample(4, ba, 9, 300, 77), 1398},
		{"a list and none", sample(10, ba, 7, 500, 77), plain, 1498},
		{"none and a list", plain, sample(8, ab, 1, 4), 1049},
	} {
		t.Run(row.name, func(t *testing.T) {
			eval.Reset(row.now, row.before)
			v := eval.Value(m)
			require.Equal(t, 1, v.Len())
			assert.InDelta(t, row.want, m.Desc.Type.Float64(v.Bits[0]), 0)
		})
	}
	eval.Reset(sample(11, NewLayout([]pdu.PMID{a}), 1), plain)
	assert.Equal(t, pdu.ErrAgain, eval.Value(m).Code, "an operand that is nowhere")
	_, ok := (*Layout)(nil).Find(a)
	assert.False(t, ok)
}
