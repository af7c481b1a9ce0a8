package derived

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
	"pmdaderived/test/conformance"
)

// TestExtraUnits compares with what libpcp 7.2.2 answers to definitions with voltages, currents, powers and
// temperatures: testdata/extraunits. The definitions that are a metric's name alone describe the operands.
func TestExtraUnits(t *testing.T) {
	cases := conformance.ReadSet(t, "testdata/extraunits/expected.jsonl")
	classes := judgeSeven(t, cases, conformance.NewTally("in-process", conformance.DifferencesSeven()...))
	assert.Greater(t, classes["ok"], 300)
	assert.Greater(t, classes["semantic"], 70)
	assert.Greater(t, classes["syntax"], 15)
}

// TestNoValue compares with what libpcp 7.2.2 answers to novalue(), static guards, and the keys meta and indom:
// testdata/novalue.
func TestNoValue(t *testing.T) {
	tally := conformance.NewTally("in-process", conformance.DifferencesSeven()...)
	classes := judgeSeven(t, conformance.ReadSet(t, "testdata/novalue/expected.jsonl"), tally)
	assert.Greater(t, classes["ok"], 60)
	assert.Greater(t, classes["semantic"], 25)
	assert.Greater(t, classes["syntax"], 40)
}

// judgeSeven evaluates the definitions of the cases. Definitions that are the name of a metric describe the operands of
// the others. It counts the classes of the cases.
func judgeSeven(t *testing.T, cases []*conformance.Case, tally *conformance.Tally) (classes map[string]int) {
	t.Helper()
	metrics := CatalogMap{}
	sample := &moment{
		at: time.Unix(1_700_000_000, 0), values: map[pdu.PMID]*Vector{},
		names: map[pdu.InDom]*NameTable{}, members: map[pdu.InDom]*InstSet{},
	}
	for _, c := range cases {
		def, err := Parse(c.Name, c.Expr)
		if err != nil {
			continue
		}
		name, ok := def.Expr.(*syntax.Name)
		if !ok {
			continue
		}
		desc := pdu.Desc{PMID: pdu.NewPMID(29, 0, len(metrics)+1), Type: derivedtest.TypeOf(c.Type)}
		desc.Sem, desc.InDom = SemanticsNamed(c.Sem), pdu.NoInDom
		if c.InDom != nil {
			desc.InDom = inDom(t, *c.InDom)
		}
		desc.Units, _, err = pdu.ParseUnits(c.Units)
		require.NoError(t, err, c.Units)
		values := &Vector{Type: desc.Type}
		ids, names, selectors := []pdu.Inst{}, map[pdu.Inst]string{}, map[string]pdu.Inst{}
		recorded := c.Fetches[0].Values
		if recorded == nil { // they move
			recorded = &[][3]any{}
		}
		for _, v := range *recorded {
			addValue(t, values, v[2].(string))
			id := pdu.Inst(v[0].(float64))
			ids = append(ids, id)
			if name, ok := v[1].(string); ok {
				names[id], selectors[name] = name, id
			}
		}
		if desc.InDom != pdu.NoInDom {
			values.Insts = NewInstSet(ids)
			sample.names[desc.InDom], sample.members[desc.InDom] = NewNameTable(names, selectors), values.Insts
		}
		metrics[name.Name], sample.values[desc.PMID] = desc, values
	}

	classes = map[string]int{}
	for _, c := range cases {
		classes[c.Class]++
		text := " " + c.Expr
		def, err := Parse("dmc."+c.Name, text)
		if err != nil || c.Refused() {
			tally.Judge(t, c, differentSyntax(t, c, text, err))
			continue
		}
		tally.Judge(t, c, differentMetric(t, c, def, metrics, []Sample{sample}, sample.names))
	}
	tally.Report(t)
	return classes
}
