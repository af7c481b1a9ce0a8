package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inTree makes the files as newTree does, and goes there.
func inTree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(newTree(t, files).dir)
}

// newTree makes files in a new folder that only the owner can write to. A name that ends in / is a folder, and
// content that begins with -> a symbolic link.
func newTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	d := tree{t: t, dir: t.TempDir()}
	require.NoError(t, os.Chmod(filepath.Dir(d.dir), 0o755)) // else nobody else could read a file
	for name, content := range files {
		name = d.dir + "/" + name
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			require.NoError(t, os.Symlink(target, name))
		} else if !strings.HasSuffix(name, "/") {
			require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		}
	}
	lockDown(t, d.dir)
	return d
}

// located returns definitions as "file:name=expr" and problems as "position severity: message".
func located(l Loaded) []string {
	var s []string
	for _, d := range l.Definitions {
		s = append(s, d.Pos.File+" "+d.Name+"="+d.Expr)
	}
	for _, p := range l.Problems {
		s = append(s, fmt.Sprintf("%s %s: %s", p.Pos, p.Severity, p.Msg))
	}
	return s
}

// A load reports what it does not read because of a limit. Later files can still replace definitions.
func TestLoadSoManyDefinitions(t *testing.T) {
	var many strings.Builder
	for i := range MaxDefinitions + 2 {
		fmt.Fprintf(&many, "a%d = 1\n", i)
	}
	inTree(t, map[string]string{"a": many.String(), "b": "a1 = 2\n"})
	loaded := Load([]string{"a", "b"}, nil)
	require.Len(t, loaded.Definitions, MaxDefinitions)
	loaded.Definitions = slices.DeleteFunc(loaded.Definitions, func(d *Definition) bool { return d.Pos.File == "a" })
	assert.Equal(t, []string{
		"b a1=2",
		"a:100001:1 error: more than 100000 definitions; the rest of the file is not read",
		"b:1:1 note: replaces the definition at a:2:1",
	}, located(loaded))
	assert.Zero(t, loaded.Unread.Find("a"))
	assert.Equal(t, -1, loaded.Unread.Find("b"))
}

func TestLoad(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		paths []string
		want  []string
	}{
		{"nothing", nil, nil, nil},
		{
			"files in the order of the list",
			map[string]string{"z": "b = 1\n", "y": "a = 1\n"},
			[]string{"z", "y"},
			[]string{"z b=1", "y a=1"},
		},
		{
			"directories in the order of names, at any depth, hidden files too",
			map[string]string{"d/c": "c = 1", "d/.a": "a = 1", "d/b/z": "z = 1", "d/b/y/x": "x = 1", "d/d.conf": "d = 1"},
			[]string{"d"},
			[]string{"d/.a a=1", "d/b/y/x x=1", "d/b/z z=1", "d/c c=1", "d/d.conf d=1"},
		},
		{
			"slash behind a directory",
			map[string]string{"d/a": "a = 1"},
			[]string{"d/"},
			[]string{"d/a a=1"},
		},
		{
			"missing paths do not hurt the others",
			map[string]string{"a": "a = 1"},
			[]string{"x", "a", "", "a/b"},
			[]string{
				"a a=1",
				"x error: no such file or directory", " error: empty path", "a/b error: not a directory",
			},
		},
		{
			"later file wins",
			map[string]string{"d/1": "a = 1\nb = 1", "d/2": "a = 2\na(oneline) = x", "d/3": "a = 3"},
			[]string{"d"},
			[]string{
				"d/1 b=1", "d/3 a=3",
				"d/2:1:1 note: replaces the definition at d/1:1:1",
				"d/3:1:1 note: replaces the definition at d/2:1:1",
			},
		},
		{
			"the same expression again is a definition again",
			map[string]string{"x": "a = 1", "y": "a = 1"},
			[]string{"x", "y"},
			[]string{"y a=1", "y:1:1 note: replaces the definition at x:1:1"},
		},
		{
			"a file listed twice is no news",
			map[string]string{"x": "a = 1\na(oneline) = x"},
			[]string{"x", "x"},
			[]string{"x a=1"},
		},
		{
			"a file listed again after it was replaced",
			map[string]string{"x": "a = 1", "y": "a = 2"},
			[]string{"x", "y", "x"},
			[]string{
				"x a=1",
				"y:1:1 note: replaces the definition at x:1:1", "x:1:1 note: replaces the definition at y:1:1",
			},
		},
		{
			"duplicates inside a file that replaces",
			map[string]string{"x": "a = 1", "y": "a = 2\na = 3"},
			[]string{"x", "y"},
			[]string{
				"y a=2",
				"y:1:1 note: replaces the definition at x:1:1",
				"y:2:1 error: Duplicate global derived metric name (first defined in line 1)",
			},
		},
		{
			"left-overs are ignored",
			map[string]string{
				"d/a": "a = 1", "d/a~": "bad", "d/.a.swp": "bad", "d/.a.swo": "bad", "d/#a#": "bad",
				"d/.#a": "->nobody@host.1234", "d/..data/a": "bad", "d/.nfs0001": "bad",
				"d/.ansible_tmpwu_y34uga": "bad",
				"d/.a.bak":                "bad", "d/a.conf.bak": "bad", "d/a.orig": "bad", "d/a.old": "bad",
				"d/a.rej": "bad", "d/a.save": "bad", "d/a.swp": "bad", "d/a.tmp": "bad", "d/old.d.bak/a": "bad",
				"d/a.dpkg-old": "bad", "d/a.ucf-dist": "bad", "d/a.rpmnew": "bad", "d/a.rpmorig": "bad", "d/a.rpmsave": "bad",
			},
			[]string{"d"},
			[]string{"d/a a=1"},
		},
		{
			"tests of definitions are none",
			map[string]string{"d/a.conf": "a = 1", "d/a.test": "test a", "d/e/b.test": "test b"},
			[]string{"d"},
			[]string{"d/a.conf a=1"},
		},
		{
			"a clone of a repository",
			files{
				"d/a.conf": "a = 1", "d/sub/b": "b = 1", "d/.git/hooks/c": "c = 1", "d/.git/config": "bare = false",
				"d/.github/workflows/d.yml": "bad", "d/.gitignore": "bad", "d/.gitlab-ci.yml": "bad",
				"d/.editorconfig": "root = true",
				"d/README.md":     "bad", "d/LICENSE": "bad", "d/Makefile": "D = 1", "d/CHANGES.md": "bad", "d/sub/README": "bad",
				"d/sub/.gitkeep": "", "d/.x": "->.github", "d/CODEOWNERS": "bad", "d/.hidden": "h = 1",
			},
			[]string{"d"},
			[]string{
				"d/.hidden h=1", "d/a.conf a=1", "d/sub/b b=1",
				"d/sub note: not read because of their names: .gitkeep, README",
				"d note: not read because of their names: .editorconfig, .git, .github, .gitignore, .gitlab-ci.yml, .x, " +
					"CHANGES.md, CODEOWNERS, LICENSE, Makefile, …",
			},
		},
		{
			"its files and directories named in the list",
			files{"README.md": "a = 1", ".d/b": "b = 1"},
			[]string{"README.md", ".d"},
			[]string{"README.md a=1", ".d/b b=1"},
		},
		{
			"left-overs and tests named in the list are not",
			map[string]string{"a~": "a = 1", "a.test": "b = 1", ".c.bak": "c = 1"},
			[]string{"a~", "a.test", ".c.bak"},
			[]string{"a~ a=1", "a.test b=1", ".c.bak c=1"},
		},
		{
			"symbolic links are followed",
			map[string]string{"real/f": "a = 1", "d/link": "->../real/f", "e": "->real"},
			[]string{"d", "e"},
			[]string{"e/f a=1", "e/f:1:1 note: replaces the definition at d/link:1:1"},
		},
		{
			"as Kubernetes mounts them",
			map[string]string{"d/..1/f": "a = 1", "d/..data": "->..1", "d/f": "->..data/f"},
			[]string{"d"},
			[]string{"d/f a=1"},
		},
		{
			"a link to nothing",
			map[string]string{"d/a": "a = 1", "d/b": "->nothing"},
			[]string{"d"},
			[]string{"d/a a=1", "d/b error: no such file or directory"},
		},
		{
			"a link to itself",
			map[string]string{"a": "->a"},
			[]string{"a"},
			[]string{"a error: too many levels of symbolic links"},
		},
		{
			"a link upwards",
			map[string]string{"d/a": "a = 1", "d/e/b": "b = 1", "d/e/up": "->../..", "d/e/here": "->."},
			[]string{"d"},
			[]string{
				"d/a a=1", "d/e/b b=1",
				"d/e/here warning: symbolic link to a directory that contains it",
				// The folder above d is not part of the load until the link leads there.
				"d/e/up/d warning: symbolic link to a directory that contains it",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, row.files)
			loaded := Load(row.paths, nil)
			assert.Equal(t, row.want, located(loaded))
			assert.Equal(t, loaded.state().digest, scanFiles(row.paths, readFiles).digest, "else the watcher would never be content")
		})
	}
}

func TestLoadLeavesOutByName(t *testing.T) {
	inTree(t, map[string]string{
		"d/a": "a = 1", "d/a.save": "bad", "d/e/b.test": "bad", "d/f.bak/c": "bad", "d/g~": "->a", "h.old": "h = 1",
	})
	assert.Equal(t, []string{"d/a a=1", "h.old h=1"}, located(Load([]string{"d", "h.old"}, nil)))
}

func TestLoadJudgesWhoCanWrite(t *testing.T) {
	for _, row := range []struct {
		name string
		mode map[string]fs.FileMode
		want []string
	}{
		{"owner only", map[string]fs.FileMode{"d": 0o700, "d/f": 0o600}, []string{"d/f a=1"}},
		{"file by its group", map[string]fs.FileMode{"d/f": 0o664}, []string{
			"d/f a=1", "d/f warning: its group can write to it (mode 0664)",
		}},
		{"file by everybody", map[string]fs.FileMode{"d/f": 0o602}, []string{"d/f error: everyone can write to it (mode 0602)"}},
		{"directory by its group", map[string]fs.FileMode{"d": 0o775}, []string{
			"d/f a=1", "d warning: its group can write to it (mode 0775)",
		}},
		{"directory by everybody", map[string]fs.FileMode{"d": 0o777}, []string{
			"d error: everyone can write to it (mode 0777)",
		}},
		{"directory to which everybody can add", map[string]fs.FileMode{"d": 0o777 | fs.ModeSticky}, []string{"d/f a=1"}},
		{"in it a file by its group", map[string]fs.FileMode{"d": 0o777 | fs.ModeSticky, "d/f": 0o664}, []string{
			"d/f error: its group can write to it (mode 0664)",
		}},
		{"in it a file by everybody", map[string]fs.FileMode{"d": 0o777 | fs.ModeSticky, "d/f": 0o666}, []string{
			"d/f error: everyone can write to it (mode 0666)",
		}},
		{"directory to which its group can add", map[string]fs.FileMode{"d": 0o770 | fs.ModeSticky | fs.ModeSetgid}, []string{
			"d/f a=1", "d warning: its group can write to it (mode 3770)",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, map[string]string{"d/f": "a = 1"})
			for path, mode := range row.mode {
				require.NoError(t, os.Chmod(path, mode))
			}
			loaded := LoadOptions{AgentUser: os.Geteuid()}.Load([]string{"d"})
			assert.Equal(t, row.want, located(loaded))
			assert.Equal(t, loaded.state().digest, scanFiles([]string{"d"}, readFiles).digest)
		})
	}
}

// A file that is left out defines and masks nothing, and is no source.
func TestLoadSkips(t *testing.T) {
	inTree(t, map[string]string{"d/a": "a = 1", "d/b": "a = 2\n# pmdaderived:mask c\n"})
	loaded := LoadOptions{Skip: func(path string) bool { return path == "d/b" }}.Load([]string{"d"})
	assert.Equal(t, []string{"d/a a=1"}, located(loaded))
	assert.Len(t, loaded.Sources, 1)
	assert.Empty(t, loaded.Masks)
}

// Everyone can add entries to a directory with mode 1777. Those of other users cost the entries of root nothing, and
// cannot change what these lead to.
func TestLoadInASharedDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make files of other users")
	}
	const nobody = 65534
	inTree(t, files{
		"d/a": "a = 1", "d/agents": "b = 1", "d/link": "->../away/a", "d/stranger": "c = 1", "d/strange link": "->a",
		"d/sub/a": "d = 1", "d/strange sub/a": "e = 1", "d/to stranger": "->../away/stranger", "d/through": "->..data/a",
		"d/..data": "->../away/strange", "d/to sub": "->../away/strange", "away/a": "f = 1", "away/stranger": "g = 1",
		"away/strange/a": "h = 1",
	})
	for name, owner := range map[string]int{
		"d/agents": 7, "d/stranger": nobody, "d/strange link": nobody, "d/strange sub": nobody, "d/..data": nobody,
		"away/stranger": nobody, "away/strange": nobody, "away/strange/a": nobody,
	} {
		require.NoError(t, os.Lchown(name, owner, owner))
	}
	require.NoError(t, os.Chmod("d", 0o777|fs.ModeSticky))
	const reason = " error: another user owns it, in a directory that everyone can write to (user 65534)"
	want := []string{
		"d/a a=1", "d/agents b=1", "d/link f=1", "d/sub/a d=1",
		"d/strange link" + reason, "d/strange sub" + reason, "d/stranger" + reason, "d/to stranger" + reason,
		"d/to sub" + reason,
	}
	loaded := LoadOptions{AgentUser: 7}.Load([]string{"d"})
	got := located(loaded)
	if slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, "permission denied") }) {
		want = append(want, "d/through error: permission denied") // fs.protected_symlinks
	} else {
		want = slices.Insert(want, 7, "d/through"+reason)
	}
	slices.Sort(got)
	slices.Sort(want)
	assert.Equal(t, want, got)

	assert.Contains(t, loaded.dirs, "d")
	assert.NotContains(t, loaded.dirs, "d/strange sub", "the agent's watches are limited")
}

// Other users can make as many entries as they like. Only some are reported, and root's are read.
func TestLoadReportsSomeEntriesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make files of other users")
	}
	inTree(t, files{"d/z": "z = 1"})
	for i := range maxOthers + 5 {
		require.NoError(t, os.Symlink("z", fmt.Sprintf("d/%d", i)))
		require.NoError(t, os.Lchown(fmt.Sprintf("d/%d", i), 65534, 65534))
	}
	require.NoError(t, os.Chmod("d", 0o777|fs.ModeSticky))
	got := located(Load([]string{"d"}, nil))
	require.Len(t, got, maxOthers+2)
	assert.Equal(t, "d/z z=1", got[0])
	assert.Equal(t, "d error: more than 100 entries of other users", got[maxOthers+1])
}

// Nobody can change what is mounted read-only, whatever its modes and owners.
func TestLoadFromAMountThatIsReadOnly(t *testing.T) {
	inTree(t, files{"d/": ""})
	if err := syscall.Mount("tmpfs", "d", "tmpfs", 0, "mode=777"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount("d", 0)) })
	require.NoError(t, os.WriteFile("d/f", []byte("a = 1"), 0o644))
	require.NoError(t, os.Lchown("d/f", 65534, 65534))
	for _, mode := range []fs.FileMode{0o777, 0o777 | fs.ModeSticky} {
		require.NoError(t, os.Chmod("d", mode))
		require.NoError(t, os.Chmod("d/f", 0o666))
		require.NoError(t, syscall.Mount("", "d", "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		assert.Equal(t, []string{"d/f a=1"}, located(Load([]string{"d"}, nil)))
		require.NoError(t, syscall.Mount("", "d", "", syscall.MS_REMOUNT, ""))
		assert.NotContains(t, located(Load([]string{"d"}, nil)), "d/f a=1")
	}
}

func TestLoadTakesTheModeOfTheTarget(t *testing.T) {
	inTree(t, map[string]string{"f": "a = 1", "link": "->f"})
	require.NoError(t, os.Chmod("f", 0o666))
	assert.Equal(t, []string{"link error: everyone can write to it (mode 0666)"}, located(Load([]string{"link"}, nil)))
}

func TestLoadNeverOpensPipes(t *testing.T) {
	inTree(t, map[string]string{"d/f": "a = 1"})
	require.NoError(t, syscall.Mkfifo("d/pipe", 0o600))
	assert.Equal(t, []string{
		"d/f a=1",
		"d/pipe note: not a regular file",
		"d/pipe error: not a regular file",
	}, located(Load([]string{"d", "d/pipe"}, nil)))
}

func TestTextsAcrossFiles(t *testing.T) {
	for _, row := range []struct {
		name, first, second string
		want                []string
	}{
		{
			"a later file adds a text", "a = 1", "a(oneline) = x",
			[]string{"a=1", "a(oneline)=x"},
		},
		{
			"a later file replaces a text", "a = 1\na(oneline) = x", "a(oneline) = y",
			[]string{"a=1", "a(oneline)=y", "1:3 note: replaces the text at 1:2:3"},
		},
		{
			"but once only", "a = 1\na(helptext) = x", "a(helptext) = y\na(helptext) = z",
			[]string{
				"a=1", "a(helptext)=y",
				"1:3 note: replaces the text at 1:2:3",
				"2:3 error: duplicate value for attribute (helptext) of metric (a)",
			},
		},
		{
			"a later file replaces labels", "a = 1\na(labels) = {\"x\":1}", "a(labels) = {\"y\":1}",
			[]string{"a=1", `a(labels)={"y":1} 1:3`, "1:3 note: replaces the text at 1:2:3"},
		},
		{
			"the same labels replace nothing", "a = 1\na(labels) = {\"x\":1, \"y\":2}", "a(labels) = {\"y\":2,\"x\":1}",
			[]string{"a=1", `a(labels)={"x":1,"y":2} 1:3`},
		},
		{
			"wrong labels replace nothing", "a = 1\na(labels) = {\"x\":1}", "a(labels) = y",
			[]string{
				"a=1", `a(labels)={"x":1} 2:3`,
				`1:13 error: labels are not a JSON object such as {"team": "db", "tier": 1}`,
			},
		},
		{
			"a later definition comes without the texts", "a = 1\na(oneline) = x", "a = 2",
			[]string{"a=2", "1:1 note: replaces the definition at 1:1:1"},
		},
		{
			"a refused definition leaves the earlier one, which takes the text", "a = 1", "a = bad\na(oneline) = x",
			[]string{"a=1", "a(oneline)=x", "1:5 error: no"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTree(t, map[string]string{"1": row.first, "2": row.second})
			loaded := Load([]string{"1", "2"}, func(d *Definition) error {
				if d.Expr == "bad" {
					return fmt.Errorf("no")
				}
				return nil
			})
			assert.Equal(t, row.want, summary(loaded))
		})
	}
}

func TestLoadDescribesItsSources(t *testing.T) {
	inTree(t, map[string]string{"d/f": "a = 1", "g": ""})
	require.NoError(t, os.Chmod("g", 0o666))
	loaded := Load([]string{"d", "g", "h"}, nil)
	require.Len(t, loaded.Sources, 3)

	info, err := os.Stat("d/f")
	require.NoError(t, err)
	want := readText("d/f", []byte("a = 1"), nil).Sources[0]
	want.ModTime = info.ModTime()
	assert.Equal(t, want, loaded.Sources[0])

	assert.Equal(t, "g", loaded.Sources[1].Path)
	assert.ErrorIs(t, loaded.Sources[1].Err, errWorldWritable)
	assert.Equal(t, "h", loaded.Sources[2].Path)
	assert.ErrorIs(t, loaded.Sources[2].Err, fs.ErrNotExist)
	for i, p := range loaded.Problems {
		assert.Equal(t, loaded.Sources[1+i].Path, p.Path)
		assert.Equal(t, loaded.Sources[1+i].Err, p.Err)
	}
}

func TestUnread(t *testing.T) {
	inTree(t, map[string]string{"d/ok": "a = 1", "d/open": "b = 1", "e/f": "c = 1", "half": "d = 1\nd(oneline) = 'x"})
	require.NoError(t, os.Chmod("d/open", 0o666))
	require.NoError(t, os.Chmod("e", 0o777))
	loaded := Load([]string{"d", "e/", "half", "missing"}, nil)
	for file, want := range map[string]bool{
		"d/ok":      true,
		"d/removed": true, // it was not there
		"d/open":    false,
		"d/opened":  true,
		"e/f":       false,
		"e/g/h":     false,
		"ex":        true,
		"half":      false,
		"missing":   true,
	} {
		assert.Equal(t, want, loaded.Unread.Find(file) < 0, file)
	}
}

func TestLoadLimits(t *testing.T) {
	t.Run("a file", func(t *testing.T) {
		inTree(t, map[string]string{"ok": "a = 1\n", "big": "b = 1\n"})
		require.NoError(t, os.Truncate("ok", MaxFileSize))
		require.NoError(t, os.Truncate("big", MaxFileSize+1))
		loaded := Load([]string{"ok", "big"}, nil)
		assert.Equal(t, "ok a=1", located(loaded)[0])
		assert.Contains(t, located(loaded), "big error: larger than 16777216 bytes")
	})
	t.Run("all files", func(t *testing.T) {
		inTree(t, map[string]string{"big": "", "a": "a = 1"})
		require.NoError(t, os.Truncate("big", MaxFileSize))
		loaded := Load([]string{"big", "big", "big", "big", "a"}, nil)
		assert.Empty(t, loaded.Definitions)
		assert.Contains(t, located(loaded), "a error: more than 67108864 bytes with the files before it")
	})
	t.Run("files", func(t *testing.T) {
		const each = 100 // files in a folder that is linked many times
		files := map[string]string{"last/f": "a = 1"}
		for i := range each {
			files[fmt.Sprintf("real/%d", i)] = ""
			files[fmt.Sprintf("d/%d", i)] = "->../real"
		}
		require.Equal(t, MaxFiles, each*each)
		inTree(t, files)
		loaded := Load([]string{"d", "last"}, nil)
		assert.Equal(t, []string{"last error: more than 10000 files"}, located(loaded))
		assert.Len(t, loaded.Sources, MaxFiles+1)
	})
	t.Run("depth", func(t *testing.T) {
		deep := strings.Repeat("d/", MaxDepth)
		inTree(t, map[string]string{deep + "f": "a = 1", deep + "d/f": "b = 1"})
		assert.Equal(t, []string{
			deep + "f a=1",
			deep + "d error: more than 32 levels of directories",
		}, located(Load([]string{"d"}, nil)))
	})
}

func TestLoadDefault(t *testing.T) {
	inTree(t, map[string]string{"etc/pmdaderived/site.conf": "a = 1"})
	conf := PCPConf{VarDir: "var", SysconfDir: "etc"}
	assert.Equal(t, []string{
		"etc/pmdaderived/site.conf a=1",
		"var/config/derived note: no such file or directory",
		"var/config/pmdaderived note: no such file or directory",
	}, located(LoadOptions{Optional: 3}.Load(DefaultPaths(conf))))
	assert.Equal(t, located(LoadOptions{Optional: 3}.Load(DefaultPaths(conf)))[:1],
		located(Load(DefaultPaths(conf), nil))[:1])
}

func TestSplitPaths(t *testing.T) {
	for list, want := range map[string][]string{
		"":      nil,
		"a":     {"a"},
		"a:b/c": {"a", "b/c"},
		"a:":    {"a"},
		"a::":   {"a", ""},
		":a":    {"", "a"},
		"a::b":  {"a", "", "b"},
		":":     {""},
	} {
		assert.Equal(t, want, SplitPaths(list), "%q", list)
	}
}
