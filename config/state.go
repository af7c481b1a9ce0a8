package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// fileState is the content of the files of a path list at one moment, as far as it matters to Load.
type fileState struct {
	digest    [sha256.Size]byte // of everything else, and of the problems with files as a whole
	sources   map[string]Source // by Path in printable form
	transient bool              // something could not be read for a reason that ends without an event
}

// scanFiles returns the state that Load would find now for the user of this process.
func scanFiles(paths []string) fileState {
	l := &loader{scanning: true, LoadOptions: LoadOptions{AgentUser: os.Geteuid()}}
	l.loadPaths(paths)
	return l.out.state()
}

func (l *Loaded) state() fileState {
	s := fileState{sources: make(map[string]Source, len(l.Sources))}
	h := sha256.New()
	for _, source := range l.Sources {
		path := Printable(source.Path) // as it may be called already
		s.sources[path] = source
		fmt.Fprintf(h, "%s\x00", path)
		if source.Err != nil {
			fmt.Fprintf(h, "%v\x00", source.Err)
			s.transient = s.transient || isTransient(source.Err)
		}
		fmt.Fprintf(h, "%t\x00", source.Secret)
		h.Write(source.Sum[:])
	}
	for _, p := range l.Problems {
		if p.Path != "" {
			fmt.Fprintf(h, "%s\x00%s\x00", Printable(p.Path), p.Msg)
		}
	}
	h.Sum(s.digest[:0])
	return s
}

// isTransient reports whether reading failed because the system was short of something, or because of a lease on the
// file. No event tells when that ends.
func isTransient(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	transient := []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.EAGAIN}
	return ok && slices.Contains(transient, errno)
}

// halfWritten reports whether now may be a moment during a change: a file that is gone or has become shorter may be
// about to be written again, and a new last line without a newline may be incomplete.
func halfWritten(before, now fileState) bool {
	for path, was := range before.sources {
		if was.Err != nil || was.Size == 0 {
			continue
		}
		is, there := now.sources[path]
		if !there || errors.Is(is.Err, fs.ErrNotExist) || is.Err == nil && is.Size < was.Size {
			return true
		}
	}
	for path, is := range now.sources {
		if is.Err == nil && is.openEnd && before.sources[path].Sum != is.Sum {
			return true
		}
	}
	return false
}
