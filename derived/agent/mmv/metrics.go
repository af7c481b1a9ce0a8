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
	r := &reader{process: newProcess()}
	for _, m := range control.Table(source) {
		if m.Exported != 0 {
			r.metrics = append(r.metrics, m)
		}
	}
	r.addProcess()
	f := source.Figures
	ages := make([]*control.Histogram, control.FetchKinds)
	for i := range ages {
		ages[i] = &f.SampleAge[i]
	}
	r.add(40, "sample.age", control.Shape{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
		"number of metrics returned, by the age of the sample",
		"The age is the time from the request for the sample to the arrival of the fetch.", control.Distribution(ages...))
	r.addRecent(23, "request_%s", "time within which %s of the requests were answered", f.RequestTime.Longest, &f.RequestTime)
	r.addRecent(43, "sample.age_%s", "age that %s of the samples did not exceed", f.SampleOldest, ages...)
	r.addRecent(56, "upstream.time_%s", "time within which pmcd answered %s of the fetches by the agent",
		f.UpstreamTime.Longest, &f.UpstreamTime)
	slices.SortFunc(r.metrics, func(a, b control.Metric) int { return int(a.Exported) - int(b.Exported) })
	return r
}

func (r *reader) add(item uint32, name string, shape control.Shape, short, long string, content control.Content) {
	r.metrics = append(r.metrics, control.Metric{
		Exported: item, Name: name, Shape: shape, Short: short, Long: long, Content: content,
	})
}

// addProcess adds what is known of this process.
func (r *reader) addProcess() {
	count, ms := pdu.Units{Count: 1}, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	size := control.Shape{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.Units{Space: 1}}
	p, pid, started := &r.process, uint64(os.Getpid()), uint64(time.Now().Unix())
	r.add(2, "pid", control.Shape{Type: pdu.TypeU32, Sem: pdu.SemDiscrete},
		"process identifier of the agent", "", control.Number(func() uint64 { return pid }))
	r.add(3, "start_time",
		control.Shape{Type: pdu.TypeU64, Sem: pdu.SemDiscrete, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeSec}},
		"time at which the agent was started, in seconds since 1970", "", control.Number(func() uint64 { return started }))
	r.add(60, "memory.heap", size, "memory used by objects of the agent",
		"This includes objects that the next garbage collection will free.", control.Number(func() uint64 { return p.heap }))
	r.add(61, "memory.total", size, "memory that the agent has obtained from the operating system",
		"This does not include the program and mapped files.", control.Number(func() uint64 { return p.total }))
	r.add(62, "goroutines", control.Shape{Type: pdu.TypeU32, Sem: pdu.SemInstant, Units: count},
		"number of goroutines", "", control.Number(func() uint64 { return p.goroutines }))
	r.add(63, "gc.cycles", control.Shape{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: count},
		"number of garbage collections", "", control.Number(func() uint64 { return uint64(p.gc.NumGC) }))
	r.add(64, "gc.pause_time", control.Shape{Type: pdu.TypeDouble, Sem: pdu.SemCounter, Units: ms},
		"time that the agent was stopped for garbage collections", "The value is the total since the start of the agent.",
		control.Number(func() uint64 { return control.Millisec(p.gc.PauseTotal) }))
}

// addRecent adds the quantiles of what was added to histograms of late.
func (r *reader) addRecent(item uint32, name, short string, longest func() time.Duration, all ...*control.Histogram) {
	recent := &recent{longest: longest, all: all}
	r.recent = append(r.recent, recent)
	ms := control.Shape{
		Type: pdu.TypeDouble, Sem: pdu.SemInstant, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec},
	}
	for i, q := range quantiles() {
		value := &recent.quantiles[i]
		r.add(item+uint32(i), fmt.Sprintf(name, q.name), ms, fmt.Sprintf(short, q.text),
			"The value covers the last minute and is rounded up to a bound of the histogram; 0 if there was nothing.",
			control.Number(func() uint64 { return control.Millisec(*value) }))
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
