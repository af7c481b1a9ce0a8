package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// The daemon does not wait for a configured path that is no regular file: it serves the rest, logs the path and the
// reason, and ends with the pipe.
func TestDaemonWithoutRegularFiles(t *testing.T) {
	for _, row := range []struct{ name, path string }{
		{"fifo", ""}, {"full", "/dev/full"}, {"zero", "/dev/zero"}, {"urandom", "/dev/urandom"}, {"folder", "."},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := folder(t, "a = 42\n")
			path := row.path
			switch path {
			case "":
				path = filepath.Join(dir, "fifo")
				require.NoError(t, syscall.Mkfifo(path, 0o666))
			case ".":
				path = filepath.Join(dir, "folder")
				require.NoError(t, os.Mkdir(path, 0o777))
			}
			t.Setenv("PCP_PMCDCONF_PATH", path)
			t.Setenv("PCP_INDOM_CONFIG", path)
			p := startDaemon(t, dir, "--state", path, "-l", path, "-c", filepath.Join(dir, "conf")+":"+path)
			p.handshake()
			assert.True(t, p.known("derived.a"))
			require.NoError(t, p.to.Close())
			assert.Equal(t, commandline.ExitOK, p.end(), p.log())
			log := p.stderr()
			assert.Contains(t, log, "log: open "+path+": not a regular file")
			assert.Contains(t, log, "identities: open "+path+": not a regular file")
			assert.Contains(t, log, "equivalent instance domains are not used: open "+path+": not a regular file")
			if row.name != "folder" { // one of definitions may be
				assert.Contains(t, log, path+": not a regular file")
			}
		})
	}
}

// The log calls a note about files, such as those that a clone of a repository has beside definitions, neither a problem
// nor an error.
func TestNotesAreNoProblems(t *testing.T) {
	dir := folder(t, "a = 42\n")
	clone := filepath.Join(dir, "clone")
	require.NoError(t, os.MkdirAll(clone, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(clone, "README.md"), []byte("# Ours\n"), 0o644))
	p := startDaemon(t, dir, "--log-level", "info", "-c", filepath.Join(dir, "conf")+":"+clone)
	p.handshake()
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end(), p.log())
	assert.Contains(t, p.log(), "level=info msg=note about the definition files file="+clone+
		" note="+clone+": not read because of their names: README.md\n")
	assert.NotContains(t, p.log(), "problem")
}

// A daemon of an ordinary user opens no more than root's daemon does, and leaves alone files that the user may not
// read: it serves the rest, logs the path and the reason, and ends with the pipe.
func TestDaemonOfAnOrdinaryUser(t *testing.T) {
	const secret = "b = 1 # nobody's business\n"
	for _, row := range []struct {
		name   string
		device string
		place  func(path, secret string) error // puts something at a path in a folder of that user
		log    bool                            // the log is made, beside what was in its place
		why    string
	}{
		{"device", "/dev/zero", nil, false, "not a regular file"},
		{"fifo", "", func(path, _ string) error { return syscall.Mkfifo(path, 0o666) }, false, "not a regular file"},
		{
			"unreadable", "", func(path, _ string) error { return os.WriteFile(path, []byte(secret), 0) }, true,
			"permission denied",
		},
		{"symlink", "", func(path, to string) error { return os.Symlink(to, path) }, true, "permission denied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			user, dir := ordinary(), folder(t, "a = 42\n")
			own, hidden := filepath.Join(dir, "own"), filepath.Join(dir, "hidden")
			require.NoError(t, os.WriteFile(hidden, []byte(secret), 0))
			require.NoError(t, os.Mkdir(own, 0o755))
			if user != nil {
				require.NoError(t, os.Chown(own, int(user.Uid), int(user.Gid)))
			}
			paths := make(map[string]string)
			for _, use := range []string{"state", "log", "conf"} {
				paths[use] = row.device
				if row.place != nil {
					paths[use] = filepath.Join(own, use)
					require.NoError(t, row.place(paths[use], hidden))
				}
			}
			p := startDaemonAs(t, user, dir, "--state", paths["state"], "-l", paths["log"], "-c",
				filepath.Join(dir, "conf")+":"+paths["conf"])
			p.handshake()
			assert.True(t, p.known("derived.a"))
			assert.False(t, p.known("derived.b"), "what the user may not read")
			require.NoError(t, p.to.Close())
			assert.Equal(t, commandline.ExitOK, p.end(), p.log())
			log := p.stderr()
			if row.log {
				log += string(must(os.ReadFile(paths["log"]))(t))
			} else {
				assert.Contains(t, log, "log: open "+paths["log"]+": "+row.why)
			}
			assert.Contains(t, log, "identities: open "+paths["state"]+": "+row.why)
			assert.Contains(t, log, paths["conf"]+": "+row.why)
			assert.NotContains(t, log, "business")
			require.NoError(t, os.Chmod(hidden, 0o600))
			assert.Equal(t, secret, string(must(os.ReadFile(hidden))(t)), "what a link leads to is as it was")
		})
	}
}

// A task that waits for a file system that does not answer does not keep the process.
func TestServeEndsWithoutAStuckTask(t *testing.T) {
	in, to := pipe(t)
	from, out := pipe(t)
	defer from.Close()
	log, said := logtest.NewNullLogger()
	stuck := make(chan struct{})
	defer close(stuck)
	ended := make(chan struct{})
	require.NoError(t, pdu.NewWriter(to).Write(&pdu.Creds{Version: pdu.ProtocolVersion}, 0))
	require.NoError(t, to.Close())
	err := serve(t.Context(), &pmda.Server{Agent: struct{ pmda.Agent }{}, Log: log, Greeted: true}, in, out,
		func(context.Context) { <-stuck },
		func(ctx context.Context) {
			<-ctx.Done()
			close(ended)
		})
	require.NoError(t, err)
	<-ended
	assert.Equal(t, "exiting although a task is still waiting for a file", said.LastEntry().Message)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	return r, w
}
