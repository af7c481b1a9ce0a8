//go:build profile

package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
)

// With the build tag profile the daemon tells about itself, for benchmarks: see test/bench. It writes
// into the folder $PMDADERIVED_PROFILE:
//
//	SIGUSR1  begins cpu.pprof, a profile of the CPU time; the next one ends it
//	SIGUSR2  heap.pprof, and memory.json with what is in use after a collection
var _ = watchProfileSignals(os.Getenv("PMDADERIVED_PROFILE"))

// memory is the content of memory.json.
type memory struct {
	HeapAlloc uint64 // bytes
	Mallocs   uint64 // so far
	Count     int    // of SIGUSR2
}

func watchProfileSignals(dir string) bool {
	if dir == "" {
		return false
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { // for as long as the process lives
		var cpu *os.File
		var m memory
		for sig := range signals {
			switch {
			case sig == syscall.SIGUSR2:
				m.Count++
				writeMemory(dir, m)
			case cpu == nil:
				cpu, _ = os.Create(filepath.Join(dir, "cpu.pprof")) // whoever waits for it sees that it fails
				_ = pprof.StartCPUProfile(cpu)
			default:
				pprof.StopCPUProfile()
				_ = cpu.Close()
				cpu = nil
			}
		}
	}()
	return true
}

func writeMemory(dir string, m memory) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.Mallocs = stats.Mallocs
	runtime.GC()
	runtime.GC() // what the first one only found to be free
	runtime.ReadMemStats(&stats)
	m.HeapAlloc = stats.HeapAlloc
	if heap, err := os.Create(filepath.Join(dir, "heap.pprof")); err == nil {
		_ = pprof.WriteHeapProfile(heap)
		_ = heap.Close()
	}
	report, err := json.Marshal(m)
	if err != nil {
		return
	}
	file := filepath.Join(dir, "memory.json")
	if os.WriteFile(file+".new", report, 0o644) == nil {
		_ = os.Rename(file+".new", file)
	}
}
