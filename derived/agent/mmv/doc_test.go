package mmv

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/control"
)

var update = flag.Bool("update", false, "write docs/mmv.md anew")

// docs/mmv.md has every metric.
func TestDocumentation(t *testing.T) {
	const path = "../../../docs/mmv.md"
	var rows strings.Builder
	for _, m := range testReader("").metrics {
		name := m.Name
		if m.Serial != control.Singular {
			name += "[]"
		}
		fmt.Fprintf(&rows, "| `%s` | %v | %v | %s | %s |\n", name, m.Type, m.Sem, cmp.Or(m.Units.String(), "none"), m.Short)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := regexp.MustCompile(`(?m)(^\| `+"`"+`.*\n)+`).ReplaceAllString(string(text), rows.String())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	assert.Equal(t, want, string(text), "go test ./derived/agent/mmv -update writes it")
}
