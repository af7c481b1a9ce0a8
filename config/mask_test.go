package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/growth"
)

func TestMasks(t *testing.T) {
	const nothing = "empty, and masks nothing: no directory before this one has a file of this name"
	for _, row := range []struct {
		name   string
		files  map[string]string
		paths  []string // "": shipped, own
		want   []string // as located returns it
		masked map[string]string
	}{
		{
			"an empty file",
			map[string]string{"shipped/a": "a = 1", "shipped/b": "b = 1", "own/a": ""},
			nil,
			[]string{"shipped/b b=1"},
			map[string]string{"a": "own/a"},
		},
		{
			"a link to the null device",
			map[string]string{"shipped/a": "a = 1", "shipped/b": "b = 1", "own/a": "->/dev/null"},
			nil,
			[]string{"shipped/b b=1"},
			map[string]string{"a": "own/a"},
		},
		{
			"with all that the file says",
			map[string]string{"shipped/a": "a = 1\nb c\nd(oneline) = x\n#control e=f\na = 2", "own/a": ""},
			nil, nil,
			map[string]string{"a": "own/a"},
		},
		{
			"files in a folder",
			map[string]string{"shipped/a/b": "a = 1", "shipped/b": "b = 1", "own/a/b": ""},
			nil,
			[]string{"shipped/b b=1"},
			map[string]string{"a": "own/a/b"},
		},
		{
			"an earlier definition is no longer replaced",
			map[string]string{"1/a": "a = 1", "2/b": "a = 2", "3/b": ""},
			[]string{"1", "2", "3"},
			[]string{"1/a a=1", "2/b:1:1 note: replaces the definition at 1/a:1:1"}[:1],
			map[string]string{},
		},
		{
			"a definition",
			map[string]string{"shipped/a": "a = 1\nb = 1\nb(oneline) = x", "own/x": "# pmdaderived:mask b"},
			nil,
			[]string{"shipped/a a=1"},
			map[string]string{"b": "own/x:1:20"},
		},
		{
			"a subtree, as clients name it, and another one",
			map[string]string{
				"shipped/a": "a.b = 1\na.b.c = 1\na.bc = 1\nd.e = 1\ne = 1",
				"own/x":     "\n#\tpmdaderived:mask derived.a.b.*,d.e e.*",
			},
			nil,
			[]string{"shipped/a a.bc=1"},
			map[string]string{"a.b": "own/x:2:20", "a.b.c": "own/x:2:20", "d.e": "own/x:2:34", "e": "own/x:2:38"},
		},
		{
			"with its mistakes",
			map[string]string{"shipped/a": "b(oneline) = x\nb = 1\nb = 2\nc = 1", "own/x": "# pmdaderived:mask b"},
			nil,
			[]string{"shipped/a c=1"},
			map[string]string{"b": "own/x:1:20"},
		},
		{
			"a definition of one's own instead",
			map[string]string{"shipped/a": "a = 1", "own/x": "# pmdaderived:mask a\na = 2"},
			nil,
			[]string{"own/x a=2", "own/x:2:1 note: replaces the definition at shipped/a:1:1"},
			map[string]string{},
		},
		{
			"not what is in the same directory",
			map[string]string{"shipped/z": "z = 1", "own/a": "a = 1", "own/b": "# pmdaderived:mask a\nb = 1", "own/c": "# pmdaderived:mask b"},
			nil,
			[]string{
				"shipped/z z=1", "own/a a=1", "own/b b=1",
				"own/b:1:20 warning: masks nothing: no directory before this one has a definition a or below it",
				"own/c:1:20 warning: masks nothing: no directory before this one has a definition b or below it",
			},
			map[string]string{},
		},
		{
			"not a file that the list names",
			map[string]string{"a": "a = 1", "own/a": "->/dev/null", "own/b": "# pmdaderived:mask a"},
			[]string{"a", "own"},
			[]string{
				"a a=1", "own/a warning: " + nothing,
				"own/b:1:20 warning: masks nothing: no directory before this one has a definition a or below it",
			},
			map[string]string{},
		},
		{
			"nothing",
			map[string]string{"shipped/a": "a = 1", "own/b": "->/dev/null", "own/c": "", "own/d": "# pmdaderived:mask\n# pmdaderived:mask /a"},
			nil,
			[]string{
				"shipped/a a=1",
				"own/d:1:19 warning: no name follows pmdaderived:mask",
				`own/d:2:20 error: "/a" is not a valid name: this line masks nothing; write remarks on a line of their own`,
				"own/b warning: " + nothing, "own/c note: " + nothing,
			},
			map[string]string{},
		},
		{
			"a remark behind the names: nothing is masked by accident",
			map[string]string{"shipped/a": "a.b = 1\nhost.a = 1", "own/x": "# pmdaderived:mask a.b  # not on this host\n# pmdaderived:mask a.b (host)\n# pmdaderived:mask a.b no cpu on this host"},
			nil,
			[]string{
				"shipped/a a.b=1", "shipped/a host.a=1",
				`own/x:1:25 error: "#" is not a valid name: this line masks nothing; write remarks on a line of their own`,
				`own/x:2:24 error: "(host)" is not a valid name: this line masks nothing; write remarks on a line of their own`,
				`own/x:3:24 error: "no" is not a valid name behind another one, because it has no dot: this line masks nothing; ` +
					`write remarks on a line of their own`,
			},
			nil,
		},
		{
			"the first directory has nothing to mask",
			map[string]string{"shipped/a": "", "shipped/b": "->/dev/null", "own/b": "b = 1"},
			nil,
			[]string{"own/b b=1"},
			nil,
		},
		{
			"another comment",
			map[string]string{"shipped/a": "a = 1", "own/b": "# pmdaderived:masks a\n# mask a"},
			nil,
			[]string{"shipped/a a=1"},
			nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, row.files)
			if row.paths == nil {
				row.paths = []string{"shipped", "own/"}
			}
			loaded := Load(row.paths, nil)
			assert.Equal(t, row.want, located(loaded))
			var masked map[string]string
			if loaded.Masked != nil {
				masked = map[string]string{}
			}
			for name, at := range loaded.Masked {
				masked[name] = at.String()
			}
			assert.Equal(t, row.masked, masked)
			assert.Equal(t, loaded.state().digest, scanFiles(row.paths, readFiles).digest, "a watcher would report changes for ever")
		})
	}
}

// Masks and control lines of a file are as many as its problems may be, and cost as much as their text, also in a line
// that has all of them.
func TestMasksAreBounded(t *testing.T) {
	names := func(n int) string { return strings.Repeat(" x.y", n) }
	inTree(t, map[string]string{
		"shipped/a": "a = 1\nb = 1", "own/a": "# pmdaderived:mask a" + names(MaxMarks) + " b.c",
		"own/b": strings.Repeat("#control a = b\n", MaxMarks+10),
	})
	loaded := Load([]string{"shipped", "own"}, nil)
	assert.Equal(t, []string{
		"shipped/a b=1",
		"own/a:1:40018 error: more than 10000 masks and control lines in this file; the rest has no effect",
		"own/b:10001:10 error: more than 10000 masks and control lines in this file; the rest has no effect",
		"own/a:1:22 warning: masks nothing: no directory before this one has a definition x.y or below it",
	}, located(loaded))
	assert.Len(t, loaded.Controls, MaxMarks)

	growth.Check(t, 3000, func(n int) func() {
		var text strings.Builder
		text.WriteString("# pmdaderived:mask")
		for i := range n {
			fmt.Fprintf(&text, "\\\n m.m%d", i)
		}
		return func() { readText("f", []byte(text.String()), nil) }
	})
	size := 100 * (MaxMarks + 10)
	assert.Less(t, growth.Bytes(func() {
		readText("f", []byte("# pmdaderived:mask "+strings.Repeat(" abcd.fghi", size/10)), nil)
	}), uint64(30*size), "a small multiple of the text")
}

// An entry of another user in a directory that everyone can write to masks nothing, whatever it leads to.
func TestOthersCannotMask(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make files of another user")
	}
	d := newTree(t, map[string]string{"shipped/a": "a = 1\nb = 1\n", "own/a": "->/dev/null", "own/b": "# pmdaderived:mask b"})
	d.chmod("own", 0o777|os.ModeSticky)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Lchown(d.dir+"/own/"+name, 1, 1))
	}
	loaded := Load([]string{d.dir + "/shipped", d.dir + "/own"}, nil)
	assert.Len(t, loaded.Definitions, 2)
	assert.Nil(t, loaded.Masked)
	require.NoError(t, os.Lchown(d.dir+"/own/a", 0, 0))
	loaded = Load([]string{d.dir + "/shipped", d.dir + "/own"}, nil)
	assert.Empty(t, loaded.Definitions, loaded.Problems)
}

// Masks of a file or directory that cannot be read now are those of the load before, for the same directories. They are
// gone if the file is.
func TestMasksOfUnreadFiles(t *testing.T) {
	d := newTree(t, map[string]string{
		"1/a": "a = 1", "1/b": "b = 1\nc = 1", "2/a": "", "2/sub/m": "# pmdaderived:mask b", "3/a": "b.x = 3",
	})
	t.Chdir(d.dir)
	last := Load([]string{"1", "2/", "3"}, nil)
	load := func() []string {
		last = LoadOptions{MasksBefore: last.Masks}.Load([]string{"1", "2/", "3"})
		return located(last)
	}
	masked := []string{"1/b c=1", "3/a b.x=3"}
	require.Equal(t, masked, load())
	masks := last.Masks
	for _, path := range []string{"2", "2/sub", "2/sub/m", "2/a"} {
		d.chmod(path, 0o777)
		for range 2 {
			assert.Subset(t, load(), masked, path)
			assert.Len(t, last.Definitions, 2, path)
			assert.Equal(t, masks, last.Masks, path)
		}
		d.chmod(path, 0o755)
		require.Equal(t, masked, load())
	}
	d.remove("2/sub")
	assert.Equal(t, []string{"1/b b=1", "1/b c=1", "3/a b.x=3"}, load())
	d.remove("2/a")
	assert.Equal(t, []string{"1/a a=1", "1/b b=1", "1/b c=1", "3/a b.x=3"}, load())
}

// All masks are told, also those that mask nothing.
func TestMasksAreTold(t *testing.T) {
	inTree(t, map[string]string{"shipped/a": "a = 1", "own/a": "", "own/b": "# pmdaderived:mask derived.c.d x.*"})
	assert.Equal(t, map[string]Position{
		"/a": {File: "own/a"}, "c.d": {File: "own/b", Line: 1, Column: 20}, "x": {File: "own/b", Line: 1, Column: 32},
	}, Load([]string{"shipped", "own"}, nil).Masks)
	assert.Contains(t, Load([]string{"own"}, nil).Masks, "c.d", "there is nothing before it")
}
