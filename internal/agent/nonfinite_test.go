package agent

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

// Values that are not finite are left out of replies, unless NonFinite is set. Other definitions have them as operands.
func TestNonFiniteValues(t *testing.T) {
	rows := []struct{ name, expr, dropped, served string }{
		{"ratio", "up.bin / (up.bin - 10)", "2:-0.00 3:1.50", "1:+Inf 2:-0.00 3:1.50"},
		{"one", "up.bin[one] / (up.bin[one] - 10)", "", "1:+Inf"},
		{"largest", "max(derived.ratio)", "", "-1:+Inf"},
		{"nan", "derived.largest - derived.largest", "", "-1:NaN"},
		{"known", "count(derived.ratio)", "-1:3.00", "-1:3.00"},
		{"guarded", "derived.largest > 5 ? 1 : 0", "-1:1.00", "-1:1.00"},
		{"constant", "1 / 0.0", "", "-1:+Inf"},
	}
	lines := []string{"plain = up.bin"}
	for _, row := range rows {
		lines = append(lines, row.name+" = "+row.expr)
	}
	for _, serve := range []bool{false, true} {
		h := start(t, newCollector(t), conf(lines...), func(o *Options) { o.NonFinite = serve }).bound()
		h.value(h.id("derived.plain")) // all the others have the same operand
		for _, row := range rows {
			id := h.id("derived." + row.name)
			desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: id})).Desc
			set := h.fetch(id)[0]
			assert.Zero(t, set.Code, row.name)
			var got []string
			for _, v := range set.Values {
				got = append(got, fmt.Sprintf("%d:%.2f", v.Inst, desc.Type.Float64(v.Bits)))
			}
			want := row.dropped
			if serve {
				want = row.served
			}
			assert.Equal(t, want, strings.Join(got, " "), row.name)
		}
	}
}

// Only values that are not finite are left out, of any type, also with a profile. Nothing is allocated.
func TestNonFiniteValuesOfAProfile(t *testing.T) {
	b := newBench(t, served.Config{})
	double := math.Float64bits
	single := func(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }
	inf, nan := math.Inf(1), math.NaN()
	for _, row := range []struct {
		typ  pdu.Type
		bits []uint64
		want []pdu.Inst
	}{
		{pdu.TypeDouble, []uint64{double(1), double(inf), double(3), double(nan)}, []pdu.Inst{1, 3}},
		{pdu.TypeDouble, []uint64{double(-inf), double(math.MaxFloat64), double(5e-324), double(0)}, []pdu.Inst{2, 3}},
		{pdu.TypeFloat, []uint64{single(1), single(-inf), single(nan), single(math.MaxFloat32)}, []pdu.Inst{1}},
		{pdu.TypeU64, []uint64{double(inf), double(nan), 0, 1}, []pdu.Inst{1, 2, 3}},
		{pdu.TypeDouble, []uint64{double(nan), double(inf), double(inf), double(4)}, nil},
	} {
		e := &place{state: reload.ServedState{Served: &served.Served{Desc: pdu.Desc{Type: row.typ, InDom: binDom}}}}
		v := &derived.Vector{Type: row.typ, Insts: derived.NewInstSet([]pdu.Inst{1, 2, 3, 4}), Bits: row.bits}
		var w pdu.ResultWriter
		f := &fetch{reply: &w, profile: &pdu.Profile{
			InDoms: []pdu.ProfileInDom{{InDom: binDom, State: pdu.Include, Insts: []pdu.Inst{4}}},
		}}
		write := func() {
			w.Reset()
			b.agent.writeValues(f, e, v)
		}
		write()
		assert.Zero(t, testing.AllocsPerRun(10, write))
		var res pdu.Result
		require.NoError(t, res.Decode(w.Frame(0, 0)[pdu.HeaderSize:]))
		var got []pdu.Inst
		for _, value := range res.Sets[0].Values {
			got = append(got, value.Inst)
			assert.Equal(t, row.bits[value.Inst-1], value.Bits)
		}
		assert.Equal(t, row.want, got)
	}
}
