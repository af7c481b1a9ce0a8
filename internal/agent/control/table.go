package control

import (
	"slices"
	"sync/atomic"

	"pmdaderived/pdu"
)

// Figures are the numbers that the agent counts about itself, on any goroutine. The zero value is ready for use.
type Figures struct {
	Requests    atomic.Uint64 // that have been answered
	RequestTime Histogram     // from the arrival of a request to the end of its reply
	Values      atomic.Uint64 // of derived metrics that were returned
	Stale       atomic.Uint64 // metrics that got PM_ERR_AGAIN because each sample was too old
	SampleAge   Histogram

	Contexts        atomic.Int64 // with a history
	ContextsDropped atomic.Uint64

	Connected       atomic.Bool
	UpstreamFetches atomic.Uint64
	UpstreamMetrics atomic.Uint64 // operands in these fetches
	UpstreamErrors  atomic.Uint64
	UpstreamBusy    atomic.Int64 // ns, since the start
	SlowAgents      atomic.Int64 // that rest or are sampled seldom

	Definitions atomic.Int64
	Bound       atomic.Int64 // definitions that are served
	Failed      atomic.Int64 // definitions and files
	Reloads     atomic.Uint64

	Windows     atomic.Int64  // that are sampled
	WindowTicks atomic.Uint64 // ticks with a sample

	Debug atomic.Bool // set by a store
}

// The items of the metrics that can be stored.
const (
	Reload = 0
	Debug  = 40
)

// nextItem is the item of the next new metric. No item is used twice, even if its metric has gone: archives keep PMIDs.
// TestItems has the items of metrics that have gone.
const nextItem = 67

// Singular is the Serial of a metric without an instance domain.
const Singular = -1

// Table returns all metrics of derived.control, by item. They read the source.
//
// To add a metric with one value, or a histogram:
//
//  1. Add a field to [Figures], and count where the event happens. Events of a FETCH are counted in
//     Agent.finishFetch, after the reply, unless only Agent.Fetch sees them. TestFiguresHaveRows fails without a row.
//  2. Add a row to singularMetrics. Its item is the number that nextItem has, not the constant. Then raise nextItem.
//     TestItems fails otherwise.
//  3. Run these commands, which write help, docs/reference.md, and the files that test/ compares:
//     go test ./internal/agent/control -update
//     go test ./test -tags pcp -run 'TestDbpmda|TestStays' -update
//
// To add a metric with one value for each definition, file or agent, add a field to [Definition], [File] or [Agent]
// and a row to instanceMetrics, and fill the field in internal/agent/control.go; then steps 2 and 3. Its test is a
// row of TestFetch.
//
// With Exported the metric is also in the MMV file: add go test ./internal/agent/mmv -update, which writes
// docs/mmv.md.
func Table(s *Source) []Metric {
	all := slices.Concat(singularMetrics(s), instanceMetrics(s))
	slices.SortFunc(all, func(a, b Metric) int { return a.Item - b.Item })
	return all
}

// singularMetrics returns the metrics with one value, and the histograms.
func singularMetrics(s *Source) []Metric {
	f := s.Figures
	counted, inMillisec := pdu.Units{Count: 1}, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	counter := Shape{pdu.TypeU64, pdu.SemCounter, counted}
	gauge := Shape{pdu.TypeU32, pdu.SemInstant, counted}
	millis := Shape{pdu.TypeDouble, pdu.SemInstant, inMillisec}
	return []Metric{
		{
			Item: Reload, Name: "reload", Shape: Shape{pdu.TypeU32, pdu.SemDiscrete, counted}, Exported: true,
			Short: "number of times that the agent has read its configuration again",
			Long: "Storing any value makes the agent read its configuration files again. Only root and the user who\n" +
				"starts the agent can store.",
			Stored:  "store any value to do so now",
			Content: count(&f.Reloads),
		},
		{
			Item: 1, Name: "definitions", Shape: gauge, Exported: true,
			Short:   "number of definitions in the configuration files",
			Long:    "This includes definitions that are wrong or that need metrics that this host does not have.",
			Content: count(&f.Definitions),
		},
		{
			Item: 2, Name: "bound", Shape: gauge,
			Short:   "number of definitions that are served",
			Long:    "These are the definitions without mistakes whose operands all exist.",
			Content: count(&f.Bound),
		},
		{
			Item: 3, Name: "failed", Shape: gauge, Exported: true,
			Short: "number of definitions and files with errors",
			Long: "These are definitions that are wrong and files that the agent cannot read. Definitions that need\n" +
				"metrics that this host does not have are not included.\n" +
				"See derived.control.definition.error and the log of the agent.",
			Content: count(&f.Failed),
		},
		{
			Item: 4, Name: "requests", Shape: counter, Exported: true,
			Short:   "number of requests from pmcd that the agent has answered",
			Content: count(&f.Requests),
		},
		{
			Item: 5, Name: "request_longest", Shape: millis, Exported: true,
			Short: "longest time that the agent has taken for a request",
			Long: "The time is from the arrival of a request to the end of its reply. pmcd serves no other client\n" +
				"meanwhile.",
			Content: duration(f.RequestTime.Longest),
		},
		{
			Item: 6, Name: "values", Shape: counter, Exported: true,
			Short:   "number of values of derived metrics that the agent has returned",
			Content: count(&f.Values),
		},
		{
			Item: 8, Name: "contexts", Shape: gauge,
			Short:   "number of client contexts that have a history",
			Long:    "A context that fetches several lists of metrics counts once for each list.",
			Content: count(&f.Contexts),
		},
		{
			Item: 10, Name: "sample.stale", Shape: counter, Exported: true,
			Short: "number of times that a metric had no value because its sample was too old",
			Long: "The client gets PM_ERR_AGAIN. A sample is too old after 1 second, or after 1.5 times the interval\n" +
				"of the client if that is longer, but never later than after 90 seconds.",
			Content: count(&f.Stale),
		},
		{
			Item: 11, Name: "upstream.connected", Shape: Shape{pdu.TypeU32, pdu.SemInstant, pdu.Units{}},
			Short:   "1 if the agent is connected to the pmcd of its operands, otherwise 0",
			Content: boolean(&f.Connected),
		},
		{
			Item: 12, Name: "upstream.fetches", Shape: counter, Exported: true,
			Short:   "number of fetches that the agent has sent to pmcd",
			Content: count(&f.UpstreamFetches),
		},
		{
			Item: 13, Name: "upstream.metrics", Shape: counter,
			Short:   "number of operands in the fetches that the agent has sent to pmcd",
			Content: count(&f.UpstreamMetrics),
		},
		{
			Item: 14, Name: "upstream.errors", Shape: counter, Exported: true,
			Short:   "number of fetches that pmcd has refused and connections that have failed",
			Content: count(&f.UpstreamErrors),
		},
		{
			Item: 17, Name: "version", Shape: Shape{pdu.TypeString, pdu.SemDiscrete, pdu.Units{}},
			Short:   "version of the agent",
			Content: Content{Singular, func(v *Values) { v.text(pdu.NoInst, s.Version) }},
		},
		{
			Item: 63, Name: "digest", Shape: Shape{pdu.TypeString, pdu.SemDiscrete, pdu.Units{}},
			Short: "digest of the definitions that are served; two hosts with the same digest serve the same",
			Long: "It covers the name, the expression, the type, the semantics and the units of each definition that\n" +
				"is served, so it differs if a metric that a definition needs does not exist on one of the hosts.\n" +
				"It does not cover help texts, labels, nor expressions in files that not everyone can read.",
			Content: Content{Singular, func(v *Values) { v.text(pdu.NoInst, s.Digest()) }},
		},
		{
			Item: 18, Name: "contexts_dropped", Shape: counter,
			Short: "number of client contexts that have lost their history to make room for others",
			Long: "The number of contexts with a history is limited. The client that holds most of them loses the\n" +
				"least recently used one. From then on rate() and delta() have no value when that client fetches\n" +
				"a list of metrics for the first time.",
			Content: count(&f.ContextsDropped),
		},
		{
			Item: 19, Name: "upstream.slow_agents", Shape: gauge,
			Short: "number of agents that are sampled less often because they are slow",
			Long: "An agent is slow if it has made pmcd wait for 100 milliseconds or more twice in a row. All slow\n" +
				"agents together are sampled so rarely that they take at most a tenth of pmcd's time. Definitions\n" +
				"that use their metrics may have no values meanwhile. The log of the agent names them.",
			Content: count(&f.SlowAgents),
		},
		{
			Item: 29, Name: "upstream.busy", Shape: Shape{pdu.TypeDouble, pdu.SemCounter, inMillisec},
			Short:   "time that pmcd has taken for fetches by the agent",
			Long:    "This includes other requests that pmcd has served before these fetches.",
			Content: nanoseconds(&f.UpstreamBusy),
		},
		{
			Item: 30, Name: "request_time", Shape: counter,
			Short: "number of requests by the time that they have taken",
			Long: "The name of an instance is an upper bound in milliseconds. The instance counts what is above the\n" +
				"next lower bound and not above its own. The time is from the arrival of a request to the end of\n" +
				"its reply.",
			Content: histogram(&f.RequestTime),
		},
		{
			Item: 66, Name: "sample.age", Shape: counter,
			Short: "number of metrics returned, by the age of the sample",
			Long: "The name of an instance is an upper bound in milliseconds. The instance counts what is above the\n" +
				"next lower bound and not above its own. The age is the time from the request for the sample to the\n" +
				"arrival of the fetch.",
			Content: histogram(&f.SampleAge),
		},
		{
			Item: 58, Name: "window.functions", Shape: gauge,
			Short: "number of functions over time",
			Long: "The agent samples each at its interval, even if no client asks. A function that several\n" +
				"definitions use counts once.",
			Content: count(&f.Windows),
		},
		{
			Item: 60, Name: "window.ticks", Shape: counter,
			Short:   "number of samples that functions over time have taken",
			Long:    "Functions with the same interval are fetched together: upstream.fetches counts that once.",
			Content: count(&f.WindowTicks),
		},
		{
			Item: Debug, Name: "debug", Shape: Shape{pdu.TypeU32, pdu.SemDiscrete, pdu.Units{}},
			Short: "1 if the agent logs debugging messages, otherwise 0",
			Long: "Only root and the user who starts the agent can store, 0 or 1. Until then the options on the command\n" +
				"line of the agent apply, which this metric does not show.",
			Stored:  "store 1 or 0 to change it",
			Content: boolean(&f.Debug),
		},
	}
}
