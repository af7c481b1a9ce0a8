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
	"syscall"
	"time"

	"pmdaderived/internal/printable"
	"pmdaderived/internal/regular"
)

// Load reads the files of a path list in order, and all files below its directories. accept judges each expression;
// nil accepts all: see [LoadOptions].Accept. If a later file defines a name or a text again, the later one counts. A
// path that cannot be read becomes a [Problem] and a [Source] with an error, and the rest is loaded.
//
// The owner of a file decides what the collector serves. So Load refuses a file or directory that everyone can write
// to, and warns of one that its group can write to. It reads a directory with the sticky bit in spite of that, but
// there only entries of root and of the agent's user. On a mount that is read-only it reads everything.
func Load(paths []string, accept func(*Definition) error) Loaded {
	return LoadOptions{Accept: accept}.Load(paths)
}

// LoadOptions are the parameters of a load that [Load] has no argument for. The zero value accepts all expressions.
type LoadOptions struct {
	// Accept is called for each definition when its line has been read; nil accepts all. If it returns an error, the
	// definition does not exist for the rest of the load, and the error becomes a Problem, at the error's [Offset] in
	// Expr.
	Accept func(*Definition) error

	// DisplayName returns the name of a file or directory in everything that is loaded, by its path. nil: the path.
	DisplayName func(path string) string

	// AgentUser is the user that the agent runs as. In a sticky directory that everyone can write to, Load reads entries
	// of this user and of root. 0: only those of root.
	AgentUser int

	// Skip reports whether a file is left out, by its path. nil: none is.
	Skip func(path string) bool

	// Optional is how many components of the path list, from the first, need not exist: one that does not is a note.
	Optional int

	// MasksBefore are the Masks of the load before. Those of files that are not read completely now stay.
	MasksBefore map[string]Position
}

// Load reads a path list as the function [Load] does, with these options.
func (o LoadOptions) Load(paths []string) Loaded {
	l := newLoader(o)
	l.loadPaths(paths)
	return l.finish()
}

// Find returns the index in Sources of a file that was not read to its end, or of a directory above it that could not be
// read; -1: everything in it was read. file is a path as in Position.File. A file that does not exist has nothing.
func (u Unread) Find(file string) int {
	for path := filepath.Clean(file); ; path = filepath.Dir(path) {
		if i, ok := u[path]; ok {
			return i
		}
		if path == filepath.Dir(path) {
			return -1
		}
	}
}

// loadDepth is how much of each file a load takes in.
type loadDepth int

const (
	parseFiles loadDepth = iota
	readFiles            // the content, which is not parsed
	stampFiles           // size, time and inode
)

// loader has the state of one load.
type loader struct {
	LoadOptions
	depth      loadDepth
	out        Loaded
	names      map[string]*namedDefinition
	generation int // number of the file that is being read, from 1
	files      int
	size       int64           // bytes that have been read
	closedDirs map[string]bool // cache of isClosed

	component int                   // of the path list that is being loaded
	root      string                // its path, if it is a directory
	origins   map[string]fileOrigin // by displayed name of the file
	masks     map[string]*mask      // by fileOrigin.below of the files, or by the name of the definitions
}

func newLoader(o LoadOptions) *loader {
	return &loader{
		LoadOptions: o, out: Loaded{Unread: Unread{}}, names: map[string]*namedDefinition{},
		origins: map[string]fileOrigin{}, masks: map[string]*mask{},
	}
}

// namedDefinition is the last definition of a name, with the file that it and its texts come from.
type namedDefinition struct {
	definition            *Definition
	generation            int
	oneLine, help, labels origin
}

type origin struct {
	generation int
	pos        Position
}

// name returns the displayed name of a file or directory.
func (l *loader) name(path string) string {
	if l.DisplayName == nil {
		return path
	}
	return l.DisplayName(path)
}

// finish removes the definitions that are masked, and those that later ones replace.
func (l *loader) finish() Loaded {
	l.applyMasks()
	last := make(map[string]*Definition, len(l.names))
	for _, d := range l.out.Definitions {
		last[d.Name] = d
		delete(l.out.Masked, d.Name)
	}
	l.out.Definitions = slices.DeleteFunc(l.out.Definitions, func(d *Definition) bool { return last[d.Name] != d })
	return l.out
}

func (l *loader) loadPaths(paths []string) {
	for i, path := range paths {
		l.component, l.root = i, ""
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
	case errors.Is(err, fs.ErrNotExist) && l.component < l.Optional:
		l.reportUnread(path, Note, err)
	case err != nil:
		l.reportUnread(path, Error, err)
	case info.IsDir():
		l.root = path
		l.loadDirectory(path, nil, false)
	default:
		l.loadFile(path, false)
	}
}

var (
	errEmptyPath     = errors.New("empty path")
	errWorldWritable = errors.New("everyone can write to it")
	errOtherOwner    = errors.New("another user owns it, in a directory that everyone can write to")
	errMoreOthers    = fmt.Errorf("more than %d entries of other users", maxOthers)
	errTooLarge      = fmt.Errorf("larger than %d bytes", MaxFileSize)
	errTotalSize     = fmt.Errorf("more than %d bytes with the files before it", MaxTotalSize)
	errTooMany       = fmt.Errorf("more than %d files", MaxFiles)
	errTooDeep       = fmt.Errorf("more than %d levels of directories", MaxDepth)
	errLinkedCycle   = errors.New("symbolic link to a directory that contains it")
)

// loadDirectory loads all files below a directory, sorted by name. above has the directories that contain this one, as
// far as they are being loaded. shared: an entry of a shared directory leads to this one.
func (l *loader) loadDirectory(path string, above []os.FileInfo, shared bool) {
	if len(above) >= MaxDepth {
		l.reportUnread(path, Error, errTooDeep)
		return
	}
	d, err := readDirectory(path, shared, l.AgentUser)
	if d.info != nil && slices.ContainsFunc(above, func(dir os.FileInfo) bool { return os.SameFile(dir, d.info) }) {
		l.reportFile(path, Warning, "linked-directory", errLinkedCycle)
		return
	}
	if err != nil {
		l.reportUnread(path, Error, err)
	} else if !d.shared() {
		l.reportGroupWritable(path, d.mode)
	}
	if err == nil {
		l.out.dirs = append(l.out.dirs, path)
	}
	above = append(above[:len(above):len(above)], d.info)
	others := 0          // entries of other users
	var leftOut []string // names
	for _, e := range d.entries {
		if l.files >= MaxFiles {
			l.reportUnread(path, Error, errTooMany)
			return
		}
		if isSkipped(e.Name()) {
			continue
		}
		name := filepath.Join(path, e.Name())
		err := d.checkEntry(e, l.AgentUser)
		if errors.Is(err, errOtherOwner) {
			if others++; others <= maxOthers {
				l.reportUnread(name, Error, err)
			}
			continue
		}
		info, err := os.Stat(name)
		switch {
		case isLeftOut(e.Name(), err == nil && info.IsDir()):
			leftOut = append(leftOut, e.Name())
		case err != nil:
			if _, gone := os.Lstat(name); !errors.Is(gone, fs.ErrNotExist) { // otherwise it was removed after readDirectory
				l.files++
				l.reportUnread(name, Error, err)
			}
		case info.IsDir():
			l.loadDirectory(name, above, d.shared())
		case info.Mode().IsRegular():
			l.loadFile(name, d.shared())
		case isNull(name):
			l.files++
			l.addFile(name, nil, info.ModTime(), false)
		default:
			l.reportFile(name, Note, "not-regular", regular.ErrNotRegular)
		}
	}
	if others > maxOthers {
		l.reportFile(path, Error, "unread", errMoreOthers)
	}
	if n := len(leftOut); n > 0 {
		names := strings.Join(leftOut[:min(n, maxNames)], ", ")
		if n > maxNames {
			names += ", …"
		}
		l.reportFile(path, Note, "left-out", errors.New("not read because of their names: "+names))
	}
}

// loadFile loads one file. shared: an entry of a shared directory leads to it.
func (l *loader) loadFile(path string, shared bool) {
	if l.Skip != nil && l.Skip(path) {
		return
	}
	l.files++
	if l.depth == stampFiles {
		l.stampFile(path)
		return
	}
	text, info, err := l.readFile(path, shared)
	if err != nil {
		l.reportUnread(path, Error, err)
		return
	}
	l.addFile(path, text, info.ModTime(), l.isSecret(path, info))
}

// stampFile adds a Source that has a digest of a file's size, time and inode. The time is that of the last change of
// anything, because tools that copy files set the other one.
func (l *loader) stampFile(path string) {
	info, err := os.Stat(path)
	if err != nil {
		l.reportUnread(path, Error, err)
		return
	}
	stat := info.Sys().(*syscall.Stat_t)
	stamp := fmt.Append(nil, stat.Dev, stat.Ino, stat.Size, stat.Ctim, stat.Mode, stat.Uid)
	l.addSource(Source{Path: l.name(path), Sum: sha256.Sum256(stamp)})
}

// addFile adds the text of a file and its Source. A nil text is that of a link to the null device.
func (l *loader) addFile(path string, text []byte, modified time.Time, secret bool) {
	from := fileOrigin{component: l.component}
	if l.root != "" {
		below, _ := filepath.Rel(l.root, path) // never fails
		from.below = "/" + below
	}
	path = l.name(path)
	l.origins[path] = from
	source := Source{
		Path: path, Size: int64(len(text)), ModTime: modified, Sum: sha256.Sum256(text), Secret: secret,
		openEnd: len(text) == 0 || text[len(text)-1] != '\n',
	}
	if len(text) == 0 && from.below != "" && from.component > 0 {
		l.addFileMask(from.below, path, text == nil)
	}
	if l.depth == parseFiles {
		source.Incomplete = !l.readDefinitions(path, string(text), secret)
	}
	l.addSource(source)
}

// addSource adds a Source, and to Unread what it says.
func (l *loader) addSource(s Source) {
	switch {
	case s.Path == "" || errors.Is(s.Err, fs.ErrNotExist):
	case s.Incomplete || s.Err != nil:
		l.out.Unread[filepath.Clean(s.Path)] = len(l.out.Sources)
	default:
		l.out.Unread[filepath.Clean(s.Path)] = -1
	}
	s.component = l.component
	l.out.Sources = append(l.out.Sources, s)
}

// readFile reads a file within the limits.
func (l *loader) readFile(path string, shared bool) ([]byte, os.FileInfo, error) {
	f, err := regular.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, mode, err := checkAccess(f, shared, l.AgentUser)
	if err != nil {
		return nil, nil, err
	}
	l.reportGroupWritable(path, mode)
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

// ReadFile returns the content of a regular file of at most MaxFileSize bytes. For another file it returns an
// *fs.PathError, without waiting, as a named pipe would make it.
func ReadFile(path string) ([]byte, error) {
	text, err := regular.Read(path, MaxFileSize+1)
	if err == nil && len(text) > MaxFileSize {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return text, err
}

// reportGroupWritable reports a file or directory that its group can write to.
func (l *loader) reportGroupWritable(path string, mode uint32) {
	if mode&0o020 != 0 {
		l.reportFile(path, Warning, "group-writable", groupWritable(mode))
	}
}

// reportUnread adds the Source and the Problem of a file or directory that was not read.
func (l *loader) reportUnread(path string, severity Severity, err error) {
	l.addSource(Source{Path: l.name(path), Err: err})
	l.reportFile(path, severity, "unread", err)
}

// reportFile adds a Problem with a file or directory as a whole.
func (l *loader) reportFile(path string, severity Severity, code string, err error) {
	reason := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathError.Err // without the path, which Position.File has
	}
	path = l.name(path)
	l.out.Problems = append(l.out.Problems, &Problem{
		Pos:      Position{File: path},
		Severity: severity,
		Code:     code,
		Msg:      printable.Escaped(reason.Error()),
		Path:     path,
		Err:      err,
	})
}
