package config

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// directory is a directory of definitions, as it was when it was read.
type directory struct {
	info    fs.FileInfo // nil: it could not be opened
	mode    uint32      // as checkAccess returns it
	entries []os.DirEntry
}

// readDirectory reads a directory, sorted by name, unless checkAccess refuses it.
func readDirectory(path string, shared bool, agent int) (d directory, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return d, err
	}
	defer f.Close()
	if d.info, d.mode, err = checkAccess(f, shared, agent); err != nil {
		return d, err
	}
	d.entries, err = f.ReadDir(-1)
	slices.SortFunc(d.entries, func(x, y os.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	return d, err
}

// shared reports whether everyone can add entries, but not replace those of others: the directory has the sticky bit.
func (d *directory) shared() bool { return d.mode&0o002 != 0 }

// checkAccess returns the permissions of an open file or directory as chmod(2) has them, but 0 on a mount that is
// read-only, where nobody can change anything. It returns an error if users other than root, the agent's and the owner
// decide what it has. shared: an entry of a shared directory leads to it. Then the owner must be root or the agent's
// user, and its group must not be able to write to a file, because members of the group can make a hard link to it.
func checkAccess(f *os.File, shared bool, agent int) (info fs.FileInfo, mode uint32, err error) {
	if info, err = f.Stat(); err != nil {
		return nil, 0, err
	}
	const readOnly = syscall.MS_RDONLY // ST_RDONLY has the same value
	var mount syscall.Statfs_t
	if syscall.Fstatfs(int(f.Fd()), &mount) == nil && mount.Flags&readOnly != 0 {
		return info, 0, nil
	}
	mode = info.Sys().(*syscall.Stat_t).Mode & 0o7777
	switch {
	case shared && !info.IsDir() && mode&0o022 == 0o020:
		err = groupWritable(mode)
	case mode&0o002 != 0 && (!info.IsDir() || mode&syscall.S_ISVTX == 0):
		err = fmt.Errorf("%w (mode %04o)", errWorldWritable, mode)
	case shared:
		err = checkOwner(info, agent)
	}
	return info, mode, err
}

func groupWritable(mode uint32) error {
	return fmt.Errorf("its group can write to it (mode %04o)", mode)
}

// checkOwner returns an error if neither root nor the agent's user owns a file.
func checkOwner(info fs.FileInfo, agent int) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == 0 || owner == agent {
		return nil
	}
	return fmt.Errorf("%w (user %d)", errOtherOwner, owner)
}

// checkEntry returns an error if the directory is shared and another user owns an entry. A symbolic link belongs to the
// user who made it, whatever it leads to.
func (d *directory) checkEntry(e os.DirEntry, agent int) error {
	if !d.shared() {
		return nil
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	return checkOwner(info, agent)
}
