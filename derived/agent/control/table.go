package control

import (
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
)

// Figures is what the agent counts about itself. Whoever does the work counts it, on any goroutine; the zero value is
// ready for use. [Table] has a row for each, or they are what is used of a limit.
type Figures struct {
	Requests    atomic.Uint64 // answered
	RequestTime Histogram     // from a request's arrival to the end of its reply
	Values      atomic.Uint64 // of derived metrics, served
	Evaluations atomic.Uint64
	Stale       atomic.Uint64 // metrics answered PM_ERR_AGAIN because no sample was young enough
	Repeated    atomic.Uint64 // metrics without a value because their sample was not new
	SampleAge   [FetchKinds]Histogram

	Contexts        atomic.Int64 // with a history
	ContextsDropped atomic.Uint64

	Connected       atomic.Bool
	UpstreamFetches atomic.Uint64
	UpstreamMetrics atomic.Uint64 // operands in these fetches
	UpstreamErrors  atomic.Uint64
	UpstreamTime    Histogram
	UpstreamBusy    atomic.Int64 // ns, in all
	SlowAgents      atomic.Int64 // sampled seldom
	Reconnects      atomic.Uint64
	Resets          atomic.Uint64 // of what is counted by agents that were restarted

	Definitions atomic.Int64
	Bound       atomic.Int64 // definitions that are served
	Failed      atomic.Int64 // definitions and files
	Expression  Peak         // bytes of the longest one
	Depth       Peak         // of the deepest expression
	Operands    Peak         // of the definition with most
	Instances   Peak         // of the operand with most
	Answer      Peak         // bytes of the longest one to a fetch of operands
	Reloads     atomic.Uint64
	ReloadTook  atomic.Int64 // ns, the last time

	Windows      atomic.Int64  // of functions over time, that are kept
	WindowValues atomic.Int64  // kept in these
	WindowTicks  atomic.Uint64 // samples that they took
	WindowGaps   atomic.Uint64 // samples that they should have had

	Debug atomic.Bool // stored
}

// SampleOldest is the greatest age of a sample that was served.
func (f *Figures) SampleOldest() (oldest time.Duration) {
	for i := range f.SampleAge {
		oldest = max(oldest, f.SampleAge[i].Longest())
	}
	return oldest
}

// FetchKind is what a fetch is to the context that it comes from. How fresh it can be depends on that.
type FetchKind int

// The kinds of fetches.
const (
	FirstFetch     FetchKind = iota // its coming shows in the requests before it
	SecondFetch                     // after an interval that is not known
	RegularFetch                    // foretold
	IrregularFetch                  // of a context that cannot be foretold
	FetchKinds
)

// The items of the metrics that can be stored.
const (
	Reload = 0
	Debug  = 40
)

// Singular stands for no instance domain.
const Singular = -1

// Table returns all metrics of derived.control by item, reading the source. The file help at the top of the source tree and
// docs/reference.md repeat it; tests compare them.
func Table(s *Source) []Metric {
	all := slices.Concat(figures(s), lists(s))
	slices.SortFunc(all, func(a, b Metric) int { return a.Item - b.Item })
	return all
}

// figures are the metrics that have one value, and the histograms.
func figures(s *Source) []Metric {
	f := s.Figures
	age := func(kind FetchKind) *Histogram { return &f.SampleAge[kind] }
	counted, inMillisec := pdu.Units{Count: 1}, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	counter := Shape{pdu.TypeU64, pdu.SemCounter, counted}
	gauge := Shape{pdu.TypeU32, pdu.SemInstant, counted}
	millis := Shape{pdu.TypeDouble, pdu.SemInstant, inMillisec}
	return []Metric{
		{
			Item: Reload, Name: "reload", Shape: Shape{pdu.TypeU32, pdu.SemDiscrete, counted}, Exported: 13,
			Short:   "number of times the configuration was read again",
			Long:    "Storing any value makes the agent read its configuration files again. Only root and the user\nthat the agent runs as may do so.",
			Stored:  "store anything to do so now",
			Content: count(&f.Reloads),
		},
		{
			Item: 1, Name: "definitions", Shape: gauge, Exported: 10,
			Short:   "number of definitions in the configuration files",
			Long:    "All of them, also those that are wrong or that cannot be computed on this host.",
			Content: count(&f.Definitions),
		},
		{
			Item: 2, Name: "bound", Shape: gauge, Exported: 11,
			Short:   "number of definitions that are served",
			Long:    "Definitions whose operands all exist and fit together.",
			Content: count(&f.Bound),
		},
		{
			Item: 3, Name: "failed", Shape: gauge, Exported: 12,
			Short: "number of definitions and files that are in error",
			Long: "Definitions that cannot be read or that break a rule of the language, and files that cannot be\n" +
				"read. Definitions of which an operand is missing on this host are not among them.\n" +
				"See derived.control.definition.error and the agent's log.",
			Content: count(&f.Failed),
		},
		{
			Item: 4, Name: "requests", Shape: counter, Exported: 20,
			Short:   "number of requests from pmcd that were answered",
			Content: count(&f.Requests),
		},
		{
			Item: 5, Name: "request_longest", Shape: millis, Exported: 22,
			Short:   "longest time that a request has taken",
			Long:    "From the arrival of a request to the end of its reply, since the agent was started. pmcd serves\nnobody during this time.",
			Content: duration(f.RequestTime.Longest),
		},
		{
			Item: 6, Name: "values", Shape: counter, Exported: 30,
			Short:   "number of values of derived metrics that were served",
			Content: count(&f.Values),
		},
		{
			Item: 7, Name: "evaluations", Shape: counter, Exported: 31,
			Short:   "number of moments for which metrics were computed",
			Long:    "Clients that are served from the same samples share one.",
			Content: count(&f.Evaluations),
		},
		{
			Item: 8, Name: "contexts", Shape: gauge, Exported: 32,
			Short:   "number of client contexts with a history",
			Long:    "A context that fetches several lists of metrics counts once for each list.",
			Content: count(&f.Contexts),
		},
		{
			Item: 9, Name: "sample.oldest", Shape: millis, Exported: 41,
			Short:   "greatest age of a sample that was served",
			Content: duration(f.SampleOldest),
		},
		{
			Item: 10, Name: "sample.stale", Shape: counter, Exported: 42,
			Short:   "number of times that a metric was not served because its sample was too old",
			Long:    "The client was told to try again. A sample is too old after 1 second, or 1.5 times the interval at\nwhich the client fetches, 90 seconds at most.",
			Content: count(&f.Stale),
		},
		{
			Item: 11, Name: "upstream.connected", Shape: Shape{pdu.TypeU32, pdu.SemInstant, pdu.Units{}}, Exported: 50,
			Short:   "whether the agent is connected to the pmcd that it samples (1) or not (0)",
			Content: truth(&f.Connected),
		},
		{
			Item: 12, Name: "upstream.fetches", Shape: counter, Exported: 51,
			Short:   "number of fetches that the agent has sent to pmcd",
			Content: count(&f.UpstreamFetches),
		},
		{
			Item: 13, Name: "upstream.metrics", Shape: counter, Exported: 52,
			Short:   "number of operands in the fetches that the agent has sent to pmcd",
			Content: count(&f.UpstreamMetrics),
		},
		{
			Item: 14, Name: "upstream.errors", Shape: counter, Exported: 53,
			Short:   "number of fetches that pmcd refused and connections that failed",
			Content: count(&f.UpstreamErrors),
		},
		{
			Item: 15, Name: "upstream.longest", Shape: millis, Exported: 55,
			Short:   "longest time that pmcd has taken for a fetch of the agent",
			Content: duration(f.UpstreamTime.Longest),
		},
		{
			Item: 16, Name: "reload_time", Shape: millis, Exported: 14,
			Short:   "time that it took to read the configuration and to look up its operands, the last time",
			Content: nanosec(&f.ReloadTook),
		},
		{
			Item: 17, Name: "version", Shape: Shape{pdu.TypeString, pdu.SemDiscrete, pdu.Units{}}, Exported: 1,
			Short:   "version of the agent",
			Content: Content{Singular, func(v *Values) { v.text(pdu.NoInst, s.Version) }},
		},
		{
			Item: 18, Name: "contexts_dropped", Shape: counter, Exported: 33,
			Short:   "number of client contexts whose history was dropped to make room for others",
			Long:    "It is bounded how many contexts have a history. Those idle longest are dropped, and start anew\nwith their next fetch.",
			Content: count(&f.ContextsDropped),
		},
		{
			Item: 19, Name: "upstream.slow_agents", Shape: gauge, Exported: 70,
			Short: "number of agents that are sampled seldom because they are slow",
			Long: "An agent that twice in a row held pmcd up for 100 milliseconds or more is asked so seldom that its\n" +
				"answers take a tenth of pmcd's time at most. Metrics computed from its own may have no value young\n" +
				"enough to be served meanwhile. The agent's log names it.",
			Content: count(&f.SlowAgents),
		},
		{
			Item: 29, Name: "upstream.busy", Shape: Shape{pdu.TypeDouble, pdu.SemCounter, inMillisec}, Exported: 59,
			Short:   "time that pmcd has taken for fetches of the agent",
			Long:    "Other requests that pmcd served before it came to these fetches are included.",
			Content: nanosec(&f.UpstreamBusy),
		},
		{
			Item: 50, Name: "upstream.reconnects", Shape: counter, Exported: 71,
			Short:   "number of times that the agent has connected to pmcd again",
			Long:    "All rate() and delta() begin anew then: nobody tells what was restarted meanwhile.",
			Content: count(&f.Reconnects),
		},
		{
			Item: 51, Name: "upstream.resets", Shape: counter, Exported: 72,
			Short: "number of times that rate() and delta() of an agent's metrics began anew",
			Long: "An agent was restarted, or has ended, and its counters begin anew, too. The agent's log names it. Where\n" +
				"pmcd does not tell about its agents (pmcd.agent.status, pmcd.seqnum) those of all agents count as one.",
			Content: count(&f.Resets),
		},
		{
			Item: 30, Name: "request_time", Shape: counter, Exported: 21,
			Short:   "number of requests by the time that they took",
			Long:    spreadText + "From the arrival of a request to the end of its reply.",
			Content: Distribution(&f.RequestTime),
		},
		{
			Item: 31, Name: "upstream.time", Shape: counter, Exported: 54,
			Short:   "number of fetches that the agent has sent to pmcd, by the time until their answer",
			Long:    spreadText + "While pmcd works on such a fetch it serves nobody else.",
			Content: Distribution(&f.UpstreamTime),
		},
		{
			Item: 32, Name: "sample.age.first", Shape: counter,
			Short:   "number of metrics served to first fetches by the age of their sample",
			Long:    spreadText + ageText + "These are the first fetches of a list of metrics by each context.",
			Content: Distribution(age(FirstFetch)),
		},
		{
			Item: 33, Name: "sample.age.second", Shape: counter,
			Short:   "number of metrics served to second fetches by the age of their sample",
			Long:    spreadText + ageText + "The second fetch of a context comes after an interval that is not known yet.",
			Content: Distribution(age(SecondFetch)),
		},
		{
			Item: 34, Name: "sample.age.regular", Shape: counter,
			Short:   "number of metrics served to foretold fetches by the age of their sample",
			Long:    spreadText + ageText + "These are the third and later fetches of contexts that fetch at regular intervals.",
			Content: Distribution(age(RegularFetch)),
		},
		{
			Item: 35, Name: "sample.age.irregular", Shape: counter,
			Short:   "number of metrics served to other fetches by the age of their sample",
			Long:    spreadText + ageText + "These are the third and later fetches of contexts that fetch at times of no pattern.",
			Content: Distribution(age(IrregularFetch)),
		},
		{
			Item: 36, Name: "sample.repeated", Shape: counter,
			Short:   "number of times that a metric had no value because nothing was new since its last fetch",
			Long:    "Metrics with delta() only: what has changed since is in the value of the next fetch. Without delta(), rate() has its former value.",
			Content: count(&f.Repeated),
		},
		{
			Item: 58, Name: "window.functions", Shape: gauge, Exported: 80,
			Short:   "number of functions over time that are kept",
			Long:    "Each is sampled at its interval, whoever asks. Those that several definitions have count once.",
			Content: count(&f.Windows),
		},
		{
			Item: 59, Name: "window.values", Shape: gauge, Exported: 81,
			Short:   "number of values that are kept for functions over time",
			Long:    "Each takes 8 bytes, one for stdev_sample() up to 16, for nth_percentile_sample() 20.",
			Content: count(&f.WindowValues),
		},
		{
			Item: 60, Name: "window.ticks", Shape: counter, Exported: 82,
			Short:   "number of samples that functions over time took",
			Long:    "Those of one interval are fetched together: upstream.fetches counts them once.",
			Content: count(&f.WindowTicks),
		},
		{
			Item: 61, Name: "window.gaps", Shape: counter, Exported: 83,
			Short:   "number of samples that functions over time should have taken and had no values of",
			Long:    "They came late or not at all, an operand had an error, or there was nothing to compare with for rate() and delta().",
			Content: count(&f.WindowGaps),
		},
		{
			Item: Debug, Name: "debug", Shape: Shape{pdu.TypeU32, pdu.SemDiscrete, pdu.Units{}},
			Short:   "whether the agent logs everything (1) or not (0)",
			Long:    "Only root and the user that the agent runs as may store a value, 0 or 1. Without one the options of\nthe agent's command line count, which this metric does not show.",
			Stored:  "can be stored",
			Content: truth(&f.Debug),
		},
		{
			Item: 47, Name: "log_left_out", Shape: counter,
			Short:   "number of messages that the agent's log has left out",
			Long:    "The log grows by so many bytes an hour at most (--log-limit), and says where messages are missing.",
			Content: Number(s.LeftOut),
		},
	}
}

const (
	spreadText = "Each instance counts those that are longer than the bound of the instance before and at most as\n" +
		"long as its own, which is its name, in milliseconds. "
	ageText = "The age is from the moment at which the agent asked for\nthe sample to the arrival of the request. "
)
