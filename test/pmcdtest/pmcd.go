package pmcdtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 30 * time.Second // pmcd alone is ready within 0.2 s; agents may take 3 s each
	stopTimeout  = 10 * time.Second
	killTimeout  = 10 * time.Second
	pollInterval = 2 * time.Millisecond
	portAttempts = 5
)

// PMCD is a private pmcd. Its methods are not safe for concurrent use, except [PMCD.Env],
// [PMCD.Run], [PMCD.Command], [PMCD.Processes] and [PMCD.Log].
type PMCD struct {
	Dir     string // everything of this pmcd is below it; see the package comment
	Socket  string // path of the unix socket, for `-h unix:SOCKET`
	Port    int    // TCP port on 127.0.0.1
	LogFile string // path of pmcd.log

	cfg      Config
	conf     pcpConf
	own      owner
	watchdog *watchdog
	daemon   *daemon                // nil before the first start and after end
	ran      atomic.Pointer[string] // the last command of Run, with what it printed
}

// Start runs a private pmcd until the test ends and returns when it serves clients. When the test has failed, the last
// command of [PMCD.Run] and the logs of pmcd and its agents are added to the test's output.
func Start(tb testing.TB, cfg Config) *PMCD {
	tb.Helper()
	p, err := Launch(cfg)
	if err != nil {
		tb.Fatalf("private pmcd: %v", err)
	}
	tb.Cleanup(func() {
		err := p.Stop()
		if err != nil {
			tb.Errorf("private pmcd: %v", err)
		}
		if tb.Failed() {
			tb.Logf("%s%s", p.lastCommand(), p.Log())
		}
		if err := p.Remove(); err != nil {
			tb.Errorf("private pmcd: %v", err)
		}
	})
	return p
}

// Launch is [Start] for programs that are not tests. The caller ends pmcd with [PMCD.Stop] and
// [PMCD.Remove].
func Launch(cfg Config) (*PMCD, error) {
	p := &PMCD{cfg: cfg}
	if err := p.prepare(); err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	for attempt := 1; ; attempt++ {
		err := p.start()
		if err == nil {
			return p, nil
		}
		err = fmt.Errorf("%w\n%s", err, p.Log())
		if stopErr := p.Stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		if attempt == portAttempts || !strings.Contains(p.Log(), portTaken(p.Port)) {
			return nil, errors.Join(err, p.Remove())
		}
		if p.Port, err = freePort(); err != nil {
			return nil, errors.Join(err, p.Remove())
		}
	}
}

// prepare writes the folder, before pmcd starts.
func (p *PMCD) prepare() (err error) {
	if err := p.cfg.validate(); err != nil {
		return err
	}
	if p.conf, err = readPCPConf(); err != nil {
		return err
	}
	if p.own, err = findOwner(p.conf); err != nil {
		return err
	}
	if p.Dir, err = makeDir(p.own); err != nil {
		return err
	}
	if p.watchdog, err = startWatchdog(p.Dir); err != nil {
		return err
	}
	p.Socket = filepath.Join(p.Dir, "run", "pmcd.socket")
	p.LogFile = filepath.Join(p.Dir, "log", "pmcd", "pmcd.log")
	if p.Port, err = freePort(); err != nil {
		return err
	}
	if err := buildTree(p.Dir, p.cfg, p.conf, p.own); err != nil {
		return err
	}
	if err := p.conf.write(p.confFile(), filepath.Join(p.Dir, "tmp")); err != nil {
		return err
	}
	if err := writeControlFile(p.controlFile(), p.cfg, p.conf, p.own); err != nil {
		return err
	}
	return writePMNS(p.pmnsDir(), p.cfg, p.conf)
}

func (p *PMCD) controlFile() string { return filepath.Join(p.Dir, "pmcd.conf") }
func (p *PMCD) confFile() string    { return filepath.Join(p.Dir, "pcp.conf") }
func (p *PMCD) pmnsDir() string     { return filepath.Join(p.Dir, "var", "pmns") }
func (p *PMCD) pidFile() string     { return filepath.Join(p.Dir, "run", "pmcd.pid") }

// freePort returns a TCP port of 127.0.0.1 that no program listens on at this moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// portTaken returns the text in pmcd's log about a port that another program listens on. pmcd goes on without it.
func portTaken(port int) string { return fmt.Sprintf("OpenRequestSocket(%d,", port) }

// start runs pmcd and returns when it has started its agents and greets clients on both sockets.
func (p *PMCD) start() error {
	// pmcd refuses to listen on a socket file that a killed pmcd has left.
	for _, stale := range []string{p.Socket, p.pidFile()} {
		if err := os.Remove(stale); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	args := []string{
		"-A", "-c", p.controlFile(), "-n", filepath.Join(p.pmnsDir(), "root"), "-l", p.LogFile,
		"-x", filepath.Join(p.Dir, "log", "pmcd", "fatal.log"),
		"-s", p.Socket, "-i", "127.0.0.1", "-p", strconv.Itoa(p.Port),
	}
	if p.cfg.HostName != "" {
		args = append(args, "-H", p.cfg.HostName)
	}
	cmd := exec.Command(filepath.Join(p.conf["PCP_BINADM_DIR"], "pmcd"), append(args, p.cfg.Flags...)...)
	cmd.Dir = filepath.Dir(p.LogFile)
	cmd.Env = append(p.agentEnv(), "PMCD_ROOT_AGENT=0")
	deadline := time.Now().Add(startTimeout)
	var d *daemon
	err := onHost(p.cfg.HostName, func() (err error) {
		d, err = startDaemon(cmd, p.LogFile, deadline)
		return err
	})
	if err != nil {
		return err
	}
	p.daemon = d
	if err := p.watchdog.guard(d.pid); err != nil {
		return err
	}
	// The pid file appears after the last agent's handshake. Connecting earlier would take the lowest
	// place in pmcd's client table away from an agent that is itself a client.
	if err := d.awaitFile(p.pidFile(), deadline); err != nil {
		return err
	}
	if strings.Contains(p.Log(), portTaken(p.Port)) {
		return fmt.Errorf("port %d is taken", p.Port)
	}
	if err := awaitGreeting("unix", p.Socket, deadline); err != nil {
		return err
	}
	return awaitGreeting("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)), deadline)
}

// awaitGreeting returns nil when pmcd has sent the first bytes of its greeting to a new client.
func awaitGreeting(network, address string, deadline time.Time) error {
	var conn net.Conn
	var err error
	poll(deadline, func() bool {
		conn, err = net.DialTimeout(network, address, time.Until(deadline))
		return !errors.Is(err, syscall.EAGAIN) // other clients fill pmcd's queue
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	var first [4]byte
	if _, err := conn.Read(first[:]); err != nil {
		return fmt.Errorf("no greeting on %s: %w", address, err)
	}
	return nil
}

// Pid returns pmcd's process number, 0 without a pmcd.
func (p *PMCD) Pid() int {
	if p.daemon == nil {
		return 0
	}
	return p.daemon.pid
}

// Signal sends sig to pmcd.
func (p *PMCD) Signal(sig os.Signal) error {
	if p.daemon == nil {
		return os.ErrProcessDone
	}
	return p.daemon.signal(sig)
}

// Kill ends pmcd at once, as a crash would, and returns when it and its agents are gone.
func (p *PMCD) Kill() error { return p.end(syscall.SIGKILL) }

// Stop ends pmcd in the regular way and returns when it and its agents are gone. An agent that had to be
// killed, or a pmcd that had ended before, is an error. Stop without a running pmcd does nothing.
func (p *PMCD) Stop() error { return p.end(syscall.SIGTERM) }

func (p *PMCD) end(sig os.Signal) error {
	d := p.daemon
	if d == nil {
		return nil
	}
	p.daemon = nil
	return d.end(sig, stopTimeout)
}

// Restart stops pmcd, if it runs, and starts it again with the same folder, socket and port.
func (p *PMCD) Restart() error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.start()
}

// Remove deletes the folder. pmcd must have been stopped.
func (p *PMCD) Remove() error {
	if p.watchdog != nil {
		p.watchdog.dismiss()
		p.watchdog = nil
	}
	if p.Dir == "" {
		return nil
	}
	return os.RemoveAll(p.Dir)
}

// maxLog is the size of the end of a log file that Log returns, in bytes.
const maxLog = 64 << 10

// Log returns the logs of pmcd and of its agents, each with a heading.
func (p *PMCD) Log() string {
	files, _ := filepath.Glob(filepath.Join(p.Dir, "log", "pmcd", "*.log")) // the pattern is well-formed
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		if cut := len(text) - maxLog; cut > 0 {
			text = append([]byte("...\n"), text[cut:]...)
		}
		fmt.Fprintf(&b, "---- %s ----\n%s\n", filepath.Base(file), strings.TrimRight(string(text), "\n"))
	}
	return b.String()
}
