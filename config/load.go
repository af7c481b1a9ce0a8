package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pmdaderived/internal/regular"
)

// Load reads the files of a path list in order, directories with all files below them. A name that
// a later file defines again means the later definition; so does a text. Paths that cannot be read
// are reported and the rest is loaded.
//
// Whoever can write a file decides what the collector serves, so a file or directory that everybody
// can write is refused, and one that its group can write is reported.
func Load(paths []string, accept func(*Definition) error) Loaded {
	return LoadOptions{Accept: accept}.Load(paths)
}

// LoadOptions says how path lists are read, beyond [Load].
type LoadOptions struct {
	// Accept judges an expression when its line has been read; nil takes all. A definition that it returns an error for is
	// reported with the error's text, at its [Offset] of Expr, and does not exist for what follows.
	Accept func(*Definition) error

	// DisplayName returns what a file or directory is called in all that is loaded, by its path. nil: its path.
	DisplayName func(path string) string

	// MissingSeverity is how grave it is that a component of the path list does not exist.
	MissingSeverity Severity
}

// Load is [Load] this way.
func (o LoadOptions) Load(paths []string) Loaded {
	l := &loader{LoadOptions: o, names: map[string]*namedDefinition{}}
	l.loadPaths(paths)
	return l.finish()
}

// Covers reports whether the load saw all that a file holds, with the file's path as in
// Position.File. A file that is gone is covered: it holds nothing. One that could not be read, is
// below a directory that could not be read, or was not read to its end is not.
func (l *Loaded) Covers(file string) bool {
	for _, s := range l.Sources {
		if !s.Incomplete && (s.Err == nil || errors.Is(s.Err, fs.ErrNotExist)) {
			continue
		}
		if file == s.Path || strings.HasPrefix(file, strings.TrimSuffix(s.Path, "/")+"/") {
			return false
		}
	}
	return true
}

// loader collects what the files of a load hold.
type loader struct {
	LoadOptions
	scanning   bool // files are read and not understood
	out        Loaded
	names      map[string]*namedDefinition
	generation int // of the file being read, from 1
	files      int
	size       int64           // bytes read
	closedDirs map[string]bool // folders that not everybody can get through, as far as they have been looked at
}

// namedDefinition is the definition that a name means so far, and who gave it and its texts.
type namedDefinition struct {
	definition    *Definition
	generation    int
	oneLine, help origin
}

type origin struct {
	generation int
	pos        Position
}

// name is what a file or directory is called.
func (l *loader) name(path string) string {
	if l.DisplayName == nil {
		return path
	}
	return l.DisplayName(path)
}

// finish drops the definitions that later ones replace.
func (l *loader) finish() Loaded {
	l.out.Definitions = slices.DeleteFunc(l.out.Definitions, func(d *Definition) bool { return l.names[d.Name].definition != d })
	return l.out
}

func (l *loader) loadPaths(paths []string) {
	for _, path := range paths {
		l.loadPath(path)
	}
}

// loadPath loads a component of the path list.
func (l *loader) loadPath(path string) {
	if path == "" {
		l.reportUnread(path, Error, errEmptyPath)
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.reportUnread(path, l.MissingSeverity, err)
	case err != nil:
		l.reportUnread(path, Error, err)
	case info.IsDir():
		l.loadDirectory(path, info, nil)
	default:
		l.loadFile(path)
	}
}

var (
	errEmptyPath     = errors.New("empty path")
	errWorldWritable = errors.New("everyone can write to it")
	errTooLarge      = fmt.Errorf("larger than %d bytes", MaxFileSize)
	errTotalSize     = fmt.Errorf("more than %d bytes with the files before it", MaxTotalSize)
	errTooMany       = fmt.Errorf("more than %d files", MaxFiles)
	errTooDeep       = fmt.Errorf("more than %d levels of directories", MaxDepth)
	errLinkedCycle   = errors.New("symbolic link to a directory that contains it")
)

// loadDirectory loads all files below a directory, sorted by name; above are the directories that it
// is in, as far as they belong to the load.
func (l *loader) loadDirectory(path string, info os.FileInfo, above []os.FileInfo) {
	for _, dir := range above {
		if os.SameFile(dir, info) {
			l.reportFile(path, Warning, "linked-directory", errLinkedCycle)
			return
		}
	}
	if len(above) >= MaxDepth {
		l.reportUnread(path, Error, errTooDeep)
		return
	}
	if err := l.checkWritable(path, info); err != nil {
		l.reportUnread(path, Error, err)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		l.reportUnread(path, Error, err)
	}
	above = append(above[:len(above):len(above)], info)
	for _, e := range entries {
		if l.files >= MaxFiles {
			l.reportUnread(path, Error, errTooMany)
			return
		}
		name := filepath.Join(path, e.Name())
		if isSkipped(e.Name()) {
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			if _, gone := os.Lstat(name); gone == nil { // else it was removed meanwhile
				l.reportUnread(name, Error, err)
			}
		case info.IsDir():
			l.loadDirectory(name, info, above)
		case info.Mode().IsRegular():
			l.loadFile(name)
		default:
			l.reportFile(name, Note, "not-regular", regular.ErrNotRegular)
		}
	}
}

// loadFile loads one file.
func (l *loader) loadFile(path string) {
	l.files++
	text, info, err := l.readFile(path)
	if err != nil {
		l.reportUnread(path, Error, err)
		return
	}
	l.addFile(l.name(path), text, info.ModTime(), l.isSecret(path, info))
}

// addFile takes the text of a file.
func (l *loader) addFile(path string, text []byte, modified time.Time, secret bool) {
	source := Source{
		Path: path, Size: int64(len(text)), ModTime: modified, Sum: sha256.Sum256(text), Secret: secret,
		openEnd: len(text) == 0 || text[len(text)-1] != '\n',
	}
	if !l.scanning {
		source.Incomplete = !l.readDefinitions(path, string(text), secret)
	}
	l.out.Sources = append(l.out.Sources, source)
}

// readFile reads a file within the limits.
func (l *loader) readFile(path string) ([]byte, os.FileInfo, error) {
	f, err := regular.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = l.checkWritable(path, info)
	}
	if err != nil {
		return nil, nil, err
	}
	limit, beyond := int64(MaxFileSize), errTooLarge
	if rest := MaxTotalSize - l.size; rest < limit {
		limit, beyond = rest, errTotalSize
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(text)) > limit {
		text, err = nil, beyond
	}
	l.size += int64(len(text))
	return text, info, err
}

// ReadFile reads a regular file that is no larger than MaxFileSize.
func ReadFile(path string) ([]byte, error) {
	text, err := regular.Read(path, MaxFileSize+1)
	if err == nil && len(text) > MaxFileSize {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return text, err
}

// checkWritable reports who can write a file or directory, and returns why it may not be read.
func (l *loader) checkWritable(path string, info os.FileInfo) error {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return fmt.Errorf("%w (mode %04o)", errWorldWritable, mode)
	}
	if mode&0o020 != 0 {
		l.reportFile(path, Warning, "group-writable", fmt.Errorf("its group can write to it (mode %04o)", mode))
	}
	return nil
}

// reportUnread reports a file or directory that was not read.
func (l *loader) reportUnread(path string, severity Severity, err error) {
	l.out.Sources = append(l.out.Sources, Source{Path: l.name(path), Err: err})
	l.reportFile(path, severity, "unread", err)
}

// reportFile reports a file or directory as a whole.
func (l *loader) reportFile(path string, severity Severity, code string, err error) {
	reason := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathError.Err // the path is in front already
	}
	path = l.name(path)
	l.out.Problems = append(l.out.Problems, &Problem{
		Pos:      Position{File: path},
		Severity: severity,
		Code:     code,
		Msg:      Printable(reason.Error()),
		Path:     path,
		Err:      err,
	})
}
