package mmv

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speed's init says nothing about a host without PCP because ours comes first.
func TestOrderOfInitialization(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "GORACE=atexit_sleep_ms=0")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err)
	var order []string
	for _, match := range regexp.MustCompile(`(?m)^init (\S+(?:/quiet|/speed/v4)) `).FindAllSubmatch(trace, -1) {
		order = append(order, string(match[1]))
	}
	assert.Equal(t, []string{"pmdaderived/derived/agent/mmv/quiet", "github.com/performancecopilot/speed/v4"}, order)
}
