package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// upgrade returns the pmcd.conf of a host without anything else, and the command that runs Upgrade there.
func upgrade(t *testing.T, control string) (path string, command func() *exec.Cmd) {
	t.Helper()
	dir := worldReadableDir(t)
	path = filepath.Join(dir, "pmcd.conf")
	pmda := filepath.Join(dir, "derived")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(control), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etc", "pcp.env"),
		[]byte("PCP_AWK_PROG=awk PCP_PMCDCONF_PATH="+path+" PCP_PMDAS_DIR="+dir+" PCP_VAR_DIR="+dir+"\n"), 0o644))
	require.NoError(t, os.Mkdir(pmda, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pmda, "Upgrade"), must(os.ReadFile("../packaging/Upgrade"))(t), 0o755))
	return path, func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(pmda, "Upgrade"))
		cmd.Env = append(os.Environ(), "PCP_DIR="+dir)
		return cmd
	}
}

// Upgrade removes options that no longer exist from the agent's line, and nothing else.
func TestUpgradeTakesOptions(t *testing.T) {
	const before, after = "linux\t60\tpipe\tbinary\t/linux -d 60 --poll=1\n# derived 510 pipe binary --poll=2\n", "\n[access]\nallow \"local:*\" : all;\n"
	for _, row := range []struct{ name, line, want, named string }{
		{"nothing", "/pmdaderived -d 510 --interval=20s -c /a:/b", "/pmdaderived -d 510 --interval=20s -c /a:/b", ""},
		{"with =", "/pmdaderived -d 510 --poll=1m --interval=5", "/pmdaderived -d 510 --interval=5", "--poll"},
		{"with a word", "/pmdaderived --limit contexts=5 -d 510", "/pmdaderived -d 510", "--limit"},
		{
			"all of them", "/p --first-fetch=warm --limit=a=1 --limit b=2 --log-limit 0 --poll=1 --watch off --watch-poll=1 -p",
			"/p -p", "--first-fetch --limit --limit --log-limit --poll --watch --watch-poll",
		},
		{
			"with quotes", `/p "--limit=a=1" --watch "off" "--state=/a b" --poll=1`, `/p "--state=/a b"`,
			"--limit --watch --poll",
		},
		{
			"a word that is like one", `/p --watch-polls=1 -l /--poll "-c --poll=1"`,
			`/p --watch-polls=1 -l /--poll "-c --poll=1"`, "",
		},
		{"escaped", `/p -l a\"b\#c --poll=1 -p`, `/p -l a\"b\#c -p`, "--poll"},
		{"before a comment", "/p --poll=1 # --limit=2", "/p # --limit=2", "--poll"},
		{"going on in another line", "/p \\\n  --poll \\\n  1 \\\n  -p", "/p \\\n  -p", "--poll"},
		{"without its value", "/p --poll", "/p", "--poll"},
		{"with the word notready", "notready /p --poll=1", "notready /p", "--poll"},
		{"no first values", "/p --first-fetch=none --interval=5 -p", "/p --interval=5 -p --interval=0", "--first-fetch"},
		{"no first values, with a word", "/p --first-fetch none # a", "/p --interval=0 # a", "--first-fetch"},
		{"the last one counts", "/p --first-fetch=none --first-fetch=warm", "/p", "--first-fetch --first-fetch"},
	} {
		t.Run(row.name, func(t *testing.T) {
			const head = "derived\t510  pipe binary\t"
			path, command := upgrade(t, before+head+row.line+after)
			for i := range 2 {
				out := string(must(command().CombinedOutput())(t))
				assert.Equal(t, before+head+row.want+after, string(must(os.ReadFile(path))(t)))
				mark := filepath.Join(filepath.Dir(path), "derived", ".NeedInstall")
				if row.named == "" || i > 0 {
					assert.Empty(t, out)
					assert.NoFileExists(t, mark)
				} else {
					assert.FileExists(t, mark, "pmcd's start script runs Install next")
					require.NoError(t, os.Remove(mark))
					assert.Regexp(t, "^pmdaderived: .* from its line in "+path+": "+row.named+"\n$", out)
				}
			}
		})
	}
}

// A pmcd.conf that Upgrade may not write stays as it is. pmcd is started all the same.
func TestUpgradeReadOnly(t *testing.T) {
	const control = "derived\t510\tpipe\tbinary\t/pmdaderived -d 510 --poll=1m\n"
	path, command := upgrade(t, control)
	require.NoError(t, os.Chmod(path, 0o444))
	cmd := command()
	if os.Geteuid() == 0 { // who may write everything
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out := string(must(cmd.CombinedOutput())(t))
	assert.Regexp(t, "^pmdaderived: cannot write "+path+"; .*: --poll\n$", out)
	assert.Equal(t, control, string(must(os.ReadFile(path))(t)))
}

// In a folder that takes no mark, Upgrade still prints its messages, does the rest, and lets pmcd start.
func TestUpgradeWithoutMark(t *testing.T) {
	path, command := upgrade(t, "derived\t510\tpipe\tbinary\t/pmdaderived -d 510 --poll=1m\n")
	dir := filepath.Dir(path)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "derived", ".NeedInstall"), 0o755)) // root cannot write this either
	require.NoError(t, os.WriteFile(filepath.Join(dir, "derived", "domain.h"), []byte("#define DERIVED 510\n"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pmns"), 0o755))
	run := command()
	run.Path, run.Args = "/bin/sh", []string{"sh", "-c", "umask 077; exec " + run.Path}
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "pmdaderived: removed options ")
	info := must(os.Stat(filepath.Join(dir, "pmns", "stdpmid.derived")))(t)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "whatever the umask is")
}
