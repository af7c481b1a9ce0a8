package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuClock is the kernel's clock of the CPU time of a process: all its threads, those that have ended
// too, in user and kernel mode.
func cpuClock(pid int) int32 { return int32(^pid)<<3 | 2 }

// cpuOf is the CPU time that processes have used so far.
func cpuOf(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		var t unix.Timespec
		if err := unix.ClockGettime(cpuClock(pid), &t); err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// ageOf is how long ago a process was started, to 10 ms.
func ageOf(pid int) (time.Duration, error) {
	const clockTicks = 100 // a second, on every Linux that Go supports
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return 0, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*time.Second/clockTicks, nil
}

// threadCPU is the CPU time of the calling thread, which the goroutine must be locked to.
func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// residentKiB is the resident memory of a process that is its own: VmRSS less file pages, and VmRSS.
func residentKiB(pid int) (own, all float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "VmRSS" {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		if err != nil {
			return 0, 0, err
		}
		if name == "VmRSS" {
			all = n
		} else {
			own = n
		}
	}
	return own, all, nil
}
