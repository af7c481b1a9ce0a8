package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/command"
	"pmdaderived/internal/commandline"
)

// A command that needs no PCP prints nothing about its absence.
func TestCommandsWithoutPCP(t *testing.T) {
	const site, archive = "../../examples/site.conf", "../../examples/incident"
	out := filepath.Join(t.TempDir(), "out")
	nothing := filepath.Join(t.TempDir(), "nothing")
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"version", []string{"--version"}, ""},
		{"usage", []string{"--help"}, ""},
		{"help", []string{"help"}, ""},
		{"help for a command", []string{"help", "eval"}, ""},
		{"usage of a command", []string{"check", "--help"}, ""},
		{"check", []string{"check", "--offline", site}, "3 definitions, 0 errors (syntax only)\n"},
		{"test", []string{"test", "../../examples/site.test"}, "3 tests, 0 failed\n"},
		{"eval", []string{"eval", "-c", site, "-a", archive, "kernel.all.load"}, ""},
		{"explain", []string{"explain", "-c", site, "-a", archive, "site.load.per_cpu"}, ""},
		{
			"replay",
			[]string{"replay", "-c", site, "-a", archive, out, "site.load.per_cpu"},
			"pmdaderived replay: the agent of this host has not served 1 metric yet, such as derived.site.load.per_cpu, " +
				"and may assign other PMIDs\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, conf := range []string{"PCP_CONF=" + nothing, "PCP_DIR=" + nothing} {
				matches, err := filepath.Glob(out + "*")
				require.NoError(t, err)
				for _, path := range matches {
					require.NoError(t, os.Remove(path))
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], row.args...)
				cmd.Env = []string{childMark + "=1", "GORACE=atexit_sleep_ms=0", "PCP_VAR_DIR=" + nothing, conf}
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				require.NoError(t, cmd.Run(), stderr.String())
				assert.Equal(t, row.want, stderr.String(), conf)
			}
		})
	}
}

// The lines of docs/diff.md for a pipeline print what differs between two branches, and fail if they cannot be compared.
func TestDiffInPipeline(t *testing.T) {
	page, err := os.ReadFile("../../docs/diff.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^    old=(?:.*\n)(?:    .*\n)+`).FindString(string(page))
	require.Equal(t, 5, strings.Count(lines, "\n"), lines)
	dir := t.TempDir()
	archive, err := filepath.Abs("../../examples/incident")
	require.NoError(t, err)
	for _, ending := range []string{".0", ".index", ".meta"} {
		require.NoError(t, os.Symlink(archive+ending, filepath.Join(dir, "archive"+ending)))
	}
	pipeline := func(before string) (out string, err error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", before+lines)
		cmd.Dir = dir
		// A hook, or git rebase --exec, would have git work in the repository of the project.
		env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
		cmd.Env = append(env, childMark+"=1", "GORACE=atexit_sleep_ms=0", "TZ=UTC", "PATH="+dir+":"+os.Getenv("PATH"))
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		err = cmd.Run()
		return stdout.String(), err
	}
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "pmdaderived")))
	const repository = `git init -q -b main .
git config user.name Author; git config user.email author@example.com
mkdir definitions; echo 'site.high = max_inst(kernel.all.load) > 4' >definitions/site.conf
git add definitions; git commit -q -m one
echo 'site.high = max_inst(kernel.all.load) > 5' >definitions/site.conf
`
	out, err := pipeline(repository)
	require.NoError(t, err)
	assert.Equal(t, "site.high  1 for 7m50s in 1 time -> 1 for 6m30s in 1 time, first 2026-11-24\n           02:12:30 1 -> 0\n", out)
	out, err = pipeline("git checkout -q .\n")
	require.NoError(t, err)
	assert.Empty(t, out)
	_, err = pipeline("echo nonsense >definitions/site.conf\n")
	require.Error(t, err)
}

// A variable that names a file which does not exist is reported by a command that contacts pmcd.
func TestPCPConfReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nothing")
	var out, errs bytes.Buffer
	args := []string{"eval", "--pmcd=unix:" + path, "hinv.ncpu"}
	exit := run(t.Context(), args, environment("PCP_CONF", path), nil, &out, &errs)
	assert.Equal(t, 1, exit)
	assert.Contains(t, errs.String(), "pmdaderived eval: PCP configuration: open "+path+": no such file or directory\n")
}

// The help of each command ends with an example that the command line takes, and names the page of the language.
func TestHelpExamples(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples")))
	require.NoError(t, os.Link(filepath.Join(dir, "site.conf"), filepath.Join(dir, "new.conf"))) // for diff
	t.Chdir(dir)
	for _, c := range append(command.SubCommands(), command.SubCommand{}) {
		t.Run(c.Name, func(t *testing.T) {
			out, _, _ := execute(t, append(strings.Fields(c.Name), "--help")...)
			match := regexp.MustCompile(`\n\nExample: pmdaderived (.*)\n.*: man 5 pmdaderived\n$`).FindStringSubmatch(out)
			require.NotNil(t, match, out)
			assert.True(t, strings.HasPrefix(match[1], c.Name), match[1])
			_, errs, exit := execute(t, strings.Fields(strings.ReplaceAll(match[1], "'", ""))...)
			assert.NotEqual(t, commandline.ExitUsage, exit, errs)
		})
	}
}
