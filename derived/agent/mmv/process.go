package mmv

import (
	"runtime/debug"
	"runtime/metrics"
)

// process is what the Go runtime tells about this process, at the last call of read.
type process struct {
	heap, total uint64 // bytes
	goroutines  uint64
	gc          debug.GCStats
	samples     []metrics.Sample
}

func newProcess() process {
	return process{samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}}
}

// read does not stop the process, and allocates nothing but for the first time.
func (p *process) read() {
	metrics.Read(p.samples)
	number := func(i int) uint64 {
		if v := p.samples[i].Value; v.Kind() == metrics.KindUint64 {
			return v.Uint64()
		}
		return 0 // a runtime that no longer has it
	}
	debug.ReadGCStats(&p.gc)
	p.heap, p.total, p.goroutines = number(0), number(1)-number(2), number(3)
}
