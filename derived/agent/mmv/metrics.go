package mmv

import (
	"fmt"
	"os"
	"slices"
	"time"

	"pmdaderived/derived/agent/control"
	"pmdaderived/pdu"
)

// reader reads all metrics of the file. One goroutine uses it.
type reader struct {
	metrics []control.Metric // by item in the file, which is Exported
	process process
	recent  []*recent
	values  control.Values
}

// newReader makes the table of metrics: those of derived.control that are exported, and what is known only here.
func newReader(source *control.Source) *reader {
	figures := source.Figures
	r := &reader{process: newProcess()}
	for _, m := range control.Table(source) {
		if m.Exported != 0 {
			r.metrics = append(r.metrics, m)
		}
	}
	r.addRecent(23, "request_%s", "time that %s of the requests took at most", figures.RequestTime.Longest, &figures.RequestTime)
	ages := make([]*control.Histogram, control.FetchKinds)
	for i := range ages {
		ages[i] = &figures.SampleAge[i]
	}
	r.addRecent(43, "sample.age_%s", "age that %s of the samples served had at most", figures.SampleOldest, ages...)
	r.addRecent(56, "upstream.time_%s", "time that pmcd took at most for %s of the agent's fetches",
		figures.UpstreamTime.Longest, &figures.UpstreamTime)

	pid, started, process := uint64(os.Getpid()), uint64(time.Now().Unix()), &r.process
	counted, ms := pdu.Units{Count: 1}, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	size := control.Shape{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.Units{Space: 1}}
	own := func(m control.Metric, n func() uint64) {
		if n != nil {
			m.Content = control.Number(n)
		}
		r.metrics = append(r.metrics, m)
	}
	own(control.Metric{
		Exported: 2, Name: "pid", Shape: control.Shape{Type: pdu.TypeU32, Sem: pdu.SemDiscrete},
		Short: "process that the agent is",
	}, func() uint64 { return pid })
	own(control.Metric{
		Exported: 3, Name: "start_time",
		Shape: control.Shape{Type: pdu.TypeU64, Sem: pdu.SemDiscrete, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeSec}},
		Short: "when the agent was started, in seconds since 1970",
	}, func() uint64 { return started })
	own(control.Metric{
		Exported: 40, Name: "sample.age", Shape: control.Shape{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: counted},
		Short:   "number of metrics served by the age of their sample",
		Long:    "From the moment at which the agent asked for the sample to the arrival of the request.",
		Content: control.Distribution(ages...),
	}, nil)
	own(control.Metric{
		Exported: 60, Name: "memory.heap", Shape: size,
		Short: "memory in use by objects of the agent",
		Long:  "With those that the next garbage collection will find to be unused.",
	}, func() uint64 { return process.heap })
	own(control.Metric{
		Exported: 61, Name: "memory.total", Shape: size,
		Short: "memory that the agent has from the operating system",
		Long:  "Without the program itself and what it maps.",
	}, func() uint64 { return process.total })
	own(control.Metric{
		Exported: 62, Name: "goroutines", Shape: control.Shape{Type: pdu.TypeU32, Sem: pdu.SemInstant, Units: counted},
		Short: "number of goroutines",
	}, func() uint64 { return process.goroutines })
	own(control.Metric{
		Exported: 63, Name: "gc.cycles", Shape: control.Shape{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: counted},
		Short: "number of garbage collections",
	}, func() uint64 { return uint64(process.gc.NumGC) })
	own(control.Metric{
		Exported: 64, Name: "gc.pause_time", Shape: control.Shape{Type: pdu.TypeDouble, Sem: pdu.SemCounter, Units: ms},
		Short: "time that the agent stood still for garbage collections",
		Long:  "In total since it was started.",
	}, func() uint64 { return control.Millisec(process.gc.PauseTotal) })
	slices.SortFunc(r.metrics, func(a, b control.Metric) int { return int(a.Exported) - int(b.Exported) })
	return r
}

// addRecent adds the quantiles of what was added to histograms of late.
func (r *reader) addRecent(item uint32, name, short string, longest func() time.Duration, all ...*control.Histogram) {
	recent := &recent{longest: longest, all: all}
	r.recent = append(r.recent, recent)
	for i, q := range quantiles() {
		value := &recent.quantiles[i]
		r.metrics = append(r.metrics, control.Metric{
			Exported: item + uint32(i), Name: fmt.Sprintf(name, q.name),
			Shape: control.Shape{
				Type: pdu.TypeDouble, Sem: pdu.SemInstant, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec},
			},
			Short:   fmt.Sprintf(short, q.text),
			Long:    "Of those in the last minute, to within a bucket of the histogram and rounded up; 0 if there were none.",
			Content: control.Number(func() uint64 { return control.Millisec(*value) }),
		})
	}
}

// read returns the numbers of all metrics in the order of the table, those of a histogram bucket by bucket, until it is
// called again. The place of a number in this order is its slot. Texts never change.
func (r *reader) read(now time.Time) []uint64 {
	r.process.read()
	for _, recent := range r.recent {
		recent.update(now)
	}
	r.values.Reset()
	for i := range r.metrics {
		if r.metrics[i].Type != pdu.TypeString {
			r.metrics[i].Fill(&r.values)
		}
	}
	return r.values.Numbers
}
