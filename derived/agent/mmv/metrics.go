package mmv

import (
	"math"
	"time"

	"github.com/performancecopilot/speed/v4"

	"pmdaderived/derived/agent"
)

// metric is one exported metric. Those that derived.control.* has too have the same name, meaning, type and units there.
type metric struct {
	item  uint32 // of the PMID, 1 to 1023; never given to another metric
	name  string // below mmv.NAME; at most 63 bytes, as the MMV agent requires of format 1
	typ   speed.MetricType
	sem   speed.MetricSemantics
	units speed.MetricUnit
	short string // both texts: at most 255 bytes
	long  string

	// One of these has the value or the values.
	number func(*moment) uint64         // of typ, a double as its bits
	spread func(*moment) *agent.Buckets // one for each bucket
	text   func(*moment) string         // never changes
}

// moment is what the values of one moment are taken from.
type moment struct {
	version string
	started time.Time
	pid     int

	figures  agent.Figures
	process  process
	request  quantiles // of the last minute
	age      quantiles
	upstream quantiles
}

// Texts that several metrics share.
const (
	spreadText = "Each instance counts those that are longer than the bound of the instance before and at most as long as its own, " +
		"which is its name, in milliseconds."
	recentText = "Of those in the last minute, to within a bucket of the histogram and rounded up; 0 if there were none."
)

// table returns all metrics in the order in which tools show them.
func table() []metric {
	all := []metric{
		{
			item: 1, name: "version", typ: speed.StringType, short: "version of the agent",
			text: func(m *moment) string { return m.version },
		},
		{
			item: 2, name: "pid", typ: speed.Uint32Type, short: "process that the agent is",
			number: func(m *moment) uint64 { return uint64(m.pid) },
		},
		{
			item: 3, name: "start_time", typ: speed.Uint64Type, units: speed.SecondUnit,
			short:  "when the agent was started, in seconds since 1970",
			number: func(m *moment) uint64 { return uint64(m.started.Unix()) },
		},

		gauge(10, "definitions", "number of definitions in the configuration files",
			func(m *moment) uint64 { return uint64(m.figures.Definitions) }),
		gauge(11, "bound", "number of definitions that are served",
			func(m *moment) uint64 { return uint64(m.figures.Bound) }),
		gauge(12, "failed", "number of definitions and files that are in error",
			func(m *moment) uint64 { return uint64(m.figures.Failed) }),
		{
			item: 13, name: "reload", typ: speed.Uint32Type, units: speed.OneUnit,
			short:  "number of times the configuration was read again",
			number: func(m *moment) uint64 { return m.figures.Reloads },
		},
		millisec(14, "reload_time", "time that it took to read the configuration and to look up its operands, the last time", "",
			func(m *moment) float64 { return inMillisec(m.figures.ReloadTime) }),

		counter(20, "requests", "number of requests from pmcd that were answered",
			func(m *moment) uint64 { return m.figures.Requests }),
		histogram(21, "request_time", "number of requests by the time that they took",
			"From the arrival of a request to the end of its reply. pmcd serves nobody during this time.",
			func(m *moment) *agent.Buckets { return &m.figures.RequestTime }),
		millisec(22, "request_longest", "longest time that a request has taken", "Since the agent was started.",
			func(m *moment) float64 { return inMillisec(m.figures.RequestLongest) }),
		millisec(23, "request_median", "time that half of the requests took at most", recentText,
			func(m *moment) float64 { return m.request.median }),
		millisec(24, "request_p90", "time that 90 % of the requests took at most", recentText,
			func(m *moment) float64 { return m.request.p90 }),
		millisec(25, "request_p99", "time that 99 % of the requests took at most", recentText,
			func(m *moment) float64 { return m.request.p99 }),

		counter(30, "values", "number of values of derived metrics that were served",
			func(m *moment) uint64 { return m.figures.Values }),
		counter(31, "evaluations", "number of moments for which metrics were computed",
			func(m *moment) uint64 { return m.figures.Evaluations }),
		gauge(32, "contexts", "number of client contexts with a history",
			func(m *moment) uint64 { return uint64(m.figures.Contexts) }),
		counter(33, "contexts_dropped", "number of client contexts whose history was dropped to make room for others",
			func(m *moment) uint64 { return m.figures.ContextsDropped }),

		histogram(40, "sample.age", "number of metrics served by the age of their sample",
			"From the moment at which the agent asked for the sample to the arrival of the request.",
			func(m *moment) *agent.Buckets { return &m.figures.SampleAge }),
		millisec(41, "sample.oldest", "greatest age of a sample that was served", "Since the agent was started.",
			func(m *moment) float64 { return inMillisec(m.figures.SampleOldest) }),
		counter(42, "sample.stale", "number of times that a metric was not served because its sample was too old",
			func(m *moment) uint64 { return m.figures.Stale }),
		millisec(43, "sample.age_median", "age that half of the samples served had at most", recentText,
			func(m *moment) float64 { return m.age.median }),
		millisec(44, "sample.age_p90", "age that 90 % of the samples served had at most", recentText,
			func(m *moment) float64 { return m.age.p90 }),
		millisec(45, "sample.age_p99", "age that 99 % of the samples served had at most", recentText,
			func(m *moment) float64 { return m.age.p99 }),

		{
			item: 50, name: "upstream.connected", typ: speed.Uint32Type, sem: speed.InstantSemantics,
			short: "whether the agent is connected to the pmcd that it samples (1) or not (0)",
			number: func(m *moment) uint64 {
				if m.figures.Connected {
					return 1
				}
				return 0
			},
		},
		counter(51, "upstream.fetches", "number of fetches that the agent has sent to pmcd",
			func(m *moment) uint64 { return m.figures.UpstreamFetches }),
		counter(52, "upstream.metrics", "number of operands in the fetches that the agent has sent to pmcd",
			func(m *moment) uint64 { return m.figures.UpstreamMetrics }),
		counter(53, "upstream.errors", "number of fetches that pmcd refused and connections that failed",
			func(m *moment) uint64 { return m.figures.UpstreamErrors }),
		histogram(54, "upstream.time", "number of fetches that the agent has sent to pmcd, by the time until their answer",
			"While pmcd works on such a fetch it serves nobody else.",
			func(m *moment) *agent.Buckets { return &m.figures.UpstreamTime }),
		millisec(55, "upstream.longest", "longest time that pmcd has taken for a fetch of the agent", "Since the agent was started.",
			func(m *moment) float64 { return inMillisec(m.figures.UpstreamLongest) }),
		millisec(56, "upstream.time_median", "time that pmcd took at most for half of the agent's fetches", recentText,
			func(m *moment) float64 { return m.upstream.median }),
		millisec(57, "upstream.time_p90", "time that pmcd took at most for 90 % of the agent's fetches", recentText,
			func(m *moment) float64 { return m.upstream.p90 }),
		millisec(58, "upstream.time_p99", "time that pmcd took at most for 99 % of the agent's fetches", recentText,
			func(m *moment) float64 { return m.upstream.p99 }),
		{
			item: 59, name: "upstream.busy", typ: speed.DoubleType, sem: speed.CounterSemantics, units: speed.MillisecondUnit,
			short:  "time that pmcd has taken for fetches of the agent",
			long:   "Other requests that pmcd served before it came to these fetches are included.",
			number: func(m *moment) uint64 { return math.Float64bits(inMillisec(m.figures.UpstreamBusy)) },
		},
		{
			item: 60, name: "memory.heap", typ: speed.Uint64Type, sem: speed.InstantSemantics, units: speed.ByteUnit,
			short: "memory in use by objects of the agent", long: "With those that the next garbage collection will find to be unused.",
			number: func(m *moment) uint64 { return m.process.heap },
		},
		{
			item: 61, name: "memory.total", typ: speed.Uint64Type, sem: speed.InstantSemantics, units: speed.ByteUnit,
			short: "memory that the agent has from the operating system", long: "Without the program itself and what it maps.",
			number: func(m *moment) uint64 { return m.process.total },
		},
		gauge(62, "goroutines", "number of goroutines",
			func(m *moment) uint64 { return m.process.goroutines }),
		counter(63, "gc.cycles", "number of garbage collections",
			func(m *moment) uint64 { return m.process.collections }),
		{
			item: 64, name: "gc.pause_time", typ: speed.DoubleType, sem: speed.CounterSemantics, units: speed.MillisecondUnit,
			short: "time that the agent stood still for garbage collections", long: "In total since it was started.",
			number: func(m *moment) uint64 { return math.Float64bits(inMillisec(m.process.paused)) },
		},
		gauge(70, "upstream.slow_agents", "number of agents that are sampled seldom because they are slow",
			func(m *moment) uint64 { return uint64(m.figures.SlowAgents) }),
	}
	for i := range all {
		m := &all[i]
		if m.sem == speed.NoSemantics {
			m.sem = speed.DiscreteSemantics
		}
		if m.units == nil {
			m.units = speed.NewMetricUnit() // none
		}
	}
	return all
}

func gauge(item uint32, name, short string, value func(*moment) uint64) metric {
	return metric{
		item: item, name: name, typ: speed.Uint32Type, sem: speed.InstantSemantics, units: speed.OneUnit,
		short: short, number: value,
	}
}

func counter(item uint32, name, short string, value func(*moment) uint64) metric {
	return metric{
		item: item, name: name, typ: speed.Uint64Type, sem: speed.CounterSemantics, units: speed.OneUnit,
		short: short, number: value,
	}
}

func millisec(item uint32, name, short, long string, value func(*moment) float64) metric {
	return metric{
		item: item, name: name, typ: speed.DoubleType, sem: speed.InstantSemantics, units: speed.MillisecondUnit,
		short: short, long: long,
		number: func(m *moment) uint64 { return math.Float64bits(value(m)) },
	}
}

func histogram(item uint32, name, short, long string, value func(*moment) *agent.Buckets) metric {
	return metric{
		item: item, name: name, typ: speed.Uint64Type, sem: speed.CounterSemantics, units: speed.OneUnit,
		short: short, long: spreadText + " " + long, spread: value,
	}
}

func inMillisec(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// appendNumbers appends the numbers of the moment in the order of the table, those of a histogram
// bucket by bucket. The place of a number in this order is its slot.
func appendNumbers(dst []uint64, all []metric, m *moment) []uint64 {
	for i := range all {
		switch {
		case all[i].number != nil:
			dst = append(dst, all[i].number(m))
		case all[i].spread != nil:
			dst = append(dst, all[i].spread(m)[:]...)
		}
	}
	return dst
}
