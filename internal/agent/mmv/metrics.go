package mmv

import (
	"os"
	"runtime/metrics"

	"pmdaderived/internal/agent/control"
	"pmdaderived/pdu"
)

// reader reads all metrics of the file, which are singular numbers. It belongs to one goroutine.
type reader struct {
	metrics []control.Metric
	runtime []metrics.Sample
	values  control.Values
}

// newReader returns a reader of the metrics of derived.control that are exported, and of some that only the MMV file
// has.
func newReader(figures *control.Figures) *reader {
	r := &reader{runtime: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}}
	for _, m := range control.Table(&control.Source{Figures: figures}) {
		if m.Exported {
			r.metrics = append(r.metrics, m)
		}
	}
	pid := uint64(os.Getpid())
	r.add("pid", control.Shape{Type: pdu.TypeU32, Sem: pdu.SemDiscrete}, "process identifier of the agent",
		func() uint64 { return pid })
	r.add("memory.heap", control.Shape{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.Units{Space: 1}},
		"memory used by objects of the agent", func() uint64 { return r.runtimeValue(0) })
	r.add("goroutines", control.Shape{Type: pdu.TypeU32, Sem: pdu.SemInstant, Units: pdu.Units{Count: 1}},
		"number of goroutines", func() uint64 { return r.runtimeValue(1) })
	return r
}

func (r *reader) add(name string, shape control.Shape, short string, number func() uint64) {
	r.metrics = append(r.metrics, control.Metric{Name: name, Shape: shape, Short: short, Content: control.Number(number)})
}

// runtimeValue returns a number of the Go runtime, as it was at the last read.
func (r *reader) runtimeValue(i int) uint64 {
	if v := r.runtime[i].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0 // a runtime that no longer has it
}

// read returns the numbers of all metrics in the order of r.metrics. They are valid until the next call. Only the
// first call allocates.
func (r *reader) read() []uint64 {
	metrics.Read(r.runtime)
	r.values.Reset()
	for i := range r.metrics {
		r.metrics[i].Fill(&r.values)
	}
	return r.values.Numbers
}
