package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// parent is the folder of the folders of runs. The daemon watches the folders above its definitions, and wakes up
// whenever a program writes to a file in one of them, as many do in /tmp.
const parent = "/var/tmp"

// Folder is the path of a folder that every user can read: pmcd and its agents run as another user, who may not be able
// to read a home directory. The caller removes it.
type Folder string

// NewFolder makes a folder with copies of programs: the path of each, by its name in the folder.
func NewFolder(programs map[string]string) (Folder, error) {
	dir, err := os.MkdirTemp(parent, "rig-")
	if err != nil {
		return "", err
	}
	f := Folder(dir)
	if err := f.fill(programs); err != nil {
		return "", errors.Join(err, f.Remove())
	}
	return f, nil
}

func (f Folder) fill(programs map[string]string) error {
	if err := os.Chmod(string(f), 0o755); err != nil {
		return err
	}
	for name, from := range programs {
		program, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("make builds what is missing: %w", err)
		}
		if err := os.WriteFile(f.Path(name), program, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path of a file in the folder.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// Sub makes a folder in the folder.
func (f Folder) Sub(name string) (Folder, error) {
	return Folder(f.Path(name)), os.Mkdir(f.Path(name), 0o755)
}

// Write replaces a file as editors do, by renaming, and returns its path.
func (f Folder) Write(name, text string) (string, error) {
	path := f.Path(name)
	if err := os.WriteFile(path+"~", []byte(text), 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(path+"~", path)
}

// Remove deletes the folder.
func (f Folder) Remove() error { return os.RemoveAll(string(f)) }

const (
	awaitLimit   = 30 * time.Second
	pollInterval = 10 * time.Millisecond
)

// Await calls holds until it returns true, for 30 s at most.
func Await(ctx context.Context, what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(awaitLimit); ; {
		switch ok, err := holds(); {
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case ok:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("not within %v: %s", awaitLimit, what)
		case !Sleep(ctx, pollInterval):
			return ctx.Err()
		}
	}
}

// Sleep sleeps. It returns early, with false, when ctx ends.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
