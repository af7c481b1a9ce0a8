//go:build pcp

package pmcdtest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// helperVariable makes the test binary start a private pmcd, print its folder and process number, and die
// without any clean-up.
const helperVariable = "PMCDTEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	p, err := Launch(Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.Dir, p.Pid())
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func TestWatchdog(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	helper := exec.Command(self)
	helper.Env = append(os.Environ(), helperVariable+"=1")
	out, err := helper.Output()
	require.ErrorContains(t, err, "killed")
	var dir string
	var pid int
	_, err = fmt.Sscan(string(out), &dir, &pid)
	require.NoError(t, err, "%q", out)
	await.Until(t, "the folder goes", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
	await.Until(t, "pmcd and its agents go", func() bool { return len(processes(pid)) == 0 })
}
