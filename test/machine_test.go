//go:build pcp

package test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Install and Remove change the machine: its pmcd.conf, its name space, its daemons; and they signal every
// pmcd and end every pmdaderived by name. So the test runs them on a copy of the
// machine: namespaces in which the files are the machine's, but what is written is kept in memory,
// and in which there are no processes and no network but the test's own. Everything is gone when
// the first process of the copy ends.
//
// The test binary goes through three stages: the test as `go test` starts it; the first process of the
// copy, which sets it up; and the test again, in there.
const (
	stageVariable   = "PMDADERIVED_STAGE"
	scratchVariable = "PMDADERIVED_SCRATCH"
	stageSetUp      = "set up"
	stageInside     = "inside"

	// hereVariable allows the test to use the machine itself where it may not make namespaces (an
	// unprivileged container). No other program may use PCP there.
	hereVariable = "PMDADERIVED_INSTALL_HERE"
)

// onCopy runs the calling test again on a copy of the machine, with more variables in its environment, and
// returns false if we are in there. Without the right to make namespaces it returns false, too, if the
// machine itself may be used, and otherwise skips the test.
func onCopy(t *testing.T, environment ...string) (ranElsewhere bool) {
	t.Helper()
	switch os.Getenv(stageVariable) {
	case stageInside:
		return false
	case stageSetUp:
		status, err := runInside()
		if err != nil {
			fmt.Fprintln(os.Stderr, "copy of the machine:", err)
			status = 1
		}
		os.Exit(status)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can install an agent")
	}
	// In a chroot the root may be no mount, and its mounts not our own.
	if err := namespaced("mount", "--make-rprivate", "/").Run(); err != nil {
		if os.Getenv(hereVariable) == "" {
			t.Skipf("namespaces: %v; %s=1 allows the test to use this machine's own pmcd", err, hereVariable)
		}
		requireMachineToOurselves(t)
		return false
	}
	t.Parallel() // each has a copy of its own

	cmd := namespaced("/proc/self/exe", "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), stageVariable+"="+stageSetUp, scratchVariable+"="+worldReadableDir(t))
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err, "in the copy of the machine")
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the test has run in there")
	return true
}

// namespaced returns a command that will be the first process of new namespaces.
func namespaced(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
	}
	return cmd
}

// requireMachineToOurselves fails the test beside processes that Install and Remove would signal.
func requireMachineToOurselves(t *testing.T) {
	t.Helper()
	binadm := must(pcpVariable("PCP_BINADM_DIR"))(t)
	out := must(exec.Command("ps", "-e", "-o", "args=").Output())(t)
	pmcds := 0
	for line := range strings.Lines(string(out)) {
		program, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.NotEqual(t, "pmdaderived", filepath.Base(program), "somebody else's agent is running")
		if program == filepath.Join(binadm, "pmcd") {
			pmcds++
		}
	}
	require.LessOrEqual(t, pmcds, 1, "somebody else's pmcd is running")
}

// runInside is the main function of the copy's first process: it sets the copy up, runs the test in it and returns the
// test's exit status.
func runInside() (status int, err error) {
	if err := isolateFiles(os.Getenv(scratchVariable)); err != nil {
		return 0, err
	}
	if err := loopbackUp(); err != nil {
		return 0, err
	}
	if err := os.Setenv(stageVariable, stageInside); err != nil {
		return 0, err
	}
	child, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, err
	}
	// Daemons become children of the first process, which must wait for them.
	for {
		var wait syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &wait, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case pid == child.Pid && wait.Exited():
			return wait.ExitStatus(), nil
		case pid == child.Pid:
			return 0, fmt.Errorf("test ended by %v", wait.Signal())
		}
	}
}

// isolateFiles puts writable copies, kept in memory, over the folders that Install, Remove, pmcd, `make install`
// and dpkg write to.
func isolateFiles(scratch string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", scratch, err)
	}
	// No larger ones: what is mounted inside them would be hidden, Go perhaps, or /etc/hosts.
	folders := []string{"/usr/share", "/var/lib/dpkg", "/var/log", "/var/cache"}
	for _, name := range []string{
		"PCP_SYSCONF_DIR", "PCP_VAR_DIR", "PCP_LOG_DIR", "PCP_BIN_DIR", "PCP_MAN_DIR",
		"PCP_LIBADM_DIR", // links in PCP_SHARE_DIR lead there
	} {
		folder, err := pcpVariable(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(folders, func(outer string) bool { return strings.HasPrefix(folder, outer+"/") }) {
			folders = append(folders, folder)
		}
	}
	for i, folder := range folders {
		upper := filepath.Join(scratch, "upper"+strconv.Itoa(i))
		work := filepath.Join(scratch, "work"+strconv.Itoa(i))
		for _, dir := range []string{upper, work} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", folder, upper, work)
		if err := unix.Mount("overlay", folder, "overlay", 0, options); err != nil {
			return fmt.Errorf("overlay %s: %w", folder, err)
		}
	}
	for folder, mode := range map[string]string{"/run": "mode=755", "/var/tmp": "mode=1777"} {
		if err := unix.Mount("tmpfs", folder, "tmpfs", 0, mode); err != nil {
			return fmt.Errorf("mount %s: %w", folder, err)
		}
	}
	return nil
}

// requireCopied demands that a file, followed through links, is not the machine's own.
func requireCopied(t *testing.T, path string) {
	t.Helper()
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(path, &fs))
	require.EqualValues(t, unix.OVERLAYFS_SUPER_MAGIC, fs.Type, "%s is not in a folder that isolateFiles copies", path)
}

// loopbackUp makes localhost reachable in a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// pcpVariable returns the value of a variable of pcp.conf.
func pcpVariable(name string) (string, error) {
	text, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("/etc/pcp.conf does not set %s", name)
}
