package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/test/pmcdtest"
)

// CPU returns the time that processes have spent on a processor so far, in user and kernel mode: of all threads, also
// of those that have ended.
func CPU(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		var t unix.Timespec
		clock := int32(^pid)<<3 | 2 // clock_getcpuclockid(3)
		if err := unix.ClockGettime(clock, &t); err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// Process has figures of the kernel about a process.
type Process struct {
	Age            time.Duration // to 10 ms
	Threads, Files int
	Resident       float64 // bytes
}

// ReadProcess reads the figures of a process.
func ReadProcess(pid int) (p Process, err error) {
	if p.Age, err = age(pid); err != nil {
		return p, err
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status") // stat is less exact about memory
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "Threads":
			p.Threads = n
		case "VmRSS":
			p.Resident = float64(n) * 1024
		}
	}
	files, err := os.ReadDir(dir + "fd")
	if errors.Is(err, fs.ErrPermission) { // only root may count those of the daemon
		err = nil
	}
	p.Files = len(files)
	return p, err
}

// age returns the time since the start of a process.
func age(pid int) (time.Duration, error) {
	const start, clockTicks = 19, 100 // field of stat; a second, on every Linux that Go supports
	_, stat, err := pmcdtest.Stat(pid)
	if err != nil {
		return 0, err
	}
	ticks, err := strconv.ParseInt(stat[start], 10, 64)
	if err != nil {
		return 0, err
	}
	var now unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano()) - time.Duration(ticks)*time.Second/clockTicks, err
}
