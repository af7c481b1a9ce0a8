//go:build pcp

package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

const domain = 510

// TestMain makes the test program an agent if one of its variables is set, and removes the programs that were built for
// all tests.
func TestMain(m *testing.M) {
	if file := os.Getenv(hangVariable); file != "" {
		runAgent(newHanging(file))
		return
	}
	if file := os.Getenv(hugeVariable); file != "" {
		runAgent(newHuge(file))
		return
	}
	if dir := os.Getenv(sluggishVariable); dir != "" {
		runAgent(newSluggish(dir))
		return
	}
	if file := os.Getenv(restlessVariable); file != "" {
		runAgent(&restless{file})
		return
	}
	if file := os.Getenv(keyedVariable); file != "" {
		runAgent(&keyed{file: file})
		return
	}
	if file := os.Getenv(scriptedVariable); file != "" {
		runAgent(&scriptedAgent{start: file})
		return
	}
	exit := m.Run()
	dir, err := programDir()
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		logrus.Error(err)
		exit = 1
	}
	os.Exit(exit)
}

func runAgent(a pmda.Agent) {
	in, out, err := pmda.Stdio()
	if err != nil {
		logrus.Fatal(err)
	}
	pmda.IgnoreSIGPIPE()
	if err := (&pmda.Server{Agent: a}).Serve(context.Background(), in, out); err != nil {
		logrus.Fatal(err)
	}
}

// programDir is the folder of the daemon's program. Every user can run it there.
var programDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "pmdaderived-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
})

// daemonProgram builds the daemon at the first call.
var daemonProgram = sync.OnceValues(func() (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	return build(dir)
})

// build makes the daemon as `make build` does and returns its path.
func build(dir string) (string, error) {
	program := filepath.Join(dir, "pmdaderived")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/pmdaderived")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/pmdaderived: %w\n%s", err, out)
	}
	return program, nil
}

// derivedAgent returns the daemon as a pmcd starts it.
func derivedAgent(t *testing.T, options ...string) pmcdtest.Agent {
	t.Helper()
	return pmcdtest.Agent{Name: "derived", Domain: domain, Command: append([]string{
		must(daemonProgram())(t), "-d",
		fmt.Sprint(domain),
	}, options...)}
}

// startDerived runs a private pmcd with the daemon.
func startDerived(t *testing.T, options ...string) *pmcdtest.PMCD {
	t.Helper()
	return pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{derivedAgent(t, options...)}})
}

// piped is the daemon behind pipes of the test, which plays pmcd.
type piped struct {
	cmd *exec.Cmd
	to  io.Closer
	in  *pdu.Reader
	out *pdu.Writer
}

// startPiped runs the daemon and completes the handshake.
func startPiped(t *testing.T, options ...string) *piped {
	t.Helper()
	cmd := exec.Command(must(daemonProgram())(t), options...)
	cmd.Stderr = os.Stderr
	to, from := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
	p := &piped{cmd: cmd, to: to, in: pdu.NewReader(from, pdu.AgentLimit), out: pdu.NewWriter(to)}
	require.NoError(t, cmd.Start())
	require.Equal(t, pdu.KindCreds, must(p.in.Next())(t).Kind)
	require.NoError(t, p.out.Write(&pdu.Creds{Version: 2, Features: pdu.FeatureAuth}, 1))
	return p
}

// ask sends a request and returns the reply.
func (p *piped) ask(m pdu.Message) (pdu.Message, error) {
	if err := p.out.Write(m, 0); err != nil {
		return nil, err
	}
	f, err := p.in.Next()
	if err != nil {
		return nil, err
	}
	return pdu.Decode(f)
}

// hangingAgent returns [hanging] as a pmcd starts it.
func hangingAgent(program string) pmcdtest.Agent {
	return pmcdtest.Agent{
		Name: "hanging", Domain: 400, Command: []string{program},
		PMNS: "hanging {\n\tvalue 400:0:0\n\tcount 400:0:1\n\tdynamic 400:*:*\n}\n",
	}
}

// copySelf copies this program, which is an agent under another name, to a folder where a pmcd may start it.
func copySelf(t *testing.T, dir, name string) string {
	t.Helper()
	text := must(os.ReadFile(must(os.Executable())(t)))(t)
	program := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(program, text, 0o755))
	return program
}

// writeFile writes a file that every user can read and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// pidOf returns the process of an agent. It waits for it: pmcd may be starting it again.
func pidOf(t *testing.T, p *pmcdtest.PMCD, program string) (pid int) {
	t.Helper()
	await.Until(t, program+" runs", func() (ok bool) {
		pid, ok = p.PidOf(program)
		return ok
	})
	return pid
}

// printed returns the output of a program that must succeed.
func printed(t *testing.T, p *pmcdtest.PMCD, command ...string) string {
	t.Helper()
	out, errs, exit := p.Run(t, command...)
	require.Zero(t, exit, "%v: %s%s", command, out, errs)
	return out
}

// combined returns all output of a command that must succeed.
func combined(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd, out)
	return string(out)
}

// dial connects a client that lives as long as the test.
func dial(t *testing.T, p *pmcdtest.PMCD) *pmapi.Conn {
	t.Helper()
	conn := must(pmapi.Dial(t.Context(), "unix", p.Socket))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// within reports whether a condition is met in a time in which it may be met or not. await.Until is for what must be.
func within(ctx context.Context, limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); rig.Sleep(ctx, pollInterval) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
