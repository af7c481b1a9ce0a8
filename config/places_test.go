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

// placesBelow writes the places below a folder as "directory: what matters in it", END at the end of a
// component of the path list.
func placesBelow(root string, all placeSet) []string {
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
		if p.end {
			entries = append(entries, "END")
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
		{"a file", map[string]string{"d/f": ""}, []string{"d/f"}, []string{": d", "/d: f END"}},
		{"a directory", map[string]string{"d/f": ""}, []string{"d/"}, []string{": d", "/d: * END"}},
		{"levels of directories", map[string]string{"d/e/f/g": ""}, []string{"d"}, []string{
			": d", "/d: * END", "/d/e: * END", "/d/e/f: * END",
		}},
		{"ignored directories", map[string]string{"d/..1/f": "", "d/e~/f": ""}, []string{"d"}, []string{": d", "/d: * END"}},
		{"missing", map[string]string{"d/": ""}, []string{"d/e/f"}, []string{": d", "/d: e END"}},
		{"below a file", map[string]string{"d": ""}, []string{"d/e/f"}, []string{": d END"}},
		{"two in one place", map[string]string{"d/f": "", "d/g": ""}, []string{"d/f", "d/g"}, []string{": d", "/d: f g END"}},
		{"a link to a file", map[string]string{"d/f": "->../e/g", "e/g": ""}, []string{"d/f"}, []string{
			": d e", "/d: f", "/e: g END",
		}},
		{"a link to a directory", map[string]string{"d": "->e", "e/f": ""}, []string{"d"}, []string{": d e", "/e: * END"}},
		{"a link that leads on", map[string]string{"l": "->m", "m": "->d/e", "d/e/f": ""}, []string{"l/f"}, []string{
			": d l m", "/d: e", "/d/e: f END",
		}},
		{"what .. means behind a link", map[string]string{"l": "->d/e", "d/e/": "", "d/f": ""}, []string{"l/../f"}, []string{
			": d l", "/d: e f END",
		}},
		{"a link in a directory", map[string]string{"d/l": "->../e/g", "e/g": ""}, []string{"d"}, []string{
			": d e", "/d: l * END", "/e: g END",
		}},
		{"a link to nothing", map[string]string{"d/l": "->../e/g"}, []string{"d"}, []string{": d e END", "/d: l * END"}},
		{"Kubernetes", map[string]string{"d/f": "->..data/f", "d/..data": "->..1", "d/..1/f": ""}, []string{"d"}, []string{
			": d", "/d: ..1 ..data f * END", "/d/..1: f END",
		}},
		{"a link to itself", map[string]string{"d": "->d"}, []string{"d"}, []string{": d END"}},
		{"a link upwards", map[string]string{"d/e/l": "->.."}, []string{"d"}, []string{": d", "/d: * END", "/d/e: l * END"}},
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
			assert.Equal(t, row.want, placesBelow(root, trace(paths)))
		})
	}
}

func TestTraceFromTheRootOn(t *testing.T) {
	inTree(t, map[string]string{"d/f": ""})
	dir, err := os.Getwd()
	require.NoError(t, err)
	all := trace([]string{"d/f"})
	assert.Equal(t, trace([]string{dir + "/d/f"}), all, "a relative path")
	above := dir + "/d"
	for above != "/" {
		name := filepath.Base(above)
		above = filepath.Dir(above)
		require.Contains(t, all, above)
		assert.True(t, all[above].names[name], above)
	}
}

// A directory that everybody can write is not looked into: others must not make us use up our watches.
func TestTraceStaysOutsideOfWhatLoadRefuses(t *testing.T) {
	d := newTree(t, map[string]string{"d/e/f": ""})
	d.chmod("d", 0o777)
	root, err := filepath.EvalSymlinks(d.dir)
	require.NoError(t, err)
	assert.Equal(t, []string{": d", "/d: END"}, placesBelow(root, trace([]string{root + "/d"})))
}

func TestTraceLimits(t *testing.T) {
	deep := strings.Repeat("d/", MaxDepth+3)
	d := newTree(t, map[string]string{deep + "f": ""})
	all := trace([]string{d.path("d")})
	whole := 0
	for _, p := range all {
		if p.whole {
			whole++
		}
	}
	assert.Equal(t, MaxDepth, whole)
}
