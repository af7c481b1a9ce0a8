//go:build pcp

package test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/conformance"
)

// extraOperand is a metric of the sample agent that only PCP 7.2 has.
var extraOperand = regexp.MustCompile(`sample\.(voltage|current|power|temperature)\b`)

// TestExtraUnits asks libpcp and the daemon, on the same pmcd, for definitions with voltages, currents, powers and
// temperatures. PCP has them since 7.2: package derived compares with its recorded answers. An older libpcp does not
// accept these units, and only the daemon is asked: constants can have them even there.
func TestExtraUnits(t *testing.T) {
	program := must(daemonProgram())(t)
	run := &oracleRun{t: t, program: program, gen: &generator{}}
	run.open()
	cases := conformance.ReadSet(t, "../derived/testdata/extraunits/expected.jsonl")
	if !run.gen.extra {
		cases = slices.DeleteFunc(cases, func(c *conformance.Case) bool { return extraOperand.MatchString(c.Expr) })
	}
	require.Greater(t, len(cases), 26)
	tally := conformance.NewTally("end-to-end", conformance.DifferencesSeven()...)
	for chunk := range slices.Chunk(cases, oracleBatch) {
		var names []string
		var all []*expression
		for _, c := range chunk {
			names = append(names, c.Name)
			all = append(all, newExpression(c.Expr, run.catalog))
		}
		ours := run.ours(names, all)
		if !run.gen.extra {
			for _, c := range chunk {
				assert.Equal(t, c.Class, ours[c.Name].Class, "%s: %s", c.Name, c.Expr)
			}
			continue
		}
		stock := run.stock(names, all)
		for _, c := range chunk {
			tally.Judge(t, c, conformance.Different("answer", stock[c.Name], ours[c.Name]))
			assert.Equal(t, c.Class, stock[c.Name].Class, "%s: as it was recorded", c.Name)
		}
	}
	if run.gen.extra {
		tally.Report(t)
	}
}
