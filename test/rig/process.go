package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time that processes have spent on a processor so far: all threads, those that have ended, too, in user and
// kernel mode.
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

// Process is what the kernel knows of a process.
type Process struct {
	Age            time.Duration // to 10 ms
	Threads, Files int
	Resident       float64       // bytes
	Ran, Waited    time.Duration // of all threads that there are: on a processor, and for one
}

// ReadProcess asks for it.
func ReadProcess(pid int) (p Process, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	if p.Age, err = age(dir + "stat"); err != nil {
		return p, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch {
		case name == "Threads" && err == nil:
			p.Threads = n
		case name == "VmRSS" && err == nil:
			p.Resident = float64(n) * 1024
		}
	}
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return p, err
	}
	p.Files = len(files)
	threads, err := filepath.Glob(dir + "task/*/schedstat")
	if err != nil {
		return p, err
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited time.Duration // ns
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			return p, fmt.Errorf("%s: %w", path, err)
		}
		p.Ran, p.Waited = p.Ran+ran, p.Waited+waited
	}
	return p, nil
}

// age is how long ago a process was started, by its stat file.
func age(stat string) (time.Duration, error) {
	const clockTicks = 100 // a second, on every Linux that Go supports
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, fmt.Errorf("%s is cut short", stat)
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
