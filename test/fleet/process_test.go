//go:build pcp

package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

const (
	startTimeout = 20 * time.Second
	endTimeout   = 10 * time.Second
	pollInterval = 20 * time.Millisecond
	portAttempts = 5
)

// central is the machine without a pmcd. It runs all the rest: loggers, pmproxy, Redis.
type central struct {
	pmcd  *pmcdtest.PMCD // of a host: it has the paths of PCP
	dir   string
	env   []string
	owner *syscall.Credential // user of its daemons; nil: the one of this process
}

// newCentral makes the folders that PCP's daemons write to. If root starts them, they run as the user of pmcd.
func newCentral(t *testing.T, pmcd *pmcdtest.PMCD) *central {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fleet-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	c := &central{pmcd: pmcd, dir: dir}
	if os.Geteuid() == 0 {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pmcd.Pid()))
		require.NoError(t, err)
		of := info.Sys().(*syscall.Stat_t)
		c.owner = &syscall.Credential{Uid: of.Uid, Gid: of.Gid}
	}
	for _, name := range []string{
		".", "run", "tmp", "tmp/pmlogger", "tmp/pmproxy", "log", "log/pmlogger",
		"log/pmproxy", "redis",
	} {
		c.makeDir(t, name)
	}
	c.env = append(pmcd.Env(),
		"PCP_RUN_DIR="+filepath.Join(dir, "run"),
		"PCP_TMP_DIR="+filepath.Join(dir, "tmp"),
		"PCP_LOG_DIR="+filepath.Join(dir, "log"),
		"PCP_ARCHIVE_DIR="+filepath.Join(dir, "log", "pmlogger"),
	)
	return c
}

// makeDir makes a folder for the daemons to write to, if it is not there yet, and returns its path.
func (c *central) makeDir(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(t, os.MkdirAll(path, 0o755))
	require.NoError(t, os.Chmod(path, 0o755))
	if c.owner != nil {
		require.NoError(t, os.Chown(path, int(c.owner.Uid), int(c.owner.Gid)))
	}
	return path
}

// write makes a file that every user can read and returns its path.
func (c *central) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// process is a daemon in the foreground.
type process struct {
	name      string
	pid       int
	out       bytes.Buffer  // to be read after the end
	ended     chan struct{} // closed at the end
	err       error         // its exit status, valid after the end
	log       string        // path of its log file, "" if it has none
	signalled bool          // a signal to end was sent
}

// start runs a program until the test ends. When the test fails, its output is part of the test's.
func (c *central) start(t *testing.T, log, name string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(name), ended: make(chan struct{}), log: log}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	// It dies with this process, however that ends. The kernel takes the thread that starts it for its parent,
	// so that thread stays and waits.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	require.NoError(t, <-started, name)
	t.Cleanup(func() {
		p.end(t)
		if t.Failed() {
			t.Logf("---- %s ----\n%s%s", p.name, p.out.Bytes(), p.logged())
		}
	})
	return p
}

// running returns true until the process ends.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end ends the process and waits for it. A process that has ended by itself fails the test. end may be called again.
func (p *process) end(t *testing.T) {
	t.Helper()
	switch {
	case p.running():
		_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may just have ended
	case !p.signalled:
		t.Errorf("%s ended by itself: %v", p.name, p.err)
	}
	p.signalled = true
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
		t.Errorf("%s is still there %v after SIGTERM", p.name, endTimeout)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.ended
	}
}

// logged returns the log of the process.
func (p *process) logged() string {
	if p.log == "" {
		return ""
	}
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// listen starts a server on a free port of this machine and returns the port when it takes connections. Another program
// may take the port first: then it tries another port.
func (c *central) listen(t *testing.T, run func(port int) *process) (port int) {
	t.Helper()
	for range portAttempts {
		port = freePort(t)
		p := run(port)
		deadline := time.Now().Add(startTimeout)
		for p.running() && time.Now().Before(deadline) {
			conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err == nil {
				require.NoError(t, conn.Close())
				return port
			}
			rig.Sleep(t.Context(), pollInterval)
		}
		p.signalled = true // it has ended, or cannot be reached
	}
	require.Fail(t, "no server")
	return 0
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// redisServer returns the path of a Redis or Valkey server. Debian's redis-tools has the program under another name.
// Package redis-server adds only the name and a service.
func redisServer(t *testing.T, c *central) string {
	t.Helper()
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	program, err := exec.LookPath("redis-check-rdb")
	require.NoError(t, err, "scripts/install-pcp -fleet installs it")
	path := filepath.Join(c.dir, "redis-server")
	if err := os.Symlink(program, path); !errors.Is(err, fs.ErrExist) {
		require.NoError(t, err)
	}
	return path
}

// startRedis runs a Redis server that writes nothing to disk.
func startRedis(t *testing.T, c *central) (port int) {
	t.Helper()
	program := redisServer(t, c)
	return c.listen(t, func(port int) *process {
		return c.start(t, "", program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no", "--dir", filepath.Join(c.dir, "redis"))
	})
}

// startProxy runs a pmproxy that follows the archives below the folder of logs.
func startProxy(t *testing.T, c *central, redis int) (port int) {
	t.Helper()
	conf := c.write(t, "pmproxy.conf", fmt.Sprintf(`[pmproxy]
pcp.enabled = true
http.enabled = true
redis.enabled = false
secure.enabled = false
[redis]
enabled = true
servers = 127.0.0.1:%d
[discover]
enabled = true
exclude.metrics = proc.*,acct.*,derived.page.*
[pmsearch]
enabled = false
[pmseries]
enabled = true
`, redis))
	log := filepath.Join(c.dir, "log", "pmproxy", "pmproxy.log")
	return c.listen(t, func(port int) *process {
		return c.start(t, log, c.program(t, "pmproxy"), "-f", "-A", "-c", conf, "-i", "127.0.0.1", "-p", strconv.Itoa(port),
			"-s", filepath.Join(c.dir, "run", "pmproxy.socket"), "-l", log)
	})
}

// program finds one of PCP's programs, which need not be in PATH.
func (c *central) program(t *testing.T, name string) string {
	t.Helper()
	return c.pmcd.Command(t.Context(), name).Path
}
