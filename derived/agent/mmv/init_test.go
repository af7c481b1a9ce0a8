package mmv

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speed's init says nothing about a host without PCP, and the environment is afterwards what it was before.
func TestInitialization(t *testing.T) {
	if os.Getenv("GO_PRINT_PCP_CONF") != "" {
		theirs, given := os.LookupEnv("PCP_CONF")
		println(theirs, given)
		os.Exit(0)
	}
	environ := append(os.Environ(), "GO_PRINT_PCP_CONF=yes", "PCP_DIR="+t.TempDir())
	for _, row := range []struct{ name, add, want string }{
		{"not set", "", " false\n"},
		{"a file that is missing", "PCP_CONF=/no/such/file", "/no/such/file true\n"},
		{"empty", "PCP_CONF=", " true\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInitialization$")
			cmd.Env = append(environ, row.add)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err)
			assert.Equal(t, row.want, string(out))
		})
	}
}
