//go:build pcp

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	agent := func(t *testing.T) string {
		t.Helper()
		text, err := os.ReadFile("/etc/pcp.conf")
		require.NoError(t, err)
		_, rest, ok := strings.Cut(string(text), "\nPCP_PMDAS_DIR=")
		require.True(t, ok)
		dir, _, _ := strings.Cut(rest, "\n")
		return dir + "/sample/pmdasample"
	}(t)

	for _, row := range []struct {
		name   string
		args   []string
		exit   int
		stdout string // contained in what the command prints
		stderr string // contained in what is said besides
	}{
		{"tool", []string{"--", "pminfo", "-m", "sample.load"}, 0, "sample.load PMID: 29.0.4\n", ""},
		{"exit status", []string{"--", "sh", "-c", "exit 7"}, 7, "", ""},
		{"signal", []string{"--", "sh", "-c", "kill -TERM $$"}, 128 + 15, "", ""},
		{
			"agent",
			[]string{"-agent", "again 400 " + agent + " -d 400", "--", "pmprobe", "-v", "pmcd.agent.status"},
			0,
			"pmcd.agent.status 6 0 0 0 0 0 0", "",
		},
		{"no command", []string{}, exitUsage, "", "no command"},
		{"unknown option", []string{"-nonsense"}, exitUsage, "", "usage"},
		{"agent without program", []string{"-agent", "a 5", "--", "true"}, exitUsage, "", "want a name"},
		{"agent that is not there", []string{"-agent", "a 5 /no/such", "--", "true"}, exitUsage, "", "/no/such"},
		{"domain too high", []string{"-agent", "a 511 /bin/true", "--", "true"}, exitNoPMCD, "", "not in 1 to 510"},
		{"command that is not there", []string{"--", "/no/such"}, exitNoCommand, "", "/no/such"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			exit := run(row.args, strings.NewReader(""), &stdout, &stderr)
			assert.Equal(t, row.exit, exit)
			if row.stderr == "" {
				assert.Contains(t, stdout.String()+stderr.String(), row.stdout)
			}
			assert.Contains(t, stderr.String(), row.stderr)
		})
	}
}
