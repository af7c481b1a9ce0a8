//go:build profile

package main

import (
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
//	SIGUSR2  heap.pprof, what is in use after a collection
var _ = watchProfileSignals(os.Getenv("PMDADERIVED_PROFILE"))

func watchProfileSignals(dir string) bool {
	if dir == "" {
		return false
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { // for as long as the process lives
		var cpu *os.File
		for sig := range signals {
			switch {
			case sig == syscall.SIGUSR2:
				writeHeap(filepath.Join(dir, "heap.pprof"))
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

// writeHeap makes the file when it is complete.
func writeHeap(file string) {
	runtime.GC()
	runtime.GC() // what the first one only found to be free
	if heap, err := os.Create(file + ".new"); err == nil {
		_ = pprof.WriteHeapProfile(heap)
		_ = heap.Close()
		_ = os.Rename(file+".new", file)
	}
}
