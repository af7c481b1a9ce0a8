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

// With the build tag profile the daemon tells about itself, for benchmarks: see test/bench. SIGUSR1 begins a profile of the
// CPU time, and the next one ends it: then there are in the folder $PMDADERIVED_PROFILE cpu.pprof and, once it is complete,
// heap.pprof, what is in use after a collection.
var _ = watchProfileSignals(os.Getenv("PMDADERIVED_PROFILE"))

func watchProfileSignals(dir string) bool {
	if dir == "" {
		return false
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() { // for as long as the process lives
		for {
			<-signals
			cpu, _ := os.Create(filepath.Join(dir, "cpu.pprof")) // whoever waits for it sees that it fails
			_ = pprof.StartCPUProfile(cpu)
			<-signals
			pprof.StopCPUProfile()
			_ = cpu.Close()
			writeHeap(filepath.Join(dir, "heap.pprof"))
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
