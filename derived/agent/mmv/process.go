package mmv

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// process is what the Go runtime tells about this process.
type process struct {
	heap, total uint64 // bytes
	goroutines  uint64
	collections uint64
	paused      time.Duration // in all collections
}

// processReader reads the figures of the process without stopping it, and without allocating once it has
// done so a first time.
type processReader struct {
	samples []metrics.Sample
	gc      debug.GCStats
}

func newProcessReader() *processReader {
	return &processReader{samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}}
}

func (r *processReader) read(p *process) {
	metrics.Read(r.samples)
	number := func(i int) uint64 {
		if v := r.samples[i].Value; v.Kind() == metrics.KindUint64 {
			return v.Uint64()
		}
		return 0 // a runtime that no longer has it
	}
	debug.ReadGCStats(&r.gc)
	*p = process{
		heap: number(0), total: number(1) - number(2), goroutines: number(3),
		collections: uint64(r.gc.NumGC), paused: r.gc.PauseTotal,
	}
}
