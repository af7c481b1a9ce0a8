package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// watchDirs holds the directories whose entries decide what a path list means, by their paths, in which no
// component is a symbolic link.
type watchDirs map[string]*watchDir

// watchDir says which entries of a directory matter: those with these names, whether they exist or not, or all.
type watchDir struct {
	names map[string]bool
	whole bool
}

// matters reports whether an event at a path concerns the places: one of them, or an entry that matters.
func (s watchDirs) matters(path string) bool {
	if s[path] != nil {
		return true
	}
	p := s[filepath.Dir(path)]
	return p != nil && (p.whole || p.names[filepath.Base(path)])
}

// maxLinks is how many symbolic links one path may lead through, as in the kernel.
const maxLinks = 40

// findWatchDirs finds the places of a path list: the directories in it with those below, the entries of their parents, and the
// entries for files, for links on the way, and for what does not exist yet. Other directories on the way are no places:
// somebody may change them all the time, and a rename there is rare.
func findWatchDirs(paths []string) watchDirs {
	t := dirFinder{dirs: watchDirs{}}
	for _, path := range paths {
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			// Not filepath.Abs: what .. means behind a link is only known there.
			dir, err := os.Getwd()
			if err != nil {
				continue
			}
			path = dir + "/" + path
		}
		t.addPath("/", path, 0)
	}
	return t.dirs
}

type dirFinder struct {
	dirs    watchDirs
	entries int // directories and links of whole directories
}

// follow goes from a directory, whose path has no link, along a path. depth counts whole directories
// above.
func (t *dirFinder) addPath(dir, path string, depth int) {
	rest := strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		next := filepath.Join(dir, name)
		info, err := os.Lstat(next)
		if err == nil && info.IsDir() {
			dir = next
			continue
		}
		t.watchDir(dir).names[name] = true
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return
		}
		if filepath.IsAbs(target) {
			dir = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	t.watchDir(filepath.Dir(dir)).names[filepath.Base(dir)] = true
	t.addTree(dir, depth)
}

// directory makes a directory whose files are read a place, and those below.
func (t *dirFinder) addTree(dir string, depth int) {
	p := t.watchDir(dir)
	if p.whole || depth >= MaxDepth {
		return
	}
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Perm()&0o002 != 0 {
		return // Load refuses it: its parent tells of a change of mode
	}
	p.whole = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // likewise
	}
	for _, e := range entries {
		isDir, isLink := e.IsDir(), e.Type()&fs.ModeSymlink != 0
		if isSkipped(e.Name()) || !isDir && !isLink {
			continue
		}
		if t.entries++; t.entries > MaxFiles {
			return
		}
		if isDir {
			t.addTree(filepath.Join(dir, e.Name()), depth+1)
		} else {
			t.addPath(dir, e.Name(), depth+1)
		}
	}
}

// watchDir returns the place of a directory.
func (t *dirFinder) watchDir(dir string) *watchDir {
	p := t.dirs[dir]
	if p == nil {
		p = &watchDir{names: map[string]bool{}}
		t.dirs[dir] = p
	}
	return p
}
