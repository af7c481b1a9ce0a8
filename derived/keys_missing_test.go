package derived

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// A missing metric in a key is one without values: no instance has a key, and nothing else needs a domain of it.
func TestKeysOfMissingMetrics(t *testing.T) {
	keys := []string{
		"no.such", "/./ -> no.such", "/./ -> no.such by (no.such2)", "/./ -> no.such by (label(kind))", "no.such -> y",
		"/./ -> y by (no.such)", "no.such -> y by (no.such2)", "no.such -> no.such2",
	}
	var defs []*Definition
	for _, key := range keys {
		for _, text := range []string{
			"sum(x) by (%s)", "count(x) by (%s)", "matchinst(/./, x, %s)", "sum(count(x) by (%[1]s)) by (%[1]s)", "x / sum(x) by (%s)",
			"sum(x) by (/(.)/, %s)", "sum(rate(x)) by (%s)", "nth_percentile_bucket(x, 50) by (%s)",
			"matchinst(!/./, x, %s)", `sum(max_sample(x, "1s")) by (%s)`, `max_sample(sum(x) by (%s), "1s")`,
			`max_sample(matchinst(/./, x, %s), "1s")`,
		} {
			defs = append(defs, definition(t, fmt.Sprint("m", len(defs)), fmt.Sprintf(text, key)))
		}
	}
	cat := CatalogMap{"x": {PMID: 1, Type: pdu.TypeDouble, Sem: pdu.SemInstant, InDom: derivedtest.BinInDom}}
	cat["y"] = pdu.Desc{PMID: 2, Type: pdu.TypeU32, Sem: pdu.SemInstant, InDom: derivedtest.BinInDom}
	set := Language{NoValue: true}.NewSet(defs, cat, "derived")
	insts := NewInstSet([]pdu.Inst{1, 2})
	m := &moment{
		values: map[pdu.PMID]*Vector{
			1: {Type: pdu.TypeDouble, Insts: insts, Bits: []uint64{0, 0}}, 2: {Type: pdu.TypeU32, Insts: insts, Bits: []uint64{5, 6}},
		},
		names: map[pdu.InDom]*NameTable{derivedtest.BinInDom: NewNameTable(map[pdu.Inst]string{1: "a", 2: "b"}, nil)},
	}
	before := *m
	before.at, m.at = time.Unix(1, 0), time.Unix(2, 0)
	eval, negated := set.NewEvaluation(), 0
	eval.SetGroups(NewGroups())
	eval.Reset(m, &before)
	for _, one := range set.Metrics() {
		text := one.Definition.Text
		require.Nil(t, one.Err, text)
		for needs := range one.Fetches {
			assert.NotContains(t, needs.Names, pdu.NoInDom, text)
			for _, label := range needs.Labels {
				assert.NotEqual(t, pdu.NoInDom, label.InDom, text)
			}
		}
		if len(one.Needs().Windows) > 0 {
			continue
		}
		v := eval.Value(one)
		assert.Zero(t, min(0, v.Code), text)
		if v.Len() > 0 {
			negated++
			assert.Contains(t, text, "matchinst(!", text)
		}
	}
	assert.Equal(t, len(keys), negated)
}

// Each instance without a key is counted once, by the reason.
func TestMissedLookups(t *testing.T) {
	cat := CatalogMap{
		"x":    {PMID: 1, Type: pdu.TypeDouble, Sem: pdu.SemInstant, InDom: derivedtest.BinInDom},
		"text": {PMID: 2, Type: pdu.TypeString, Sem: pdu.SemDiscrete, InDom: derivedtest.OtherInDom},
	}
	set, m := only(t, "count(x) by (/^([a-z])$/ -> text by (/^(.)/))", cat)
	require.Nil(t, m.Err)
	names, others := map[pdu.Inst]string{}, map[pdu.Inst]string{}
	x, text := &Vector{Type: pdu.TypeDouble}, &Vector{Type: pdu.TypeString}
	for i, name := range []string{"a", "b", "c", "d", "e", "not looked up"} {
		names[pdu.Inst(i)], x.Bits = name, append(x.Bits, 0)
	}
	for i, row := range []string{"a1=", "b1=v", "b2=w", "c1=v", "e1=", "e2=v"} {
		name, value, _ := strings.Cut(row, "=")
		others[pdu.Inst(i)], text.Blobs = name, append(text.Blobs, []byte(value))
	}
	x.Insts, text.Insts = NewInstSet(slices.Sorted(maps.Keys(names))), NewInstSet(slices.Sorted(maps.Keys(others)))
	eval := set.NewEvaluation()
	eval.SetGroups(NewGroups())
	eval.Reset(&moment{values: map[pdu.PMID]*Vector{1: x, 2: text}, names: map[pdu.InDom]*NameTable{
		derivedtest.BinInDom: NewNameTable(names, nil), derivedtest.OtherInDom: NewNameTable(others, nil),
	}})
	assert.Equal(t, []uint64{1}, eval.Value(m).Bits)
	assert.Equal(t, []Missed{{Empty: 1, Nothing: 2, Different: 2}}, eval.Missed(m))
}
