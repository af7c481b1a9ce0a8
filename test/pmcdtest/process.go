package pmcdtest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Process is a living process: pmcd or one of its agents.
type Process struct {
	Pid  int
	Name string // of the program, cut to 15 bytes by the kernel
}

func (p Process) String() string { return fmt.Sprintf("%s(%d)", p.Name, p.Pid) }

// Processes returns pmcd and all its descendants, in order of process number. It is empty when pmcd does not run.
func (p *PMCD) Processes() []Process {
	if p.daemon == nil {
		return nil
	}
	return processes(p.daemon.pid)
}

// PidOf returns the number of the first process of a program: of pmcd or an agent.
func (p *PMCD) PidOf(program string) (pid int, ok bool) {
	for _, process := range p.Processes() {
		if process.Name == program {
			return process.Pid, true
		}
	}
	return 0, false
}

// processes returns the living processes of a session.
func processes(session int) []Process {
	var found []Process
	for pid := range pids {
		if stat, ok := readStat(pid); ok && stat.session == session && stat.living() {
			found = append(found, Process{Pid: pid, Name: stat.name})
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.Pid - b.Pid })
	return found
}

// marked returns the processes whose command line has the argument mark.
func marked(mark string) []int {
	var found []int
	for pid := range pids {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && slices.Contains(strings.Split(string(line), "\x00"), mark) {
			found = append(found, pid)
		}
	}
	return found
}

// pids yields the number of every process on the machine.
func pids(yield func(int) bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && !yield(pid) {
			return
		}
	}
}

func alive(pid int) bool {
	stat, ok := readStat(pid)
	return ok && stat.living()
}

// procStat is the part of /proc/PID/stat that is used here; see proc(5).
type procStat struct {
	name    string
	state   byte
	session int
}

// living returns false for a process that has ended and that its parent has not waited for yet.
func (s procStat) living() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (procStat, bool) {
	name, fields, err := Stat(pid)
	if err != nil {
		return procStat{}, false
	}
	session, err := strconv.Atoi(fields[3])
	return procStat{name: name, state: fields[0][0], session: session}, err == nil
}

// Stat reads /proc/PID/stat: the name of the program, and the fields behind it from the state on. Source: proc(5).
func Stat(pid int) (name string, fields []string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", nil, err
	}
	// PID (NAME) STATE PARENT GROUP SESSION ...; NAME may hold anything, parentheses too.
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	fields = strings.Fields(string(text[shut+1:]))
	if open < 0 || shut < open || len(fields) < 22 {
		return "", nil, fmt.Errorf("stat of process %d is cut short", pid)
	}
	return string(text[open+1 : shut]), fields, nil
}
