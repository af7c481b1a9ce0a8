package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pmdaderived/config"
)

// agentsFiles is what the agent reads of its path list, as far as we can see it.
type agentsFiles struct {
	around []string
	loaded config.Loaded
	read   map[string]bool // real paths of files, and of what it tries to read
}

func newAgentsFiles(around []string) agentsFiles {
	r := agentsFiles{around: around, loaded: config.Load(around, nil), read: map[string]bool{}}
	for _, s := range r.loaded.Sources {
		r.read[realPath(s.Path)] = true
	}
	return r
}

// unread says why the agent leaves out a file that is below what it reads; "" for other files.
func (r *agentsFiles) unread(path string) string {
	for _, dir := range r.around {
		for _, p := range [][2]string{{absolute(dir), absolute(path)}, {realPath(dir), inRealDir(path)}, {realPath(dir), realPath(path)}} {
			rest, below := strings.CutPrefix(p[1], strings.TrimSuffix(p[0], "/")+"/")
			if dir == "" || !below {
				continue
			}
			for name := range strings.SplitSeq(rest, "/") {
				if config.Ignored(name) {
					return ignoredText(name)
				}
			}
			if why := r.refused(p[1]); why != "" {
				return why
			}
		}
	}
	return ""
}

// refused says why a directory above a file could not be read. Where we have no permission the agent may have it.
func (r *agentsFiles) refused(path string) string {
	for _, s := range r.loaded.Sources {
		if s.Err == nil || s.Path == "" || !strings.HasPrefix(path, absolute(s.Path)+"/") && !strings.HasPrefix(path, realPath(s.Path)+"/") {
			continue
		}
		why := s.Err
		if pathError, ok := errors.AsType[*fs.PathError](why); ok {
			why = pathError.Err
		}
		if errors.Is(why, fs.ErrPermission) {
			return fmt.Sprintf("cannot find out whether the agent reads it: %s: %v", s.Path, why)
		}
		return fmt.Sprintf("the agent does not read it: %s: %v", s.Path, why)
	}
	return ""
}

func ignoredText(name string) string {
	return fmt.Sprintf("the agent does not read it: names like %s are left out", name)
}

// unreadProblem tells of a file that the agent does not read.
func unreadProblem(path string, severity config.Severity, text string) *config.Problem {
	return &config.Problem{
		Pos: config.Position{File: path}, Path: path, Severity: severity, Code: codeUnread, Msg: text,
	}
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// inRealDir is a path without links but for the last component.
func inRealDir(path string) string {
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}
