//go:build pcp

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// install-pcp does not install an installed package again because a file of it is missing: that may be on purpose.
func TestInstallPCP(t *testing.T) {
	if onCopy(t) {
		return
	}
	pmdas := must(pcpVariable("PCP_PMDAS_DIR"))(t)
	dir := t.TempDir()
	called := filepath.Join(dir, "called")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "apt-get"),
		fmt.Appendf(nil, "#!/bin/sh\necho \"$*\" >>%s\nexit 1\n", called), 0o755))
	run := func(args ...string) (string, error) {
		cmd := exec.Command("../scripts/install-pcp", args...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	move := func(path string) { // of the copy of the machine, or back at the end
		require.NoError(t, os.Rename(path, path+".away"))
		t.Cleanup(func() { assert.NoError(t, os.Rename(path+".away", path)) })
	}
	out, err := run()
	require.NoError(t, err, out)

	sample := filepath.Join(pmdas, "sample", "pmdasample")
	move(sample)
	out, err = run("-demo")
	require.NoError(t, err, "the demo does without: %s", out)
	out, err = run()
	require.Error(t, err)
	assert.Contains(t, out, "installed (pcp), but these are missing:\n"+sample+"\n")
	assert.NoFileExists(t, called)

	proc := filepath.Join(pmdas, "proc", "pmdaproc")
	move(proc)
	out, err = run("-demo")
	require.Error(t, err)
	assert.Contains(t, out, "\n"+proc+"\n")
	assert.NoFileExists(t, called)

	for states, want := range map[string]string{
		"pcp) echo installed ;; mandoc) echo config-files ;; *) exit 1 ;;":             " groff-base mandoc zsh",
		"pcp) echo half-configured ;; mandoc) echo installed ;; *) echo installed ;; ": " pcp",
	} {
		script := "#!/bin/sh\nfor package; do :; done\ncase $package in " + states + " esac\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dpkg-query"), []byte(script), 0o755))
		out, err = run("-test")
		require.Error(t, err)
		assert.Contains(t, out, "apt-get cannot install"+want+";")
		for line := range strings.Lines(readDocument(t, called)) {
			assert.Regexp(t, ` update$| install --no-install-recommends( --reinstall)?`+want+"$", strings.TrimSpace(line))
		}
		require.NoError(t, os.Remove(called))
	}
}
