package pmda

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// DropPrivileges gives up root for good: the supplementary groups, the group and the user of the whole process
// become those of the account username. groupname, if not empty, replaces the account's own group. The bounding set of
// capabilities becomes empty, if the kernel allows that. Pipes on standard input and output become the account's,
// because [Stdio] has to open them again. If the process is not root, DropPrivileges does nothing and returns nil.
//
// Call it before any file is opened, except for [GiveLog]. pmcd may start an agent as root: files that only root can
// read would be served to every client.
func DropPrivileges(username, groupname string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	ids, err := lookupIdentity(username, groupname)
	if err != nil {
		return fmt.Errorf("run as %s: %w", username, err)
	}
	for fd := range 2 {
		chownPipe(fd, ids)
	}
	emptyBounds()
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

// chownPipe makes a pipe on descriptor fd belong to ids, so that Serve can open it again, see newPipes. An error is
// ignored: Serve works without it.
func chownPipe(fd int, ids identity) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		_ = unix.Fchown(fd, ids.uid, ids.gid)
	}
}

// identity is the user and the groups that a process runs as.
type identity struct {
	uid, gid int
	groups   []int
}

func lookupIdentity(username, groupname string) (ids identity, err error) {
	account, err := user.Lookup(username)
	if err != nil {
		return ids, err
	}
	gid := account.Gid
	if groupname != "" {
		group, err := user.LookupGroup(groupname)
		if err != nil {
			return ids, err
		}
		gid = group.Gid
	}
	members, err := account.GroupIds()
	if err != nil {
		return ids, err
	}
	var numbers []int
	for _, text := range append([]string{account.Uid, gid}, members...) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return ids, fmt.Errorf("identifier of the account: %w", err)
		}
		numbers = append(numbers, n)
	}
	return identity{uid: numbers[0], gid: numbers[1], groups: numbers[2:]}, nil
}
