//go:build pcp

package test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
)

// A definition may use metrics of two agents where PCP's configuration declares their instance domains equivalent. A
// change of the configuration counts from the next reload on.
func TestEquivalentInstanceDomains(t *testing.T) {
	dir := worldReadableDir(t)
	definitions, maps := filepath.Join(dir, "site.conf"), filepath.Join(dir, "indom.conf")
	require.NoError(t, os.WriteFile(definitions, []byte("both = sample.bin + sampledso.bin\n"), 0o644))
	require.NoError(t, os.WriteFile(maps, []byte("29.2 30.2\n"), 0o644))
	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			{
				Name: "sampledso", Domain: 30, Command: []string{"/var/lib/pcp/pmdas/sample/pmdasample", "-d", "30"},
				PMNS: "sampledso {\n\tbin SAMPLEDSO:0:6\n}",
			},
			derivedAgent(t, "-c", definitions),
		},
		Env: []string{"PCP_DERIVED_CONFIG=", "PCP_INDOM_CONFIG=" + maps},
	})
	s := &station{pmcd: p}
	s.recorder = recorder{t: t, ctx: t.Context(), conn: dial(t, p)}
	s.awaitControl("upstream.connected", 1)
	desc, code := s.desc("derived.both")
	require.Zero(t, code)
	assert.Equal(t, "29.2", desc.InDom.String())
	stdout := printed(t, p, "pminfo", "-f", "derived.both")
	assert.Contains(t, stdout, `inst [300 or "bin-300"] value 600`)

	require.NoError(t, os.WriteFile(maps, nil, 0o644))
	require.NoError(t, os.WriteFile(definitions, []byte("again = sampledso.bin + sample.bin\n"), 0o644))
	before := s.control("reload")[0].Bits
	s.store([]string{"derived.control.reload", "1"})
	s.awaitControl("reload", before+1)
	assert.Contains(t, s.definitionProblems()["again"], "Operands should have the same instance domain")
}
