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

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// What is no regular file makes nobody wait, wherever it is configured: the daemon serves what it has, says which path it is
// and why, and ends with the pipe.
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
			assert.Equal(t, exitOK, p.end(), p.log())
			log := p.stderr()
			assert.Contains(t, log, "log: open "+path+": not a regular file")
			assert.Contains(t, log, "identities: open "+path+": not a regular file")
			assert.Contains(t, log, "no instance domains are taken as equivalent: open "+path+": not a regular file")
			if row.name != "folder" { // one of definitions may be
				assert.Contains(t, log, path+": not a regular file")
			}
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
	assert.Equal(t, "something waits for a file and is not waited for", said.LastEntry().Message)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	return r, w
}
