package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// figures are what the daemon holds and has done, by itself (mmv.pmdaderived) and by the kernel.
type figures struct {
	at                  time.Time
	pid                 int
	threads, files      int
	resident, heap      int // bytes
	goroutines          int
	collections         int // of garbage
	bound, failed       int
	contexts            int // with a history
	longest             time.Duration
	requests, evaluated uint64
	ran, waited         time.Duration // of all threads: on a processor, and for one
}

// figures asks pmcd; those of mmv are a second old at most.
func (s *scene) figures(ctx context.Context) (f figures, err error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return f, err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	longest := 0
	numbers := []struct {
		name string
		to   func(float64)
	}{
		{"pid", func(x float64) { f.pid = int(x) }},
		{"goroutines", func(x float64) { f.goroutines = int(x) }},
		{"gc.cycles", func(x float64) { f.collections = int(x) }},
		{"memory.heap", func(x float64) { f.heap = int(x) }},
		{"bound", func(x float64) { f.bound = int(x) }},
		{"failed", func(x float64) { f.failed = int(x) }},
		{"contexts", func(x float64) { f.contexts = int(x) }},
		{"request_longest", func(x float64) { longest = int(x * 1e6) }},
		{"requests", func(x float64) { f.requests = uint64(x) }},
		{"evaluations", func(x float64) { f.evaluated = uint64(x) }},
	}
	var names []string
	for _, n := range numbers {
		names = append(names, "mmv.pmdaderived."+n.name)
	}
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return f, err
	}
	ids := make([]pdu.PMID, len(names))
	for i, n := range found {
		if n.Code < 0 {
			return f, fmt.Errorf("%s: %w", names[i], n.Code)
		}
		ids[i] = n.PMID
	}
	descs, err := conn.Descs(ctx, ids)
	if err != nil {
		return f, err
	}
	res, err := conn.Fetch(ctx, ids)
	if err != nil {
		return f, err
	}
	for i, set := range res.Sets {
		if len(set.Values) != 1 {
			return f, fmt.Errorf("%s: no value: %w", names[i], set.Code)
		}
		v := &set.Values[0]
		numbers[i].to(v.TypeOr(descs[i].Desc.Type).Float64(v.Bits))
	}
	f.longest, f.at = time.Duration(longest), time.Now()
	return f, f.readProcess()
}

// readProcess asks the kernel.
func (f *figures) readProcess() error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch {
		case name == "Threads" && err == nil:
			f.threads = n
		case name == "VmRSS" && err == nil:
			f.resident = n << 10
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.pid))
	if err != nil {
		return err
	}
	f.files = len(files)
	return f.readSchedule()
}

// readSchedule sums up what the kernel's scheduler knows of the threads.
func (f *figures) readSchedule() error {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", f.pid))
	if err != nil {
		return err
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited time.Duration // ns
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		f.ran, f.waited = f.ran+ran, f.waited+waited
	}
	return nil
}

// heading stands above what the run prints at each interval.
const heading = "   time    fetches     values  wrong missing  calls tools excused reloads  memory    heap goroutines threads files contexts  worst ms"

func (r *run) intervalLine(f figures) string {
	t := r.tally
	return fmt.Sprintf("%7.0f %10d %10d %6d %7d %6d %5d %7d %7d %5.1f M %5.1f M %10d %7d %5d %8d %9.1f",
		time.Since(t.begin).Seconds(), t.fetches.Load(), t.values.Load(), t.problems[wrongValue].Load(), t.problems[missingValue].Load(),
		t.problems[failedCall].Load(), t.problems[failedTool].Load(), t.excused.Load(), r.editor.count(),
		float64(f.resident)/1e6, float64(f.heap)/1e6, f.goroutines, f.threads, f.files, f.contexts, f.longest.Seconds()*1e3)
}
