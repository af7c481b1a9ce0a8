package test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/conformance"
)

// TestExtraUnits asks libpcp itself and the daemon, on the same pmcd, what they make of definitions with voltages,
// currents, powers and temperatures. PCP has them since 7.2: package derived compares with the answers that it gave.
func TestExtraUnits(t *testing.T) {
	program, err := build(worldReadableDir(t))
	require.NoError(t, err)
	run := &oracleRun{t: t, program: program, gen: &generator{}}
	run.open()
	if !run.gen.extra {
		t.Skip("this PCP is older than 7.2")
	}
	cases := conformance.ReadSet(t, "../derived/testdata/extraunits/expected.jsonl")
	tally := conformance.NewTally("end-to-end")
	for chunk := range slices.Chunk(cases, oracleBatch) {
		var names []string
		var all []*expression
		for _, c := range chunk {
			names = append(names, c.Name)
			all = append(all, newExpression(c.Expr, run.catalog))
		}
		stock, ours := run.stock(names, all), run.ours(names, all)
		for _, c := range chunk {
			tally.Judge(t, c, conformance.Different("answer", stock[c.Name], ours[c.Name]))
			assert.Equal(t, c.Class, stock[c.Name].Class, "%s: as it was recorded", c.Name)
		}
	}
	tally.Report(t)
}
