package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watchedBelow returns the watched directories below a folder as "directory: the entries that matter".
func watchedBelow(root string, all watchDirs) []string {
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		name, below := strings.CutPrefix(dir, root)
		if !below {
			continue
		}
		p := all[dir]
		entries := slices.Sorted(maps.Keys(p.names))
		if p.whole {
			entries = append(entries, "*")
		}
		lines = append(lines, strings.Join(append([]string{name + ":"}, entries...), " "))
	}
	return lines
}

func TestTrace(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		paths []string
		want  []string
	}{
		{"a file", files{"d/f": ""}, []string{"d/f"}, []string{"/d: f"}},
		{"a directory", files{"d/f": ""}, []string{"d/"}, []string{": d", "/d: *"}},
		{"far above the files", files{"a/b/c/d/f": ""}, []string{"a/b/c/d"}, []string{"/a/b/c: d", "/a/b/c/d: *"}},
		{"levels of directories", files{"d/e/f/g": ""}, []string{"d"}, []string{": d", "/d: *", "/d/e: *", "/d/e/f: *"}},
		{"ignored directories", files{"d/..1/f": "", "d/e~/f": ""}, []string{"d"}, []string{": d", "/d: *"}},
		{"a clone of a repository", files{"d/.git/f/g": "", "d/e/f": ""}, []string{"d"}, []string{": d", "/d: *", "/d/e: *"}},
		{"missing", files{"d/": ""}, []string{"d/e/f"}, []string{"/d: e"}},
		{"below a file", files{"d": ""}, []string{"d/e/f"}, []string{": d"}},
		{"two in one place", files{"d/f": "", "d/g": ""}, []string{"d/f", "d/g"}, []string{"/d: f g"}},
		{"a link to a file", files{"d/f": "->../e/g", "e/g": ""}, []string{"d/f"}, []string{"/d: f", "/e: g"}},
		{"a link to a directory", files{"d": "->e", "e/f": ""}, []string{"d"}, []string{": d e", "/e: *"}},
		{"a link that leads on", files{"l": "->m", "m": "->d/e", "d/e/f": ""}, []string{"l/f"}, []string{": l m", "/d/e: f"}},
		{"what .. means behind a link", files{"l": "->d/e", "d/e/": "", "d/f": ""}, []string{"l/../f"}, []string{": l", "/d: f"}},
		{"a link in a directory", files{"d/l": "->../e/g", "e/g": ""}, []string{"d"}, []string{": d", "/d: l *", "/e: g"}},
		{"a link to nothing", files{"d/l": "->../e/g"}, []string{"d"}, []string{": d e", "/d: l *"}},
		{"Kubernetes", files{"d/f": "->..data/f", "d/..data": "->..1", "d/..1/f": ""}, []string{"d"}, []string{
			": d", "/d: ..data f *", "/d/..1: f",
		}},
		{"one file of Kubernetes", files{"d/f": "->..data/f", "d/..data": "->..1", "d/..1/f": ""}, []string{"d/f"}, []string{
			"/d: ..data f", "/d/..1: f",
		}},
		{"a link to the null device, where each write is an event", files{"d/l": "->/dev/null"}, []string{"d"}, []string{
			": d", "/d: *",
		}},
		{"a link to itself", files{"d": "->d"}, []string{"d"}, []string{": d"}},
		{"a link upwards", files{"d/e/l": "->.."}, []string{"d"}, []string{": d", "/d: *", "/d/e: l *"}},
		{"an empty path", nil, []string{""}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newTree(t, row.files)
			root, err := filepath.EvalSymlinks(d.dir)
			require.NoError(t, err)
			var paths []string
			for _, path := range row.paths {
				if path != "" {
					path = root + "/" + path // Join would work out ..
				}
				paths = append(paths, path)
			}
			assert.Equal(t, row.want, watchedBelow(root, findWatchDirs(paths)))
		})
	}
}

func TestTraceOfARelativePath(t *testing.T) {
	inTree(t, files{"d/f": ""})
	dir, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, findWatchDirs([]string{dir + "/d/f"}), findWatchDirs([]string{"d/f"}))
}

func TestPlacesMatter(t *testing.T) {
	all := watchDirs{"/etc": {names: map[string]bool{"defs": true}}, "/etc/defs": {whole: true}}
	for path, want := range map[string]bool{
		"/etc":            true, // it may be another one now
		"/etc/defs":       true,
		"/etc/passwd":     false,
		"/etc/defs/f":     true,
		"/etc/defs/..f":   true, // a link may lead through it
		"/etc/defs/x/y":   false,
		"/etc/other/defs": false,
	} {
		assert.Equal(t, want, all.matters(path), path)
	}
}

// The directories below one that everyone can write to are not watched: other users could exhaust the agent's
// watches.
func TestFindWatchDirsSkipsRefusedDirs(t *testing.T) {
	d := newTree(t, map[string]string{"d/e/f": ""})
	d.chmod("d", 0o777)
	root, err := filepath.EvalSymlinks(d.dir)
	require.NoError(t, err)
	assert.Equal(t, []string{": d", "/d:"}, watchedBelow(root, findWatchDirs([]string{root + "/d"})))
}

func TestTraceLimits(t *testing.T) {
	deep := strings.Repeat("d/", MaxDepth+3)
	d := newTree(t, map[string]string{deep + "f": ""})
	all := findWatchDirs([]string{d.path("d")})
	whole := 0
	for _, p := range all {
		if p.whole {
			whole++
		}
	}
	assert.Equal(t, MaxDepth, whole)
}
