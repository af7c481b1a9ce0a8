package pmda

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Harden takes from the process what an agent never needs: it and what it starts cannot become more than they are
// (no_new_privs), and its memory, which may hold what others may not see, is written to no core dump and read by no
// debugger but root's. /proc/PID belongs to root then. It is called after [DropPrivileges]: a change of the user undoes the latter.
//
// A program with cgo, as one that is built with the race detector, gets all but no_new_privs: that is of each thread.
func Harden() error {
	none := unix.Rlimit{}
	return errors.Join(
		allThreads(unix.PR_SET_NO_NEW_PRIVS, 1),
		unix.Setrlimit(unix.RLIMIT_CORE, &none),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
	)
}

// emptyBounds empties the bounding set, so that no program that the process starts has a capability. It needs CAP_SETPCAP,
// which root may lack in a container: then it has as little to lose.
func emptyBounds() {
	for capability := uintptr(0); ; capability++ {
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); err != nil || has < 0 {
			return // there are no more
		}
		if allThreads(unix.PR_CAPBSET_DROP, capability) != nil {
			return
		}
	}
}

// allThreads is prctl(2) on each thread; nothing in a program with cgo, which the syscall package cannot do it in.
func allThreads(option, value uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, option, value, 0, 0, 0, 0)
	if errno != 0 && errno != syscall.ENOTSUP {
		return errno
	}
	return nil
}
