//go:build pcp

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The demo says why there are no values.
func TestDemoTellsWhy(t *testing.T) {
	t.Parallel()
	combined(t, exec.Command("make", "-s", "-C", "..", "bin/private-pmcd"))
	for _, row := range []struct{ name, program, want string }{
		{
			"it says why it ends", "#!/bin/sh\necho $0: no luck >&2\nexit 3\n",
			`(?m)^/tmp/pmdaderived-demo\.\w+/pmdaderived: no luck$`,
		},
		{
			"it cannot be started", "#!/no/such/shell\n",
			`(?m)^pmcd: error starting /tmp/pmdaderived-demo\.\w+/pmdaderived: No such file or directory$`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "program")
			require.NoError(t, os.WriteFile(program, []byte(row.program), 0o755))
			cmd := exec.Command("scripts/demo")
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "BINARY="+program)
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "%s", out)
			assert.Contains(t, string(out), "demo: derived.kernel.cpu.util.user has no value\n")
			assert.Regexp(t, row.want, string(out))
		})
	}
}
