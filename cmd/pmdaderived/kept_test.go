package main

import (
	"os"
	"path/filepath"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/served"
)

// A file that defines a name again, or masks one, and then has a mistake or cannot be read, leaves both as they were:
// the definition before it does not come back. It comes back if the file no longer has the line.
func TestMistakesInALaterFile(t *testing.T) {
	const good = "q = 7\n# pmdaderived:mask m\n"
	write := func(text string) func(t *testing.T, z string) {
		return func(t *testing.T, z string) { require.NoError(t, os.WriteFile(z, []byte(text), 0o644)) }
	}
	loop := func(t *testing.T, path string) { // nobody can read it
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.Symlink(path, path))
	}
	for _, row := range []struct {
		name   string
		change func(t *testing.T, z string)
		text   string // of q
		state  served.State
		why    string
		m      bool // it is served
	}{
		{"a syntax error", write("q = 7 +\n# pmdaderived:mask m\n"), "7", served.Kept, "z.conf:1:7: syntax error", false},
		{"a semantic error", write("q = 7 + x\n# pmdaderived:mask m\n"), "7", served.Kept, "Unknown operand metric", false},
		{"no expression", write("q =\n# pmdaderived:mask m\n"), "7", served.Kept, "expression missing", false},
		{"a text without end", write("n = 1\nn(oneline) = 'x\n" + good), "7", served.Kept, "could not be read", false},
		{"unreadable", loop, "7", served.Kept, "z.conf could not be read", false},
		{"everyone can write to it", func(t *testing.T, z string) {
			require.NoError(t, os.Chmod(z, 0o646))
		}, "7", served.Kept, "could not be read", false},
		{"too large", func(t *testing.T, z string) {
			require.NoError(t, os.Truncate(z, config.MaxFileSize+1))
		}, "7", served.Kept, "could not be read", false},
		{"everyone can write to the directory", func(t *testing.T, z string) {
			require.NoError(t, os.Chmod(filepath.Dir(z), 0o777))
		}, "7", served.Kept, "could not be read", false},
		{"the directory is unreadable", func(t *testing.T, z string) {
			loop(t, filepath.Dir(z))
		}, "7", served.Kept, "could not be read", false},
		{"a file between them is unreadable, too", func(t *testing.T, z string) {
			loop(t, z)
			loop(t, filepath.Join(filepath.Dir(z), "y.conf"))
		}, "7", served.Kept, "z.conf could not be read", false},
		{"a mistake in both later files", func(t *testing.T, z string) {
			write("q = 7 +\n# pmdaderived:mask m\n")(t, z)
			write("q = +\n")(t, filepath.Join(filepath.Dir(z), "y.conf"))
		}, "7", served.Kept, "z.conf:1:7", false},
		{"a mistake in an earlier file", func(t *testing.T, z string) {
			write("q = +\n")(t, filepath.Join(filepath.Dir(z), "y.conf"))
		}, "7", served.Bound, "", false},
		{"the lines are deleted", write("n = 1\n"), "5", served.Bound, "", true},
		{"only a text for it is left, which is wrong", write("q(labels) = x\n"), "5", served.Bound, "", true},
		{"removed", func(t *testing.T, z string) { require.NoError(t, os.Remove(z)) }, "5", served.Bound, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newLaterFiles(t)
			s.put("own/z.conf", good)
			s.serve()
			s.require("7", served.Bound, "", false)
			row.change(t, filepath.Join(s.dir, "own/z.conf"))
			for range 3 {
				s.serve()
				s.require(row.text, row.state, row.why, row.m)
			}
			s.put("shipped/a.conf", "q = 2\nm = 2\n") // as an upgrade does
			s.serve()
			s.require(row.text, row.state, row.why, row.m)
		})
	}
}

// If the agent starts with a mistake in a later file, nothing is kept: the definition before it is served and changes with
// its file, but its state tells of the mistake.
func TestStartWithAMistakeInALaterFile(t *testing.T) {
	s := newLaterFiles(t)
	s.put("own/z.conf", "q = 7 +\n")
	for range 3 {
		s.serve()
		s.require("5", served.Kept, "z.conf:1:7: syntax error", true)
	}
	s.put("own/y.conf", "q = 6\n")
	s.serve()
	s.require("6", served.Kept, "z.conf:1:7: syntax error", true)
	s.put("own/z.conf", "q = 8\n")
	s.serve()
	s.require("8", served.Bound, "", true)
}

// A file that is read counts as it is, also where its directory, named a second time, cannot be read. An empty path keeps
// nothing.
func TestFileOfAnUnreadDirectory(t *testing.T) {
	for _, paths := range []string{"shipped:own/z.conf:own", "shipped::own/z.conf:own"} {
		t.Run(paths, func(t *testing.T) {
			s := newLaterFiles(t)
			t.Chdir(s.dir)
			s.read(paths)
			s.put("own/z.conf", "q = 7\n# pmdaderived:mask m\n")
			s.serve()
			s.require("7", served.Bound, "", false)
			require.NoError(t, os.Remove("own/y.conf"))
			require.NoError(t, os.Chmod("own", 0o777))
			s.put("own/z.conf", "q = 8\n")
			s.serve()
			s.require("8", served.Bound, "", true)
		})
	}
}

// laterFiles are files of which later ones replace and mask definitions.
type laterFiles struct {
	t      *testing.T
	dir    string
	source *definitionSource
	ids    *identity.Registry
	now    *served.Snapshot
}

func newLaterFiles(t *testing.T) *laterFiles {
	s := &laterFiles{t: t, dir: folder(t, "")}
	s.put("shipped/a.conf", "q = 1\nm = 1\n")
	s.put("own/y.conf", "q = 5\n")
	s.read(s.dir + "/shipped:" + s.dir + "/own")
	return s
}

// read reads other paths from now on.
func (s *laterFiles) read(paths string) {
	o, err := parseOptions([]string{"-c", paths}, testConf, environment())
	require.NoError(s.t, err)
	o.conf.InDomConfig = filepath.Join(s.dir, "indom.conf")
	log, _ := logtest.NewNullLogger()
	s.source = newDefinitionSource(o, log)
	s.ids, err = identity.Load("", 510)
	require.NoError(s.t, err)
}

func (s *laterFiles) put(name, text string) {
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
}

func (s *laterFiles) serve() {
	s.now = served.Build(served.Input{
		Config: s.source.load(), Catalog: &derived.CatalogMap{}, Before: s.now, IDs: s.ids,
	})
}

// require checks how q is served, and whether m is.
func (s *laterFiles) require(text string, state served.State, why string, m bool) {
	s.t.Helper()
	byName := map[string]*served.Served{}
	for _, d := range s.now.Served {
		byName[d.Def.Name] = d
	}
	q := byName["q"]
	require.NotNil(s.t, q)
	require.Equal(s.t, text, q.Def.Text)
	require.Equal(s.t, state, q.State)
	require.NotNil(s.t, q.Derived)
	require.Equal(s.t, why == "", q.Problem == "", q.Problem)
	require.Contains(s.t, q.Problem, why)
	require.Equal(s.t, m, byName["m"] != nil)
}
