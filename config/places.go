package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is a directory whose entries decide what a path list means.
type place struct {
	id fileID

	// names are the entries that are looked up on the way to a definition file: directories, files
	// and symbolic links, those that do not exist yet included. whole: every entry counts but the
	// ignored ones, for all files in the directory are read.
	names map[string]bool
	whole bool

	// end: a component of the path list, or a link, ends here: with a file, a directory, or nothing.
	end bool
}

// placeSet holds directories by their path, in which no component is a symbolic link. A directory that
// is mounted in several places is there once.
type placeSet map[string]*place

// fileID tells files of a host apart.
type fileID struct{ device, inode uint64 }

func identify(info fs.FileInfo) fileID {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{device: uint64(s.Dev), inode: s.Ino}
}

// maxLinks is how many symbolic links one path may lead through, as in the kernel.
const maxLinks = 40

// trace finds the places of a path list: every directory on the way to its files, from the root on
// and through every link, for each of them may be renamed, replaced or made only later.
func trace(paths []string) placeSet {
	t := tracer{places: placeSet{}, byID: map[fileID]*place{}}
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
		t.follow("/", path, 0)
	}
	return t.places
}

type tracer struct {
	places  placeSet
	byID    map[fileID]*place
	entries int // directories and links of whole directories
}

// follow goes from a directory, whose path has no link, along a path. depth counts whole directories
// above.
func (t *tracer) follow(dir, path string, depth int) {
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
		p := t.place(dir)
		if p == nil {
			return
		}
		p.names[name] = true
		next := filepath.Join(dir, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			p.end = true
			return
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				p.end = true
				return
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		case info.IsDir():
			dir = next
		default:
			p.end = true
			return
		}
	}
	t.directory(dir, depth)
}

// directory makes a directory whose files are read a place, and those below.
func (t *tracer) directory(dir string, depth int) {
	p := t.place(dir)
	if p == nil || p.whole || depth >= MaxDepth {
		return
	}
	p.end = true
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
		if Ignored(e.Name()) || !isDir && !isLink {
			continue
		}
		if t.entries++; t.entries > MaxFiles {
			return
		}
		if isDir {
			t.directory(filepath.Join(dir, e.Name()), depth+1)
		} else {
			t.follow(dir, e.Name(), depth+1)
		}
	}
}

// place returns the place of a directory, or nil if there is no such directory any more.
func (t *tracer) place(dir string) *place {
	if p := t.places[dir]; p != nil {
		return p
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	id := identify(info)
	p := t.byID[id]
	if p == nil {
		p = &place{id: id, names: map[string]bool{}}
		t.byID[id] = p
		t.places[dir] = p
	}
	return p
}
