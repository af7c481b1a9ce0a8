package test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
)

// A definition whose operands do not exist waits for them: when their agent is installed the metric
// appears, in the name space too, and nobody has to tell us.
func TestOperandsThatAppearLater(t *testing.T) {
	work := worldReadableDir(t)
	program, err := build(work)
	require.NoError(t, err)
	conf := filepath.Join(work, "derived.conf")
	require.NoError(t, os.WriteFile(conf, []byte("late = hanging.value + 41\nearly = sample.long.one\n"), 0o644))
	agent := filepath.Join(work, "late-agent")

	p := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{
			{Name: "derived", Domain: domain, Command: []string{program, "-d", "510", "-c", conf}},
			// Its program is not there yet: pmcd goes on without it.
			{Name: "hanging", Domain: 400, Command: []string{agent}, PMNS: "hanging {\n\tvalue 400:0:0\n}\n"},
		},
		Env: []string{hangVariable + "=" + filepath.Join(work, "never")},
	})
	probe := func(metric, want string) {
		t.Helper()
		var got string
		require.Eventually(t, func() bool {
			got, _, _ = p.Run(t, "pmprobe", "-v", metric)
			return got == metric+" "+want+"\n"
		}, 10*time.Second, 20*time.Millisecond, "%s: want %s", metric, want)
	}
	probe("derived.early", "1 1")
	listed, _, _ := p.Run(t, "pminfo", "derived")
	assert.NotContains(t, listed, "derived.late")
	state, _, _ := p.Run(t, "pminfo", "-f", "derived.control.definition.state")
	assert.Contains(t, state, `or "late"] value "unbound"`)

	self, err := os.Executable()
	require.NoError(t, err)
	copyProgram(t, self, agent)
	require.NoError(t, p.Signal(syscall.SIGHUP))
	probe("derived.late", "1 42")
	listed, _, _ = p.Run(t, "pminfo", "derived")
	assert.Contains(t, listed, "derived.late\n")
}

// What pmcd's protected agents tell us as a known user of the host is not told to strangers.
func TestProtectedOperands(t *testing.T) {
	work := worldReadableDir(t)
	conf := filepath.Join(work, "derived.conf")
	require.NoError(t, os.WriteFile(conf, []byte("open = sample.long.one\nprivate = count(proc.psinfo.pid)\n"), 0o644))
	p := startServing(t, "-c", conf)

	local, _, _ := p.Run(t, "pminfo", "-h", "unix:"+p.Socket, "-f", "derived.private")
	assert.Regexp(t, `value [1-9]`, local)
	remote, _, _ := p.Run(t, "pminfo", "-h", fmt.Sprintf("127.0.0.1:%d", p.Port), "-f", "derived.private", "derived.open")
	assert.Contains(t, remote, "derived.private\nError: No permission to perform requested operation")
	assert.Contains(t, remote, "derived.open\n    value 1")
}
