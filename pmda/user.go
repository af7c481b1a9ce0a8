package pmda

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// DropPrivileges gives up root for good: supplementary groups, group and user of the whole process
// become those of the account username. groupname, if not empty, takes the place of the account's
// own group. It does nothing when the process is not root, whoever it is then. Pipes on standard input
// and output are given to the account: [Stdio] has to open them.
//
// It is called before anything else is opened: pmcd may start an agent as root, and what root can
// read, an agent would serve to everybody.
func DropPrivileges(username, groupname string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	ids, err := lookupIdentity(username, groupname)
	if err != nil {
		return fmt.Errorf("run as %s: %w", username, err)
	}
	for fd := range 2 {
		givePipe(fd, ids)
	}
	if err := syscall.Setgroups(ids.groups); err != nil {
		return fmt.Errorf("run as %s: supplementary groups %v: %w", username, ids.groups, err)
	}
	if err := syscall.Setgid(ids.gid); err != nil {
		return fmt.Errorf("run as %s: group %d: %w", username, ids.gid, err)
	}
	if err := syscall.Setuid(ids.uid); err != nil {
		return fmt.Errorf("run as %s: user %d: %w", username, ids.uid, err)
	}
	return nil
}

// givePipe makes a pipe belong to ids, so that Serve can open it again. It matters to nobody else; if it fails Serve does
// without.
func givePipe(fd int, ids identity) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		_ = unix.Fchown(fd, ids.uid, ids.gid)
	}
}

// identity is what a process runs as.
type identity struct {
	uid, gid int
	groups   []int
}

func lookupIdentity(username, groupname string) (identity, error) {
	account, err := user.Lookup(username)
	if err != nil {
		return identity{}, err
	}
	return identityOf(account, groupname)
}

func identityOf(account *user.User, groupname string) (identity, error) {
	var ids identity
	var err error
	if ids.uid, err = strconv.Atoi(account.Uid); err != nil {
		return ids, fmt.Errorf("user identifier %q: %w", account.Uid, err)
	}
	if ids.gid, err = strconv.Atoi(account.Gid); err != nil {
		return ids, fmt.Errorf("group identifier %q: %w", account.Gid, err)
	}
	if groupname != "" {
		group, err := user.LookupGroup(groupname)
		if err != nil {
			return ids, err
		}
		if ids.gid, err = strconv.Atoi(group.Gid); err != nil {
			return ids, fmt.Errorf("group identifier %q: %w", group.Gid, err)
		}
	}
	members, err := account.GroupIds()
	if err != nil {
		return ids, err
	}
	for _, text := range members {
		gid, err := strconv.Atoi(text)
		if err != nil {
			return ids, fmt.Errorf("group identifier %q: %w", text, err)
		}
		ids.groups = append(ids.groups, gid)
	}
	return ids, nil
}
