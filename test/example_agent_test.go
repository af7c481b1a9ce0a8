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

	"pmdaderived/test/pmcdtest"
)

const exampleAgent = "../pmda/examples/dice"

// buildExampleAgent returns the path of the program in the folder.
func buildExampleAgent(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "pmdadice")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, exampleAgent)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	combined(t, cmd)
	return program
}

// The agent that others copy answers dbpmda and serves stock tools.
func TestExampleAgent(t *testing.T) {
	work := worldReadableDir(t)
	program := buildExampleAgent(t, work)

	t.Run("dbpmda", func(t *testing.T) {
		cmd := exec.Command("dbpmda", "-n", "root", "-f", "-i", "-e")
		cmd.Dir = exampleAgent
		cmd.Stdin = strings.NewReader("open pipe " + program + " -d 400 -U root -l " + filepath.Join(work, "log") + `
desc dice.throws
instance 400.0
text indom 400.0
text dice.face
store dice.sides "20"
store dice.sides "1"
fetch dice.sides dice.throws
`)
		out := combined(t, cmd)
		for _, want := range []string{
			"Data Type: 64-bit unsigned int  InDom: 400.0 0x64000000",
			"Semantics: counter  Units: count",
			"[  0] inst: 0 name: \"red\"",
			"the dice, by their colours",
			"what each die shows",
			"Error PDU: Bad input to pmstore",
			"value 20",
			"inst [2 or ???] value",
		} {
			assert.Contains(t, string(out), want)
		}
	})

	t.Run("pmcd", func(t *testing.T) {
		p := pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{{
			Name: "dice", Domain: 400, Command: []string{program, "-d", "400"},
		}}})
		stdout := printed(t, p, "pminfo", "dice")
		assert.ElementsMatch(t, []string{"dice.face", "dice.throws", "dice.sides", "dice.uptime"}, strings.Fields(stdout))
		stdout, _, _ = p.Run(t, "pmprobe", "-I", "dice.face")
		assert.Equal(t, "dice.face 3 \"red\" \"green\" \"blue\"\n", stdout)
		printed(t, p, "pmstore", "dice.sides", "20")
		stdout, _, _ = p.Run(t, "pmprobe", "-v", "dice.sides")
		assert.Equal(t, "dice.sides 1 20\n", stdout)
		stdout, _, _ = p.Run(t, "pminfo", "-lt", "dice.face")
		assert.Contains(t, stdout, "[what each die shows]")
		assert.Contains(t, stdout, `"agent":"dice"`)
		assert.Contains(t, p.Log(), "started")
	})
}

// Its Install and Remove put it into a pmcd and take it out again.
func TestInstallExampleAgent(t *testing.T) {
	if onCopy(t) {
		return
	}
	m := newMachine(t)
	m.startPMCD()
	control := m.controlLines()
	dir := filepath.Join(filepath.Dir(m.pmda), "dice")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	buildExampleAgent(t, dir)
	for _, name := range []string{"Install", "Remove", "domain.h", "pmns", "root"} {
		combined(t, exec.Command("install", "-m", "755", filepath.Join(exampleAgent, name), dir))
	}
	out := m.done(filepath.Join(dir, "Install"))
	assert.Contains(t, out, "4 metrics and 8 values", out)
	out = m.done(filepath.Join(dir, "Remove"))
	assert.Contains(t, out, "OK")
	assert.Equal(t, control, m.controlLines())
}
