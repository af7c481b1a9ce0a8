package pmcdtest

import (
	"runtime"
	"syscall"
)

// onHost runs start, which starts a process, so that the process and its children take name for the
// name of the machine. Where namespaces are not allowed they see the real one. An empty name changes nothing.
func onHost(name string, start func() error) error {
	if name == "" {
		return start()
	}
	started := make(chan error)
	go func() {
		// A namespace is a thread's. This one is never unlocked and ends with the goroutine.
		runtime.LockOSThread()
		if syscall.Unshare(syscall.CLONE_NEWUTS) == nil {
			_ = syscall.Sethostname([]byte(name)) // too long a name: pmcd refuses it as well
		}
		started <- start()
	}()
	return <-started
}
