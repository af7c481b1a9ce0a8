package config

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Secret reports whether some users cannot read the file at path, because of its mode or that of a directory above
// it. It returns true if this cannot be determined. A symbolic link does not hide its target.
func Secret(path string) bool {
	info, err := os.Stat(path)
	return err != nil || (&loader{}).isSecret(path, info)
}

func (l *loader) isSecret(path string, info fs.FileInfo) bool {
	const readable = 0o004
	if info.Mode().Perm()&readable == 0 {
		return true
	}
	if entry, err := os.Lstat(path); err != nil {
		return true
	} else if entry.Mode()&fs.ModeSymlink != 0 { // users can reach the target without the link
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return true
		}
	}
	return l.isClosed(filepath.Dir(path))
}

// isClosed reports whether some users cannot search a directory, or one of those above.
func (l *loader) isClosed(dir string) bool {
	const searchable = 0o001
	if is, known := l.closedDirs[dir]; known {
		return is
	}
	is := true
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if info, statErr := os.Stat(dir); err == nil && statErr == nil && info.Mode().Perm()&searchable != 0 {
		is = real != "/" && l.isClosed(filepath.Dir(real))
	}
	if l.closedDirs == nil {
		l.closedDirs = make(map[string]bool)
	}
	l.closedDirs[dir] = is
	return is
}
