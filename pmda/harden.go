package pmda

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Harden gives up abilities that an agent does not need. The process and its children cannot get more rights by a
// set-user-id program (no_new_privs). The kernel writes no core dump. Only root's debugger can read its memory, which
// may hold data that others must not see. As a side effect /proc/PID belongs to root. Call it after [DropPrivileges]: a
// change of the user makes the memory readable again.
//
// A program with cgo, such as one with the race detector, does not get no_new_privs, which is set for each thread.
func Harden() error {
	none := unix.Rlimit{}
	return errors.Join(
		allThreads(unix.PR_SET_NO_NEW_PRIVS, 1),
		unix.Setrlimit(unix.RLIMIT_CORE, &none),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
	)
}

// emptyBounds empties the bounding set, so that no program that the process starts has a capability. It needs
// CAP_SETPCAP. In a container root may lack that: then the set stays as it is.
func emptyBounds() {
	for capability := uintptr(0); ; capability++ {
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); err != nil || has < 0 {
			return // the kernel knows no more capabilities
		}
		if allThreads(unix.PR_CAPBSET_DROP, capability) != nil {
			return
		}
	}
}

// allThreads calls prctl(2) on each thread. In a program with cgo it does nothing: package syscall cannot do it there.
func allThreads(option, value uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, option, value, 0, 0, 0, 0)
	if errno != 0 && errno != syscall.ENOTSUP {
		return errno
	}
	return nil
}
