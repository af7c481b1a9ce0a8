package config

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Secret reports whether not everybody may read the file at path: by its own mode, or that of a folder on the way to
// it. Of what cannot be told so it is.
func Secret(path string) bool {
	info, err := os.Stat(path)
	return err != nil || (&loader{}).secret(path, info)
}

func (l *loader) secret(path string, info fs.FileInfo) bool {
	const readable = 0o004
	if info.Mode().Perm()&readable == 0 {
		return true
	}
	if entry, err := os.Lstat(path); err != nil {
		return true
	} else if entry.Mode()&fs.ModeSymlink != 0 { // it can be reached without the link
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return true
		}
	}
	return l.shut(filepath.Dir(path))
}

// shut reports whether not everybody can get through a folder, or one of those above.
func (l *loader) shut(dir string) bool {
	const searchable = 0o001
	if is, known := l.closed[dir]; known {
		return is
	}
	is := true
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if info, statErr := os.Stat(dir); err == nil && statErr == nil && info.Mode().Perm()&searchable != 0 {
		is = real != "/" && l.shut(filepath.Dir(real))
	}
	if l.closed == nil {
		l.closed = make(map[string]bool)
	}
	l.closed[dir] = is
	return is
}
