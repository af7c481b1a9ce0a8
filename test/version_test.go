package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clone is a folder in which commands run, git without the configuration of this machine.
type clone struct {
	t   *testing.T
	dir string
}

// command returns the trimmed output of a command, and its exit status.
func (c clone) command(name string, args ...string) (output string, exit int) {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@invalid")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(c.t, err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

// git returns the output of git, which must succeed.
func (c clone) git(args ...string) string {
	c.t.Helper()
	out, exit := c.command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	require.Zero(c.t, exit, "git %q: %s", args, out)
	return out
}

// write writes a file of the folder.
func (c clone) write(name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755))
}

// commit commits a CHANGELOG.md with headings, the newest first.
func (c clone) commit(headings ...string) {
	c.t.Helper()
	c.write("CHANGELOG.md", "# Changelog\n\n## Headings\n\n## ["+strings.Join(headings, "\n\ntext\n\n## [")+"\n\ntext\n")
	c.git("add", ".")
	c.git("commit", "-q", "--allow-empty", "-m", "x")
}

var dated = regexp.MustCompile(`^## \[([0-9][^]]*)\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// lateFor returns the release that the newest heading of CHANGELOG.md names although HEAD is after the commit of it.
func (c clone) lateFor() string {
	c.t.Helper()
	for line := range strings.Lines(c.git("show", "HEAD:CHANGELOG.md")) {
		if !strings.HasPrefix(line, "## [") {
			continue
		}
		match := dated.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil || c.git("log", "-1", "--format=%H", "-S## ["+match[1]+"] - ", "--", "CHANGELOG.md") == c.git("rev-parse", "HEAD") {
			return ""
		}
		return match[1]
	}
	return ""
}

// The commit after a release opens [Unreleased]: no two commits are the same version. A tree without git has no commits.
func TestCommitAfterReleaseOpensUnreleased(t *testing.T) {
	if isPath("../.git") {
		late := clone{t, ".."}.lateFor()
		assert.Empty(t, late, "CHANGELOG.md has the release without [Unreleased] above it, and HEAD is another commit")
	}
}

// scripts/version tells the version by CHANGELOG.md, and make release makes releases only.
func TestVersion(t *testing.T) {
	t.Parallel()
	const (
		open      = "Unreleased]"
		candidate = "1.2.0-rc1] - 2026-12-01"
		first     = "1.2.0] - 2026-12-02"
		second    = "1.3.0] - 2026-12-03"

		unreleased = "this is no release, but version "
		made       = "no list of modules" // it has begun
		noClone    = "only a clone of the repository can make a release"
	)
	unversioned := func(c clone) { require.NoError(t, os.Rename(filepath.Join(c.dir, ".git"), c.dir+".git")) }
	for _, row := range []struct {
		name    string
		history [][]string // the headings of each commit
		change  func(clone)
		version string // HEAD stands for the commit
		release string // what make release says
		late    string
	}{
		{"no release", [][]string{{open}, {open}, {open}}, nil, "1.0.0~dev.3.gHEAD", unreleased, ""},
		{"a candidate", [][]string{{open}, {candidate}}, nil, "1.2.0~rc1", made, ""},
		{"after a candidate", [][]string{{open}, {candidate}, {open, candidate}}, nil, "1.2.0~rc1+1.gHEAD", unreleased, ""},
		{"a release", [][]string{{candidate}, {open, candidate}, {first, candidate}}, nil, "1.2.0", made, ""},
		{
			"after a release",
			[][]string{{open}, {first}, {open, first}, {open, first}},
			nil, "1.2.0+2.gHEAD", unreleased, "",
		},
		{"the second release", [][]string{{first}, {open, first}, {second, first}}, nil, "1.3.0", made, ""},
		{
			"after two releases",
			[][]string{{first}, {open, first}, {second, first}, {open, second, first}},
			nil, "1.3.0+1.gHEAD", unreleased, "",
		},
		{
			"the date was wrong",
			[][]string{{first}, {open, first}, {open, "1.2.0] - 2026-12-09"}},
			nil, "1.2.0+2.gHEAD", unreleased, "",
		},
		{"not opened after a release", [][]string{{first}, {first}}, nil, "1.2.0", made, "1.2.0"},
		{"a heading without a date", [][]string{{first}, {"1.3.0]", first}}, nil, "1.2.0+1.gHEAD", unreleased, ""},
		{
			"changes",
			[][]string{{first}},
			func(c clone) { c.write("file", "changed") }, "1.2.0.dirty", "the tree has changes; commit them first", "",
		},
		{
			"changes after a release",
			[][]string{{first}, {open, first}},
			func(c clone) { c.write("file", "changed") }, "1.2.0+1.gHEAD.dirty", "the tree has changes; commit them first", "",
		},
		{
			"a tag elsewhere",
			[][]string{{open}, {candidate}},
			func(c clone) { c.git("tag", "v1.2.0-rc1", "HEAD^") },
			"1.2.0~rc1", "the tag v1.2.0-rc1 is on another commit", "",
		},
		{
			"the tag",
			[][]string{{open}, {candidate}},
			func(c clone) { c.git("tag", "-a", "-m", "x", "v1.2.0-rc1") }, "1.2.0~rc1", made, "",
		},
		{
			"another tag",
			[][]string{{first}, {open, first}},
			func(c clone) { c.git("tag", "v1.3.0") }, "1.2.0+1.gHEAD", unreleased, "",
		},
		{
			"a shallow clone",
			[][]string{{first}, {open, first}, {open, first}},
			func(c clone) { c.write(".git/shallow", c.git("rev-parse", "HEAD^")+"\n") }, "1.2.0+0.gHEAD", unreleased, "",
		},
		{"no git, no release", [][]string{{open}}, unversioned, "1.0.0~dev", noClone, ""},
		{"no git, a release", [][]string{{first}}, unversioned, "1.2.0", noClone, ""},
		{"no git, after a release", [][]string{{open, first}}, unversioned, "1.2.0+0", noClone, ""},
		{
			"the source of a release",
			[][]string{{open, first}},
			func(c clone) { unversioned(c); c.write(".version", "1.3.0\n") }, "1.3.0", noClone, "",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			around := clone{t, t.TempDir()} // a repository that is none of ours
			around.git("init", "-q")
			around.git("commit", "-q", "--allow-empty", "-m", "x")
			c := clone{t, filepath.Join(around.dir, "tree")}
			for _, script := range []string{"scripts/version", "packaging/release"} {
				require.NoError(t, os.MkdirAll(filepath.Join(c.dir, filepath.Dir(script)), 0o755))
				c.write(script, readDocument(t, filepath.Join("..", script)))
			}
			c.write("file", "")
			c.git("init", "-q")
			for _, headings := range row.history {
				c.commit(headings...)
			}
			head := c.git("rev-parse", "--short=12", "HEAD")
			assert.Equal(t, row.late, c.lateFor())
			if row.change != nil {
				row.change(c)
			}
			version, _ := c.command("scripts/version")
			assert.Equal(t, strings.Replace(row.version, "HEAD", head, 1), version)
			release := func(version string) string {
				out, exit := c.command("env", "VERSION="+version, "OUT="+filepath.Join(around.dir, "out"), "ARCHS=", "SBOM=false", "packaging/release")
				assert.Equal(t, 1, exit)
				return out
			}
			assert.Contains(t, release(version), "packaging/release: "+row.release)
			if row.release == made {
				assert.Contains(t, release("9.9.9"), "this is version "+version+": 9.9.9 is not a valid VERSION")
			}
		})
	}
}
