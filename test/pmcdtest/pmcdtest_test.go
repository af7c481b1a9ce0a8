//go:build pcp

package pmcdtest_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// sampleAgain returns a second sample agent under another name: an agent of the caller that every machine has.
func sampleAgain(tb testing.TB, domain int, extra ...string) pmcdtest.Agent {
	tb.Helper()
	return pmcdtest.Agent{
		Name:   "again",
		Domain: domain,
		Command: append([]string{
			stockAgent(tb, "sample"), "-d", strconv.Itoa(domain), "-l", "again.log",
		}, extra...),
		PMNS: "again {\n  load AGAIN:0:4\n  colour AGAIN:0:5\n}\n",
	}
}

func stockAgent(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile("/etc/pcp.conf")
	require.NoError(tb, err)
	for line := range strings.Lines(string(text)) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "PCP_PMDAS_DIR="); ok {
			return filepath.Join(dir, name, "pmda"+name)
		}
	}
	require.Fail(tb, "no PCP_PMDAS_DIR in /etc/pcp.conf")
	return ""
}

func names(processes []pmcdtest.Process) []string {
	var list []string
	for _, process := range processes {
		list = append(list, process.Name)
	}
	return list
}

func TestStockAgents(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})

	assert.Equal(t, []string{"pmcd", "pmdaproc", "pmdasample", "pmdalinux"}, names(p.Processes()),
		"each once")
	for _, metric := range []string{
		"pmcd.version", "proc.nprocs", "sample.long.one", "kernel.all.load", "hinv.ncpu",
	} {
		t.Run(metric, func(t *testing.T) {
			stdout, stderr, exit := p.Run(t, "pmprobe", "-v", metric)
			assert.Zero(t, exit)
			assert.Empty(t, stderr)
			fields := strings.Fields(stdout)
			require.GreaterOrEqual(t, len(fields), 3, "name, number of values, values: %q", stdout)
			count, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			assert.Positive(t, count)
		})
	}
	t.Run("mmv", func(t *testing.T) {
		stdout, _, _ := p.Run(t, "pmprobe", "-v", "mmv.control.files")
		assert.Contains(t, stdout, "mmv.control.files 1 0", "reads the private PCP_TMP_DIR")
	})
	t.Run("access as shipped", func(t *testing.T) {
		_, _, exit := p.Run(t, "pmstore", "sample.write_me", "3")
		assert.Zero(t, exit)
	})
	for _, heading := range []string{"pmcd.log", "linux.log", "proc.log", "sample.log"} {
		assert.Contains(t, p.Log(), "---- "+heading+" ----")
	}
}

// Tools find the private pmcd by each way they have of being told where it is.
func TestAddresses(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{})
	port := strconv.Itoa(p.Port)
	for name, args := range map[string][]string{
		"environment":     {"pmprobe", "-v", "pmcd.pid"},
		"unix socket":     {"pmprobe", "-h", "unix:" + p.Socket, "-v", "pmcd.pid"},
		"port":            {"pmprobe", "-h", "127.0.0.1:" + port, "-v", "pmcd.pid"},
		"port by default": {"pmprobe", "-h", "127.0.0.1", "-v", "pmcd.pid"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, exit := p.Run(t, args...)
			assert.Zero(t, exit)
			assert.Equal(t, "pmcd.pid 1 "+strconv.Itoa(p.Pid())+"\n", stdout)
		})
	}
	t.Run("socket path", func(t *testing.T) {
		assert.Less(t, len(p.Socket), 108)
	})
	t.Run("name space", func(t *testing.T) {
		stdout, _, exit := p.Run(t, "pminfo", "-m", "sample.load")
		assert.Zero(t, exit)
		assert.Equal(t, "sample.load PMID: 29.0.4\n", stdout)
	})
}

// Several run at once, each with an agent of the caller's.
func TestCallersAgent(t *testing.T) {
	for name, agent := range map[string]pmcdtest.Agent{
		"sections":        sampleAgain(t, 253),
		"quoted argument": sampleAgain(t, 253, "-D", `attr,appl0`),
		"entry of the root section": {
			Name: "again", Domain: 254, Command: sampleAgain(t, 254).Command,
			PMNS: "again AGAIN:0:4",
		},
		"dynamic": {
			Name: "again", Domain: 510, Command: sampleAgain(t, 510).Command,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{agent}})
			stdout, _, _ := p.Run(t, "pmprobe", "-v", "pmcd.agent.status")
			assert.Contains(t, stdout, "pmcd.agent.status 6 0 0 0 0 0 0", "six agents, all well")
			stdout, _, _ = p.Run(t, "pminfo", "-m", "again")
			if agent.PMNS == "" { // which the sample agent has no names for
				assert.Contains(t, stdout, "again")
			} else {
				assert.Regexp(t, fmt.Sprintf(`(?m)^again\S* PMID: %d\.`, agent.Domain), stdout)
			}
			stdout, _, _ = p.Run(t, "pmprobe", "-v", "pmcd.pid")
			assert.Equal(t, fmt.Sprintf("pmcd.pid 1 %d\n", p.Pid()), stdout)
			assert.Contains(t, names(p.Processes()), "pmdasample")
		})
	}
}

func TestRefusedConfig(t *testing.T) {
	program := stockAgent(t, "sample")
	for name, row := range map[string]struct {
		cfg  pmcdtest.Config
		want string
	}{
		"foreground": {pmcdtest.Config{Flags: []string{"-f"}}, "foreground"},
		"name": {
			pmcdtest.Config{Agents: []pmcdtest.Agent{{Name: "A b", Domain: 5, Command: []string{program}}}},
			"lower-case",
		},
		"domain": {
			pmcdtest.Config{Agents: []pmcdtest.Agent{{Name: "a", Domain: 511, Command: []string{program}}}},
			"not in 1 to 510",
		},
		"relative path": {pmcdtest.Config{Agents: []pmcdtest.Agent{{
			Name: "a", Domain: 5,
			Command: []string{"pmdasample"},
		}}}, "absolute path"},
		"name space": {pmcdtest.Config{Agents: []pmcdtest.Agent{{
			Name: "a", Domain: 5, Command: []string{program},
			PMNS: "b {",
		}}}, "merge the name spaces"},
		"access": {pmcdtest.Config{Access: "allow nonsense"}, "pmcd"},
		"option": {pmcdtest.Config{Flags: []string{"--no-such-option"}}, "--no-such-option"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pmcdtest.Launch(row.cfg)
			if err == nil {
				require.NoError(t, p.Stop())
				require.NoError(t, p.Remove())
			}
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func TestHost(t *testing.T) {
	p := pmcdtest.Start(t, pmcdtest.Config{HostName: "north.example", Labels: `{"site":"north"}`})
	stdout, _, _ := p.Run(t, "pmprobe", "-v", "pmcd.hostname")
	assert.Equal(t, "pmcd.hostname 1 \"north.example\"\n", stdout)
	stdout, _, _ = p.Run(t, "pminfo", "-l", "sample.long.one")
	assert.Contains(t, stdout, `"site":"north"`)
	if exec.Command("unshare", "--uts", "true").Run() == nil {
		assert.Contains(t, stdout, `"hostname":"north.example"`)
		stdout, _, _ = p.Run(t, "pmprobe", "-v", "kernel.uname.nodename")
		assert.Equal(t, "kernel.uname.nodename 1 \"north.example\"\n", stdout)
	}
	here, err := os.Hostname()
	require.NoError(t, err)
	assert.NotEqual(t, "north.example", here, "the machine keeps its name")
}

// One pmcd is stopped, started again, told to read its configuration again, and ends by itself.
func TestLife(t *testing.T) {
	p, err := pmcdtest.Launch(pmcdtest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Remove()) })
	first := p.Pid()
	require.NoError(t, p.Stop())
	assert.Empty(t, p.Processes())
	_, err = net.Dial("unix", p.Socket)
	require.Error(t, err)
	require.NoError(t, p.Stop(), "twice")

	// when it does not run, when it does, and after a crash
	for _, end := range []func() error{p.Kill, func() error { return nil }, p.Stop} {
		require.NoError(t, p.Restart())
		stdout, _, _ := p.Run(t, "pmprobe", "-v", "pmcd.pid")
		assert.Equal(t, fmt.Sprintf("pmcd.pid 1 %d\n", p.Pid()), stdout)
		assert.NotEqual(t, first, p.Pid())
		first = p.Pid()
		require.NoError(t, end())
	}
	require.NoError(t, p.Restart())
	before := p.Processes()
	assert.Len(t, before, 4)
	require.NoError(t, p.Signal(syscall.SIGHUP))
	await.Until(t, "pmcd has got the signal", func() bool {
		stdout, _, _ := p.Run(t, "pmprobe", "-v", "pmcd.sighups")
		return stdout == "pmcd.sighups 1 1\n"
	})
	assert.Equal(t, before, p.Processes(), "agents keep running")

	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGTERM), "behind the harness' back")
	await.Until(t, "pmcd and its agents have ended", func() bool { return len(p.Processes()) == 0 })
	assert.ErrorContains(t, p.Stop(), "by itself")
}

// Root runs the first tests again as somebody without any rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: every test runs as an ordinary user anyway")
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	require.NoError(t, err)

	// go test puts the binary where only we may look.
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "pmcdtest-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "pmcdtest.test")
	require.NoError(t, os.WriteFile(program, binary, 0o755))

	cmd := exec.Command(program, "-test.v", "-test.run", "^(TestStockAgents|TestCallersAgent)$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestStockAgents")
}

// PCP's state files, logs and sockets on the machine are not written to.
func TestLeavesTheMachineAlone(t *testing.T) {
	state := func() string {
		out, err := exec.Command("sh", "-c", `
			. /etc/pcp.conf 2>/dev/null
			find $PCP_VAR_DIR/config/pmda $PCP_VAR_DIR/pmns $PCP_LOG_DIR $PCP_TMP_DIR $PCP_RUN_DIR -printf '%p %T@ %s\n' 2>/dev/null |
			sort`).Output()
		require.NoError(t, err)
		return string(out)
	}
	before := state()
	p, err := pmcdtest.Launch(pmcdtest.Config{})
	require.NoError(t, err)
	_, _, exit := p.Run(t, "pminfo", "-f", "sample")
	assert.Zero(t, exit)
	require.NoError(t, p.Stop())
	require.NoError(t, p.Remove())
	assert.NoDirExists(t, p.Dir)
	assert.Equal(t, before, state())
}
