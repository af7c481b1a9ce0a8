package pmda

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const (
	// monitorSlack is by how much a nap of the monitor may take longer.
	monitorSlack = 5 * time.Millisecond

	// spareThreads are enough for all that an agent does at once, beside one for each processor up to
	// maxProcessors.
	spareThreads  = 4
	maxProcessors = 4
)

// QuietMonitor lets the monitor thread of Go's scheduler sleep longer. After the first request that follows
// a pause it naps for 20 µs, some fifty times and ever longer, to find system calls that block; for an agent that
// costs several times what the request does. The kernel may now add some ms to each nap.
//
// That takes CAP_SYS_NICE, which root has outside containers, so it is called before [DropPrivileges]. An agent
// without it, or one that sees no /proc, gets an error and is none the worse.
//
// A goroutine that computes is interrupted after 15 ms instead of 10, and where all processors
// are in system calls others wait 5 ms for one, not some µs. That there are two at least is seen to here, since the
// request loop is always in one. docs/decisions/0008 has the figures.
func QuietMonitor() error {
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
	// A thread has the slack of the one that makes it, and timers of Go are to be on time. So the monitor must
	// have no reason to make any.
	makeThreads(spareThreads + min(runtime.GOMAXPROCS(0), maxProcessors))
	monitor, err := monitorThread()
	if err != nil {
		return fmt.Errorf("thread of the scheduler's monitor: %w", err)
	}
	slack := strconv.FormatInt(monitorSlack.Nanoseconds(), 10)
	return os.WriteFile("/proc/"+monitor+"/timerslack_ns", []byte(slack), 0)
}

// monitorThread finds the monitor: it is the first thread that the runtime makes. The kernel lists threads
// in that order, whatever their numbers are.
func monitorThread() (id string, err error) {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return "", err
	}
	defer tasks.Close()
	ids, err := tasks.Readdirnames(2)
	if err == nil && len(ids) < 2 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", err
	}
	return ids[1], nil
}

// makeThreads lets the runtime have at least n threads. It keeps them for later.
func makeThreads(n int) {
	var running, all sync.WaitGroup
	running.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			running.Done()
			running.Wait()
		})
	}
	all.Wait()
}
