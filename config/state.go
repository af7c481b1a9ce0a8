package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"pmdaderived/internal/printable"
)

// fileState is the content of the files of a path list at one moment, as far as it matters to Load.
type fileState struct {
	digest    [sha256.Size]byte // of everything else, and of the problems with files as a whole
	own       [sha256.Size]byte // the same without entries of other users, who may change them all the time
	sources   map[string]Source // by Path in printable form
	dirs      []string          // the directories that were read
	transient bool              // something could not be read for a reason that ends without an event
}

// scanFiles returns the state that Load would find now for the user of this process. With stampFiles the state has
// sizes, times and inodes in place of contents.
func scanFiles(paths []string, depth loadDepth) fileState {
	l := newLoader(LoadOptions{AgentUser: os.Geteuid()})
	l.depth = depth
	l.loadPaths(paths)
	return l.out.state()
}

func (l *Loaded) state() fileState {
	s := fileState{sources: make(map[string]Source, len(l.Sources)), dirs: l.dirs}
	digest, own := sha256.New(), sha256.New()
	digests := func(err error) io.Writer {
		if errors.Is(err, errOtherOwner) || errors.Is(err, errMoreOthers) {
			return digest
		}
		return io.MultiWriter(digest, own)
	}
	for _, source := range l.Sources {
		h := digests(source.Err)
		path := printable.Escaped(source.Path) // as it may be called already
		s.sources[path] = source
		fmt.Fprintf(h, "%s\x00", path)
		if source.Err != nil {
			fmt.Fprintf(h, "%v\x00", source.Err)
			s.transient = s.transient || isTransient(source.Err)
		}
		fmt.Fprintf(h, "%t\x00", source.Secret)
		_, _ = h.Write(source.Sum[:]) // never fails
	}
	for _, p := range l.Problems {
		if p.Path != "" {
			fmt.Fprintf(digests(p.Err), "%s\x00%s\x00", printable.Escaped(p.Path), p.Msg)
		}
	}
	digest.Sum(s.digest[:0])
	own.Sum(s.own[:0])
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
