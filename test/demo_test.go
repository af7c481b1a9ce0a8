//go:build pcp

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runDemo runs the demo with a program as the daemon, and returns what it prints.
func runDemo(t *testing.T, program string) (string, error) {
	t.Helper()
	cmd := exec.Command("scripts/demo")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "BINARY="+program)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Each part of the demo has a heading, and prints commands with their output on a terminal of 80 columns.
func TestDemo(t *testing.T) {
	t.Parallel()
	combined(t, exec.Command("make", "-s", "-C", "..", "bin/private-pmcd"))
	out, err := runDemo(t, must(daemonProgram())(t))
	require.NoError(t, err, out)

	parts := strings.Split(out, "\n== ")[1:]
	assert.Len(t, parts, 6)
	for _, part := range parts {
		title, _, _ := strings.Cut(part, " ==\n")
		commands := strings.Split(part, "\n$ ")[1:]
		assert.NotEmpty(t, commands, title)
		for _, text := range commands {
			command, output, _ := strings.Cut(text, "\n")
			assert.NotEmpty(t, strings.TrimSpace(output), command)
		}
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "    inst [") { // the host has the names
			assert.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
}

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
			out, err := runDemo(t, program)
			require.Error(t, err, out)
			assert.Contains(t, out, "demo: derived.demo.jobs has no value\n")
			assert.Regexp(t, row.want, out)
		})
	}
}
