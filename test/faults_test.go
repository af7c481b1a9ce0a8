//go:build pcp

package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// docs/reliability.md has a table of all faults, with those that other tests inject: what goes on meanwhile
// and how soon all is well again, which is 2 s. Each test logs what it measured.

// wellAgain limits the wait for that, on any machine.
const wellAgain = 20 * time.Second

// faulty is a pmcd with our daemon, an agent of operands with faults, and a client.
type faulty struct {
	t      *testing.T
	p      *pmcdtest.PMCD
	dir    string // world readable
	conf   string
	hanger string // program of the agent
	state  string // in a directory of its own, which belongs to the daemon's user
	conn   *pmapi.Conn
}

// soundConf has the definitions that are served before, during and after each fault.
const soundConf = `other = sum(sample.bin)
value = hanging.value + 41
steps = delta(sample.milliseconds)
`

// startFaulty starts them. through is a program, with its arguments, that runs the daemon. Options are for the daemon.
func startFaulty(t *testing.T, cfg pmcdtest.Config, through []string, options ...string) *faulty {
	t.Helper()
	f := &faulty{t: t, dir: worldReadableDir(t)}
	f.hanger = copySelf(t, f.dir, "hanging-agent")
	f.conf = filepath.Join(f.dir, "conf")
	require.NoError(t, os.Mkdir(f.conf, 0o755))
	f.write(soundConf)
	f.state = filepath.Join(f.dir, "state", "identities")
	require.NoError(t, os.Mkdir(filepath.Dir(f.state), 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(f.state), 0o777)) // the daemon may be another user
	daemon := derivedAgent(t, append([]string{"-c", f.conf, "--state", f.state, "--interval", "1"}, options...)...)
	daemon.Command = slices.Concat(through, daemon.Command)
	cfg.Agents = []pmcdtest.Agent{daemon, hangingAgent(f.hanger)}
	cfg.Env = append(cfg.Env, hangVariable+"="+filepath.Join(f.dir, "never"))
	f.p = pmcdtest.Start(t, cfg)
	t.Cleanup(func() {
		if f.conn != nil {
			assert.NoError(t, f.conn.Close())
		}
	})
	f.recovers("all is served at first", f.sound)
	return f
}

// write replaces the definitions.
func (f *faulty) write(text string) {
	f.t.Helper()
	file := filepath.Join(f.conf, "site.conf")
	require.NoError(f.t, os.WriteFile(file+"~", []byte(text), 0o644))
	require.NoError(f.t, os.Rename(file+"~", file))
}

// fetch fetches as a client that connects again when pmcd was gone; false: there is no answer.
func (f *faulty) fetch(names ...string) ([]pdu.ValueSet, bool) {
	f.t.Helper()
	if f.conn != nil && f.conn.Err() != nil {
		_ = f.conn.Close() // it has failed
		f.conn = nil
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), wellAgain)
	defer cancel()
	if f.conn == nil {
		conn, err := pmapi.Dial(ctx, "unix", f.p.Socket)
		if err != nil {
			return nil, false
		}
		f.conn = conn
	}
	found, err := f.conn.LookupNames(ctx, names)
	if err != nil {
		return nil, false
	}
	ids := make([]pdu.PMID, len(found))
	for i := range found {
		if found[i].Code < 0 {
			return nil, false
		}
		ids[i] = found[i].PMID
	}
	res, err := f.conn.Fetch(ctx, ids)
	if err != nil {
		return nil, false
	}
	return res.Sets, true
}

// has reports whether metrics have a value each.
func (f *faulty) has(names ...string) bool {
	f.t.Helper()
	sets, ok := f.fetch(names...)
	return ok && !slices.ContainsFunc(sets, func(set pdu.ValueSet) bool { return len(set.Values) != 1 })
}

// number returns the value of a metric, -1 if it has none.
func (f *faulty) number(name string) float64 {
	f.t.Helper()
	sets, ok := f.fetch(name)
	if !ok || len(sets[0].Values) != 1 {
		return -1
	}
	v := sets[0].Values[0]
	if v.Type == pdu.TypeUnknown { // in situ: of 32 bits
		v.Type = pdu.TypeU32
	}
	return v.Type.Float64(v.Bits)
}

// sound reports whether everything is served with the right values. On a busy machine a fetch of the delta may find no
// newer sample than the one before, and then has no value; later fetches have one.
func (f *faulty) sound() bool {
	f.t.Helper()
	return f.number("derived.other") == 4500 && f.number("derived.value") == 42 &&
		within(f.t.Context(), time.Second/2, func() bool { return f.has("derived.steps") })
}

// recovers waits until a condition holds and logs the time.
func (f *faulty) recovers(what string, holds func() bool) {
	f.t.Helper()
	start := time.Now()
	defer func() {
		if f.t.Failed() {
			f.t.Log(f.p.Log())
		}
	}()
	await.Until(f.t, what, holds)
	f.t.Logf("%s after %v", what, time.Since(start).Round(time.Millisecond))
}

// revive makes pmcd start a program again that has ended or was dropped. pmcd also does so by itself at a request, but
// only once a minute, and a SIGHUP during that makes it fail.
func (f *faulty) revive(name string, old int) {
	f.t.Helper()
	again := func() bool {
		return slices.ContainsFunc(f.p.Processes(), func(p pmcdtest.Process) bool { return p.Name == name && p.Pid != old })
	}
	if !within(f.t.Context(), time.Second, again) {
		f.hangup()
	}
}

// identity returns the PMID of a metric.
func (f *faulty) identity(name string) pdu.PMID {
	f.t.Helper()
	sets, ok := f.fetch(name)
	require.True(f.t, ok)
	return sets[0].PMID
}

// An agent of operands that is stopped for longer than pmcd waits takes away the values over its own metrics, and no
// others.
func TestFaultOperandAgentStopped(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{Flags: []string{"-t", "1"}}, nil)
	daemon := pidOf(f.t, f.p, "pmdaderived")
	require.NoError(t, os.Rename(f.hanger, f.hanger+".away")) // or pmcd starts another one at once
	stopped := f.stop("hanging-agent")
	f.recovers("pmcd gives the agent up", func() bool { f.has("derived.value"); return !f.has("hanging.value") })
	f.recovers("what does not need it is served", func() bool { return f.number("derived.other") == 4500 })
	for range 50 {
		require.Equal(t, 4500.0, f.number("derived.other"))
	}
	f.recovers("what needs it has no value", func() bool { return !f.has("derived.value") })

	require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT))
	require.NoError(t, os.Rename(f.hanger+".away", f.hanger))
	f.hangup() // pmcd starts it again
	f.recovers("all is well", f.sound)
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"), "pmcd did not give us up")
}

// A suspended daemon delays only its own clients. When it continues everything is as before.
func TestFaultSuspended(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	daemon := pidOf(f.t, f.p, "pmdaderived")
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGCONT) })
	for _, pause := range []time.Duration{time.Second, 3 * time.Second} { // pmcd waits for 5 s
		longest := watch(t, f.p)
		require.NoError(t, syscall.Kill(daemon, syscall.SIGSTOP))
		rig.Sleep(t.Context(), pause)
		took := longest()
		require.NoError(t, syscall.Kill(daemon, syscall.SIGCONT))
		t.Logf("suspended for %v; the longest fetch of another client took %v", pause, took)
		assert.Less(t, took, blocked, "others are served meanwhile")
		f.recovers("all is well", f.sound)
	}
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"), "pmcd did not give us up")
}

// A daemon that is suspended during a request for longer than pmcd waits is replaced by another one. That serves the
// same metrics, also while the first still exists, which ends as soon as it can.
func TestFaultSuspendedForTooLong(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{Flags: []string{"-t", "1"}}, nil)
	before := f.identity("derived.value")
	f.recovers("figures are exported", func() bool { return f.has("mmv.pmdaderived.pid") })
	old := f.stop("pmdaderived")
	f.recovers("pmcd gives us up", func() bool { return !f.has("derived.value") })
	for range 50 {
		require.True(t, f.has("sample.long.one"), "others are served")
	}
	f.revive("pmdaderived", old)
	f.recovers("all is well beside the old daemon", f.sound)
	assert.Equal(t, before, f.identity("derived.value"))

	_ = syscall.Kill(old, syscall.SIGCONT) // pmcd may have killed it
	f.recovers("the old daemon has ended", func() bool {
		return !slices.ContainsFunc(f.p.Processes(), func(p pmcdtest.Process) bool { return p.Pid == old })
	})
	now := float64(pidOf(f.t, f.p, "pmdaderived"))
	f.recovers("figures of the new one are exported", func() bool { return f.number("mmv.pmdaderived.pid") == now })
	require.True(t, f.sound())
}

// No fetch lacks values during any number of SIGHUPs, and the last one counts.
func TestFaultHangupStorm(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	daemon := pidOf(f.t, f.p, "pmdaderived")
	before := f.number("derived.control.reload")
	const storm = 2000
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var err error
		for range storm {
			<-tick.C
			err = errors.Join(err, syscall.Kill(daemon, syscall.SIGHUP))
		}
		done <- err
	}()
	fetches := 0
	for ended := false; !ended; fetches++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			ended = true
		default:
		}
		require.Equal(t, 4500.0, f.number("derived.other"), "fetch %d", fetches)
		require.Equal(t, 42.0, f.number("derived.value"), "fetch %d", fetches)
	}
	f.write(soundConf + "late = sample.long.ten\n")
	require.NoError(t, syscall.Kill(daemon, syscall.SIGHUP))
	f.recovers("what was written last is served", func() bool { return f.number("derived.late") == 10 })
	t.Logf("%d signals, %.0f reloads, %d fetches meanwhile", storm+1, f.number("derived.control.reload")-before, 2*fetches)
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"))
	require.True(t, f.sound())
}

// A daemon that cannot write serves everything, also new definitions. As soon as it can write, it saves identities. It
// exports figures from its next start on.
func TestFaultReadOnlyDirectories(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	logs, figures := filepath.Dir(f.p.LogFile), filepath.Join(f.p.Dir, "tmp", "mmv")
	for _, dir := range []string{filepath.Dir(f.state), figures} {
		info := must(os.Stat(dir))(t)
		require.NoError(t, os.Chmod(dir, 0o555))
		t.Cleanup(func() { _ = os.Chmod(dir, info.Mode().Perm()) })
	}
	f.write(soundConf + "late = sample.long.ten\n")
	f.recovers("a new definition is served", func() bool { return f.number("derived.late") == 10 })
	require.True(t, f.sound())
	assert.NotContains(t, f.saved(), `"late"`)
	// pmcd starts the daemon again while it cannot write, not even its log.
	info := must(os.Stat(logs))(t)
	t.Cleanup(func() { _ = os.Chmod(logs, info.Mode().Perm()) })
	before := f.identity("derived.value")
	require.NoError(t, os.Chmod(logs, 0o555))
	daemon := pidOf(f.t, f.p, "pmdaderived")
	require.NoError(t, syscall.Kill(daemon, syscall.SIGKILL))
	f.recovers("pmcd notices", func() bool { return !f.has("derived.value") })
	f.revive("pmdaderived", daemon)
	f.recovers("all is served", f.sound)
	assert.Equal(t, before, f.identity("derived.value"))
	now := float64(pidOf(f.t, f.p, "pmdaderived"))
	require.NotEqual(t, now, f.number("mmv.pmdaderived.pid"), "it cannot export")

	for dir, mode := range map[string]os.FileMode{filepath.Dir(f.state): 0o777, figures: 0o777, logs: info.Mode().Perm()} {
		require.NoError(t, os.Chmod(dir, mode))
	}
	f.recovers("identities are saved", func() bool { return strings.Contains(f.saved(), `"late"`) })
	require.NoError(t, syscall.Kill(int(now), syscall.SIGKILL))
	f.recovers("pmcd notices again", func() bool { return !f.has("derived.value") })
	f.revive("pmdaderived", int(now))
	f.recovers("figures are exported", func() bool {
		return f.number("mmv.pmdaderived.pid") == float64(pidOf(f.t, f.p, "pmdaderived"))
	})
	f.recovers("all is served again", f.sound)
}

// saved returns the text of the state file.
func (f *faulty) saved() string {
	f.t.Helper()
	return string(must(os.ReadFile(f.state))(f.t))
}

// onSmallDisk runs a program with state, log and figures on a private file system of 1 MB. It is full from the start if
// there is a file $1/full.
const onSmallDisk = `#!/bin/sh
set -e
disk=$1/disk
mount -t tmpfs -o size=1m,mode=777 none $disk
mkdir -m 777 $disk/state $disk/log $disk/mmv
mount --bind $disk/mmv $PCP_TMP_DIR/mmv
[ ! -e $1/full ] || dd if=/dev/zero of=$disk/filler bs=4k 2>/dev/null || :
shift
exec "$@"
`

// startOnSmallDisk is startFaulty with such a disk. inside returns a path on it that other processes can open.
func startOnSmallDisk(t *testing.T, full bool) (f *faulty, inside func(path string) string) {
	t.Helper()
	if os.Geteuid() != 0 || exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").Run() != nil {
		t.Skip("only root, and not in every container, can have a disk of its own")
	}
	dir := worldReadableDir(t)
	script, disk := filepath.Join(dir, "on-small-disk"), filepath.Join(dir, "disk")
	require.NoError(t, os.WriteFile(script, []byte(onSmallDisk), 0o755))
	require.NoError(t, os.Mkdir(disk, 0o777))
	if full {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "full"), nil, 0o644))
	}
	f = startFaulty(t, pmcdtest.Config{}, []string{"/usr/bin/unshare", "--mount", script, dir},
		"--state", filepath.Join(disk, "state", "identities"), "-l", filepath.Join(disk, "log", "derived.log"))
	daemon := pidOf(f.t, f.p, "pmdaderived")
	return f, func(path string) string { return fmt.Sprintf("/proc/%d/root%s", daemon, filepath.Join(disk, path)) }
}

// holds reports whether a file has this text in it.
func holds(path, text string) bool {
	now, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(now), text)
}

// While a disk is full everything is served, also new definitions. When there is room again, identities and the log
// continue.
func TestFaultDiskFull(t *testing.T) {
	f, inside := startOnSmallDisk(t, false)
	daemon := pidOf(f.t, f.p, "pmdaderived")
	f.recovers("figures are exported", func() bool { return holds(inside("mmv/pmdaderived"), "MMV") })
	fill(t, inside("filler"))
	f.write(soundConf + "late = sample.long.ten\nwrong = 1 +\n")
	f.recovers("a new definition is served", func() bool { return f.number("derived.late") == 10 })
	for range 50 {
		require.True(t, f.sound())
	}
	require.False(t, holds(inside("state/identities"), `"late"`), "it cannot be saved")
	require.NoError(t, os.Remove(inside("filler")))
	f.recovers("identities are saved", func() bool { return holds(inside("state/identities"), `"late"`) })
	f.recovers("the log goes on", func() bool { return holds(inside("log/derived.log"), "identifiers are saved again") })
	require.True(t, f.sound())
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"))
}

// A full disk at the start of the daemon changes nothing that is served. When there is room, identities are saved.
func TestFaultDiskFullAtStart(t *testing.T) {
	f, inside := startOnSmallDisk(t, true)
	require.False(t, holds(inside("state/identities"), ""), "it cannot be saved")
	require.NoError(t, os.Remove(inside("filler")))
	f.recovers("identities are saved", func() bool { return holds(inside("state/identities"), `"value"`) })
	require.True(t, f.sound())
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	for err == nil {
		_, err = file.Write(make([]byte, 512))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, file.Close())
}

// Without a free file descriptor the daemon can read no file and make no connection, but all definitions are still
// served.
func TestFaultDescriptorsExhausted(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, nil)
	daemon := pidOf(f.t, f.p, "pmdaderived")
	limit(t, daemon, "--nofile=3:") // open ones stay open
	f.write(soundConf + "late = sample.long.ten\n")
	require.NoError(t, syscall.Kill(daemon, syscall.SIGHUP))
	f.recovers("the log says so", func() bool { return strings.Contains(f.p.Log(), "too many open files") })
	for range 20 { // many requests, then none
		for range 8 {
			require.True(t, f.sound())
		}
		rig.Sleep(t.Context(), 10*time.Millisecond)
	}
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"))
	require.Less(t, f.number("derived.late"), 0.0)

	limit(t, daemon, "--nofile=1000:")
	f.recovers("the file that could not be read is served", func() bool { return f.number("derived.late") == 10 })
	require.True(t, f.sound())
	assert.Equal(t, daemon, pidOf(f.t, f.p, "pmdaderived"))
}

// With a soft limit of the runtime the daemon stays small. Without memory it ends and nothing else fails. After pmcd has
// started it again every metric has the same identity. The last words in its log are those of Go's runtime, which has
// many for this and may find no memory for any.
func TestFaultMemoryLimit(t *testing.T) {
	f := startFaulty(t, pmcdtest.Config{}, []string{"/usr/bin/env", "GOMEMLIMIT=32MiB"})
	daemon := pidOf(f.t, f.p, "pmdaderived")
	const many = 3000
	var text strings.Builder
	text.WriteString(soundConf)
	for i := range many {
		fmt.Fprintf(&text, "many.m%d = sum(delta(sample.bin) + %d) / sample.long.ten\n", i, i)
	}
	f.write(text.String())
	f.recovers("thousands of definitions are served", func() bool { return f.number("derived.control.bound") == many+3 })
	require.True(t, f.sound())
	t.Logf("%d MB resident", resident(t, daemon)>>20)
	assert.Less(t, resident(t, daemon), 100<<20)

	f.write(soundConf)
	f.recovers("few are served", func() bool { return f.number("derived.control.bound") == 3 })
	before := f.identity("derived.value")
	limit(t, daemon, "--as=1000000:") // less than it has: it gets no more
	for i := range 20_000 {
		fmt.Fprintf(&text, "more.m%d = sum(delta(sample.bin) + %d) / sample.long.ten\n", i, i)
	}
	f.write(text.String())
	f.recovers("it has ended", func() bool { return syscall.Kill(daemon, 0) != nil || zombie(daemon) })
	for range 50 {
		require.True(t, f.has("sample.long.one"), "others are served")
	}
	f.write(soundConf)
	f.revive("pmdaderived", daemon)
	f.recovers("all is well", f.sound)
	assert.Equal(t, before, f.identity("derived.value"))
}

// limit sets a soft limit of a process, in the form of prlimit(1). Root does so as the user of the process, which needs
// no privilege.
func limit(t *testing.T, pid int, option string) {
	t.Helper()
	cmd := exec.Command("prlimit", "--pid", strconv.Itoa(pid), option)
	if os.Geteuid() == 0 {
		info := must(os.Stat(fmt.Sprintf("/proc/%d", pid)))(t)
		owner := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	combined(t, cmd)
}

// resident returns the memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	var kb int
	must(fmt.Sscan(string(regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(text)[1]), &kb))(t)
	return kb << 10
}

// zombie reports whether a process has ended and pmcd has not waited for it yet.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// Our monotonic clock may differ from pmcd's, as in a container that was moved. Deltas and rates stay right.
func TestFaultOtherMonotonicClock(t *testing.T) {
	const ahead = "1000000" // s
	through := []string{"/usr/bin/unshare", "--time", "--monotonic", ahead, "--boottime", ahead}
	if os.Geteuid() != 0 {
		through = append(through, "--user", "--map-current-user")
	}
	f := startFaulty(t, pmcdtest.Config{}, through)
	f.write(soundConf + "pace = rate(sample.milliseconds)\n")
	f.recovers("it has a value", func() bool { return f.number("derived.pace") > 0 })
	for range 5 {
		rig.Sleep(t.Context(), 100*time.Millisecond)
		assert.InDelta(t, 1, f.number("derived.pace"), 0.5, "milliseconds per millisecond")
	}
	require.True(t, f.sound())
}
