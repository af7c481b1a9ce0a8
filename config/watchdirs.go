package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// watchDirs has the directories whose entries decide the content of a path list, by paths without symbolic links.
type watchDirs map[string]*watchDir

// watchDir says which entries of a directory matter: those with these names, which need not exist, or all.
type watchDir struct {
	names map[string]bool
	whole bool
}

// matters reports whether an event at a path concerns one of the directories or an entry that matters.
func (s watchDirs) matters(path string) bool {
	if s[path] != nil {
		return true
	}
	p := s[filepath.Dir(path)]
	return p != nil && (p.whole || p.names[filepath.Base(path)])
}

// maxLinks limits the symbolic links in one path, as the kernel does.
const maxLinks = 40

// findWatchDirs returns the directories to watch for a path list: its directories and all below, with all entries;
// and the parents of its directories, files, links and missing components, with these entries. It leaves out other
// directories above: they may change all the time, and a rename there is rare.
func findWatchDirs(paths []string) watchDirs {
	t := dirFinder{dirs: watchDirs{}}
	for _, path := range paths {
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			// Not filepath.Abs, which resolves .. without following links.
			dir, err := os.Getwd()
			if err != nil {
				continue
			}
			path = dir + "/" + path
		}
		t.addPath("/", path, 0, false)
	}
	return t.dirs
}

// dirFinder has the state of findWatchDirs.
type dirFinder struct {
	dirs    watchDirs
	entries int // number of directories and links below the directories of the list
}

// addPath adds the directories for a path. dir is where it starts, and has no link in its path. depth is the number
// of directories of the list above. shared: an entry of a shared directory leads to the path.
func (t *dirFinder) addPath(dir, path string, depth int, shared bool) {
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
	t.addTree(dir, depth, shared)
}

// addTree adds a directory with all its entries, and those below.
func (t *dirFinder) addTree(dir string, depth int, shared bool) {
	p := t.watchDir(dir)
	if p.whole || depth >= MaxDepth {
		return
	}
	agent := os.Geteuid()
	d, err := readDirectory(dir, shared, agent)
	if err != nil {
		return // Load refuses it, and the event of a change of its mode is in the parent
	}
	p.whole = true
	for _, e := range d.entries {
		isDir, isLink := e.IsDir(), e.Type()&fs.ModeSymlink != 0
		if isSkipped(e.Name()) || isLeftOut(e.Name(), isDir) || !isDir && !isLink || d.checkEntry(e, agent) != nil ||
			isLink && isNull(filepath.Join(dir, e.Name())) { // each write to the null device would be an event
			continue
		}
		if t.entries++; t.entries > MaxFiles {
			return
		}
		if isDir {
			t.addTree(filepath.Join(dir, e.Name()), depth+1, d.shared())
		} else {
			t.addPath(dir, e.Name(), depth+1, d.shared())
		}
	}
}

// watchDir returns the watchDir of a directory, a new one if there is none.
func (t *dirFinder) watchDir(dir string) *watchDir {
	p := t.dirs[dir]
	if p == nil {
		p = &watchDir{names: map[string]bool{}}
		t.dirs[dir] = p
	}
	return p
}
