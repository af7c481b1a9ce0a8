package config

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Account is who the agent is when it reads files.
type Account struct {
	uid  uint64
	gids []uint64
}

// LookUpAccount finds the account of PCP's daemons, with its groups.
func LookUpAccount(conf PCPConf) (Account, error) {
	u, err := user.Lookup(conf.User)
	if err != nil {
		return Account{}, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return Account{}, err
	}
	if g, err := user.LookupGroup(conf.Group); err == nil {
		ids = append(ids, g.Gid)
	}
	var a Account
	if a.uid, err = strconv.ParseUint(u.Uid, 10, 32); err != nil {
		return a, fmt.Errorf("user identifier: %w", err)
	}
	for _, text := range append(ids, u.Gid) {
		gid, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return a, fmt.Errorf("group identifier: %w", err)
		}
		a.gids = append(a.gids, gid)
	}
	return a, nil
}

// Permissions of one class of users.
const (
	mayRead   fs.FileMode = 4
	maySearch fs.FileMode = 1
)

// Obstacle is the file or directory whose mode keeps an account from reading a file, or the names in a directory; "" if
// there is none. Where an access control list decides, and of what cannot be looked at, nothing is said.
func (a Account) Obstacle(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if at := a.above(full); at != "" {
		return at
	}
	if resolved, err := filepath.EvalSymlinks(full); err == nil && resolved != full {
		if at := a.above(resolved); at != "" {
			return at
		}
		full = resolved
	}
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return ""
	case info.IsDir() && !a.may(full, info, mayRead|maySearch), !info.IsDir() && !a.may(full, info, mayRead):
		return full
	}
	return ""
}

// above is the first directory on the way to a path that the account cannot pass.
func (a Account) above(path string) string {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		dir := path[:max(i, 1)]
		if info, err := os.Stat(dir); err == nil && !a.may(dir, info, maySearch) {
			return dir
		}
	}
	return ""
}

// may reports whether an account has permissions for a file.
func (a Account) may(path string, info fs.FileInfo, want fs.FileMode) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || a.uid == 0 || hasACL(path) {
		return true
	}
	mode := info.Mode().Perm()
	switch {
	case uint64(s.Uid) == a.uid:
		mode >>= 6
	case slices.Contains(a.gids, uint64(s.Gid)):
		mode >>= 3
	}
	return mode&want == want
}
