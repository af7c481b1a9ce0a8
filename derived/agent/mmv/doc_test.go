package mmv

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/performancecopilot/speed/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/mmv.md has every metric.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/mmv.md")
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	types := map[speed.MetricType]string{
		speed.Uint32Type: "U32", speed.Uint64Type: "U64", speed.DoubleType: "DOUBLE", speed.StringType: "STRING",
	}
	units := map[uint32]string{
		0:                             "none",
		speed.OneUnit.PMAPI():         "count",
		speed.MillisecondUnit.PMAPI(): "millisec",
		speed.SecondUnit.PMAPI():      "sec",
		speed.ByteUnit.PMAPI():        "byte",
	}
	semantics := map[speed.MetricSemantics]string{
		speed.CounterSemantics: "counter", speed.InstantSemantics: "instant", speed.DiscreteSemantics: "discrete",
	}
	var want []string
	for _, m := range table() {
		name := m.name
		if m.spread != nil {
			name += "[]"
		}
		require.Contains(t, types, m.typ)
		require.Contains(t, units, m.units.PMAPI())
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s |",
			name, types[m.typ], semantics[m.sem], units[m.units.PMAPI()], m.short))
	}
	assert.Equal(t, want, rows, "\n%s", strings.Join(want, "\n"))
}
