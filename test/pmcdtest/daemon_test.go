package pmcdtest

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// startSession runs a shell script as the leader of a session, as pmcd is, and returns when it has
// printed a line.
func startSession(t *testing.T, script string) *daemon {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return &daemon{pid: cmd.Process.Pid}
}

func TestEndOfASession(t *testing.T) {
	const short, long = 100 * time.Millisecond, 10 * time.Second
	for _, row := range []struct {
		name, script string
		signal       syscall.Signal
		timeout      time.Duration
		want         string
	}{
		{"obeys", `echo; exec sleep 60`, syscall.SIGTERM, long, ""},
		{"child outlives it for a moment", `(sleep .2) & echo; exec sleep 60`, syscall.SIGTERM, long, ""},
		{"ignores the signal", `trap '' TERM; echo; while :; do sleep 1; done`, syscall.SIGTERM, short, "killed: ["},
		{
			"child ignores the signal", `(trap '' TERM HUP; exec sleep 60) & echo; exec sleep 60`, syscall.SIGTERM, short,
			"killed: [",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := startSession(t, row.script)
			err := d.end(row.signal, row.timeout)
			if row.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, row.want)
			}
			assert.Empty(t, processes(d.pid))
		})
	}
}

func TestProcessName(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `ln -s /bin/sleep "$1/a) S 1 (b" && exec "$1/a) S 1 (b" 60`, "sh", t.TempDir())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	await.Until(t, "it has its name", func() bool {
		stat, ok := readStat(cmd.Process.Pid)
		return ok && stat.name == "a) S 1 (b"
	})
}

func TestLastCommand(t *testing.T) {
	p := &PMCD{}
	assert.Empty(t, p.lastCommand())
	p.Run(t, "echo", "before")
	p.Run(t, "sh", "-c", "echo one; echo two >&2; exit 3")
	assert.Equal(t, "---- last command ----\nsh -c echo one; echo two >&2; exit 3: exit status 3\ntwo\none\n", p.lastCommand())
	p.Run(t, "seq", "100")
	assert.Regexp(t, `\n18\n19\n\.\.\.\n$`, p.lastCommand())
}
