//go:build pcp

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
)

// The daemon that a pmcd has started can become nothing more than it is, in none of its threads, and leaves no core
// dump.
func TestDaemonIsHardened(t *testing.T) {
	pid := pidOf(t, startFaulty(t, pmcdtest.Config{}, nil).p, "pmdaderived")
	threads := must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)))(t)
	require.NotEmpty(t, threads)
	for _, thread := range threads {
		status := string(must(os.ReadFile(thread))(t))
		assert.Regexp(t, `(?m)^NoNewPrivs:\s+1$`, status)
		if os.Geteuid() == 0 {
			assert.Regexp(t, `(?m)^CapBnd:\s+0+$`, status)
		}
	}
	limits := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)))(t))
	assert.Regexp(t, `(?m)^Max core file size\s+0\s+0\s`, limits)
	info := must(os.Stat(fmt.Sprintf("/proc/%d/environ", pid)))(t)
	assert.Zero(t, info.Sys().(*syscall.Stat_t).Uid, "the kernel gives what is not dumpable to root")
}
