package agent

import (
	"strings"
	"time"

	"pmdaderived/pdu"
)

// controls is the table of derived.control.*, by item. The file help at the top of the source tree
// repeats the texts for tools that read help files; a test compares them.
//
//nolint:gochecknoglobals // a table
var controls = makeControls()

func makeControls() []control {
	count := pdu.Units{Count: 1}
	millisec := pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}
	none := pdu.Units{}
	ms := func(ns int64) uint64 { return double(float64(ns) / 1e6) }
	return []control{
		{
			item: controlReload, name: "reload", typ: pdu.TypeU32, sem: pdu.SemDiscrete, units: count,
			short:  "number of times the configuration was read again; store anything to do so now",
			long:   "Storing any value makes the agent read its configuration files again. Only root and the user\nthat the agent runs as may do so.",
			number: func(a *Agent, _ *service) uint64 { return a.stats.reloads.Load() },
		},
		{
			item: 1, name: "definitions", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short:  "number of definitions in the configuration files",
			long:   "All of them, also those that are wrong or that cannot be computed on this host.",
			number: func(_ *Agent, s *service) uint64 { return uint64(len(s.metrics)) },
		},
		{
			item: 2, name: "bound", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short:  "number of definitions that are served",
			long:   "Definitions whose operands all exist and fit together.",
			number: func(_ *Agent, s *service) uint64 { return uint64(s.good) },
		},
		{
			item: 3, name: "failed", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short: "number of definitions and files that are in error",
			long: "Definitions that cannot be read or that break a rule of the language, and files that cannot be\n" +
				"read. Definitions of which an operand is missing on this host are not among them.\n" +
				"See derived.control.definition.error and the agent's log.",
			number: func(a *Agent, s *service) uint64 { return uint64(s.failed() + int(a.failures.Load())) },
		},
		{
			item: 4, name: "requests", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of requests from pmcd that were answered",
			number: func(a *Agent, _ *service) uint64 { return a.stats.requests.Load() },
		},
		{
			item: 5, name: "request_longest", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short:  "longest time that a request has taken",
			long:   "From the arrival of a request to the end of its reply, since the agent was started. pmcd serves\nnobody during this time.",
			number: func(a *Agent, _ *service) uint64 { return ms(a.stats.longest.Load()) },
		},
		{
			item: 6, name: "values", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of values of derived metrics that were served",
			number: func(a *Agent, _ *service) uint64 { return a.stats.values.Load() },
		},
		{
			item: 7, name: "evaluations", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of moments for which metrics were computed",
			long:   "Clients that are served from the same samples share one.",
			number: func(a *Agent, _ *service) uint64 { return a.stats.evaluations.Load() },
		},
		{
			item: 8, name: "contexts", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short:  "number of client contexts with a history",
			long:   "A context that fetches several lists of metrics counts once for each list.",
			number: func(a *Agent, _ *service) uint64 { return uint64(a.stats.contexts.Load()) },
		},
		{
			item: 9, name: "sample.oldest", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short:  "greatest age of a sample that was served",
			number: func(a *Agent, _ *service) uint64 { return ms(a.stats.oldest.Load()) },
		},
		{
			item: 10, name: "sample.stale", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of times that a metric was not served because its sample was too old",
			long:   "The client was told to try again. A sample is too old after 1 second, or 1.5 times the interval at\nwhich the client fetches, 90 seconds at most.",
			number: func(a *Agent, _ *service) uint64 { return a.stats.stale.Load() },
		},
		{
			item: 11, name: "upstream.connected", typ: pdu.TypeU32, sem: pdu.SemInstant, units: none,
			short:  "whether the agent is connected to the pmcd that it samples (1) or not (0)",
			number: func(a *Agent, _ *service) uint64 { return truth(a.stats.connected.Load()) },
		},
		{
			item: 12, name: "upstream.fetches", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of fetches that the agent has sent to pmcd",
			number: func(a *Agent, _ *service) uint64 { return a.stats.upstreamFetches.Load() },
		},
		{
			item: 13, name: "upstream.metrics", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of operands in the fetches that the agent has sent to pmcd",
			number: func(a *Agent, _ *service) uint64 { return a.stats.upstreamMetrics.Load() },
		},
		{
			item: 14, name: "upstream.errors", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of fetches that pmcd refused and connections that failed",
			number: func(a *Agent, _ *service) uint64 { return a.stats.upstreamErrors.Load() },
		},
		{
			item: 15, name: "upstream.longest", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short:  "longest time that pmcd has taken for a fetch of the agent",
			number: func(a *Agent, _ *service) uint64 { return ms(a.stats.upstreamLongest.Load()) },
		},
		{
			item: 16, name: "reload_time", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short:  "time that it took to read the configuration and to look up its operands, the last time",
			number: func(a *Agent, _ *service) uint64 { return ms(a.stats.reloadTook.Load()) },
		},
		{
			item: 17, name: "version", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "version of the agent",
			text:  func(a *Agent) string { return a.options.Version },
		},
		{
			item: 18, name: "contexts_dropped", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of client contexts whose history was dropped to make room for others",
			long:   "It is bounded how many contexts have a history. Those idle longest are dropped, and start anew\nwith their next fetch.",
			number: func(a *Agent, _ *service) uint64 { return a.stats.contextsDropped.Load() },
		},
		{
			item: 19, name: "upstream.slow_agents", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short: "number of agents that are sampled seldom because they are slow",
			long: "An agent that twice in a row held pmcd up for 100 milliseconds or more is asked so seldom that its\n" +
				"answers take a tenth of pmcd's time at most. Metrics computed from its own may have no value young\n" +
				"enough to be served meanwhile. The agent's log names it.",
			number: func(a *Agent, _ *service) uint64 { return uint64(a.stats.slowAgents.Load()) },
		},
		{
			item: 20, name: "definition.state", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "what becomes of each definition: bound, kept, unbound, failed or waiting",
			long: "bound    it is served\nkept     its new text is wrong; it is served as it was before\n" +
				"unbound  a metric that it uses does not exist on this host, so far\nfailed   it is wrong\n" +
				"waiting  the metrics that it uses have not been looked up yet",
			each: func(_ *Agent, m *metric, _ time.Time) (string, uint64) { return m.state, 0 },
		},
		{
			item: 21, name: "definition.error", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "why a definition is not served as it is written; empty if it is",
			each:  func(_ *Agent, m *metric, _ time.Time) (string, uint64) { return m.problem, 0 },
		},
		{
			item: 22, name: "definition.expression", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "expression of each definition",
			each:  func(_ *Agent, m *metric, _ time.Time) (string, uint64) { return strings.TrimSpace(m.def.Text), 0 },
		},
		{
			item: 23, name: "definition.pmid", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "metric identifier of each definition",
			each:  func(_ *Agent, m *metric, _ time.Time) (string, uint64) { return m.id.String(), 0 },
		},
		{
			item: 24, name: "definition.age", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short: "age of the newest sample for each definition that has one",
			each: func(a *Agent, m *metric, now time.Time) (string, uint64) {
				if age := a.sampleAge(m, now); age >= 0 {
					return "", ms(age)
				}
				return "", noNumber
			},
		},
		{
			item: 25, name: "definition.evaluated", typ: pdu.TypeDouble, sem: pdu.SemInstant, units: millisec,
			short: "time since each definition was computed for a client",
			long:  "Definitions that nobody has fetched have no value.",
			each: func(_ *Agent, m *metric, now time.Time) (string, uint64) {
				if m.usage.fetched.IsZero() {
					return "", noNumber
				}
				return "", ms(int64(now.Sub(m.usage.fetched)))
			},
		},
		{
			item: 26, name: "definition.values", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short: "number of values that each definition had when it was computed for a client the last time",
			long:  "Definitions that nobody has fetched have no value.",
			each: func(_ *Agent, m *metric, _ time.Time) (string, uint64) {
				if m.usage.fetched.IsZero() {
					return "", noNumber
				}
				return "", uint64(m.usage.values)
			},
		},
		{
			item: 29, name: "upstream.busy", typ: pdu.TypeDouble, sem: pdu.SemCounter, units: millisec,
			short:  "time that pmcd has taken for fetches of the agent",
			long:   "Other requests that pmcd served before it came to these fetches are included.",
			number: func(a *Agent, _ *service) uint64 { return ms(a.stats.upstreamBusy.Load()) },
		},
		{
			item: 30, name: "request_time", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of requests by the time that they took",
			long:   spreadText + "From the arrival of a request to the end of its reply.",
			spread: func(a *Agent, sum *Buckets) { a.stats.requestTime.add(sum) },
		},
		{
			item: 31, name: "upstream.time", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of fetches that the agent has sent to pmcd, by the time until their answer",
			long:   spreadText + "While pmcd works on such a fetch it serves nobody else.",
			spread: func(a *Agent, sum *Buckets) { a.stats.upstreamTime.add(sum) },
		},
		{
			item: 32, name: "sample.age.first", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of metrics served to first fetches by the age of their sample",
			long:   spreadText + ageText + "These are the first fetches of a list of metrics by each context.",
			spread: func(a *Agent, sum *Buckets) { a.stats.ages[firstFetch].add(sum) },
		},
		{
			item: 33, name: "sample.age.second", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of metrics served to second fetches by the age of their sample",
			long:   spreadText + ageText + "The second fetch of a context comes after an interval that is not known yet.",
			spread: func(a *Agent, sum *Buckets) { a.stats.ages[secondFetch].add(sum) },
		},
		{
			item: 34, name: "sample.age.regular", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of metrics served to foretold fetches by the age of their sample",
			long:   spreadText + ageText + "These are the third and later fetches of contexts that fetch at regular intervals.",
			spread: func(a *Agent, sum *Buckets) { a.stats.ages[regularFetch].add(sum) },
		},
		{
			item: 35, name: "sample.age.irregular", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of metrics served to other fetches by the age of their sample",
			long:   spreadText + ageText + "These are the third and later fetches of contexts that fetch at times of no pattern.",
			spread: func(a *Agent, sum *Buckets) { a.stats.ages[irregularFetch].add(sum) },
		},
		{
			item: 36, name: "sample.repeated", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of times that a metric had no value because nothing was new since its last fetch",
			long:   "Metrics with delta() only: what has changed since is in the value of the next fetch. Without delta(), rate() has its former value.",
			number: func(a *Agent, _ *service) uint64 { return a.stats.repeated.Load() },
		},
		{
			item: controlDebug, name: "debug", typ: pdu.TypeU32, sem: pdu.SemDiscrete, units: none,
			short:  "whether the agent logs everything (1) or not (0); can be stored",
			long:   "Only root and the user that the agent runs as may store a value, 0 or 1. Without one the options of\nthe agent's command line count, which this metric does not show.",
			number: func(a *Agent, _ *service) uint64 { return truth(a.debug) },
		},
		{
			item: 41, name: "file.state", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "whether each file of definitions was read",
			long: "read     it was read to its end\nfailed   so it was, and some of it is wrong: see derived.control.definition.error\n" +
				"unread   it was not read, or not to its end: see derived.control.file.error",
			file: func(_ *service, f *file) (string, uint64) { return f.state(), 0 },
		},
		{
			item: 42, name: "file.error", typ: pdu.TypeString, sem: pdu.SemDiscrete, units: none,
			short: "why a file of definitions was not read, or not to its end; empty if it was",
			long:  "What it defined before stays in service.",
			file:  func(_ *service, f *file) (string, uint64) { return f.Error, 0 },
		},
		{
			item: 43, name: "file.definitions", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short: "number of definitions that were read from each file",
			file:  func(_ *service, f *file) (string, uint64) { return "", uint64(f.Definitions) },
		},
		{
			item: 44, name: "file.failed", typ: pdu.TypeU32, sem: pdu.SemInstant, units: count,
			short: "number of mistakes in each file for which a definition could not be read",
			file:  func(_ *service, f *file) (string, uint64) { return "", uint64(f.Failed) },
		},
		{
			item: 45, name: "file.modified", typ: pdu.TypeU64, sem: pdu.SemDiscrete, units: pdu.Units{Time: 1, TimeScale: pdu.TimeSec},
			short: "time of each file of definitions when it was read",
			long:  "In seconds since 1970-01-01 00:00:00 UTC. Files that could not be read have none.",
			file: func(_ *service, f *file) (string, uint64) {
				if f.Modified.IsZero() {
					return "", noNumber
				}
				return "", uint64(f.Modified.Unix())
			},
		},
		{
			item: 46, name: "file.read", typ: pdu.TypeU64, sem: pdu.SemDiscrete, units: pdu.Units{Time: 1, TimeScale: pdu.TimeSec},
			short: "time at which each file of definitions was read",
			long:  "In seconds since 1970-01-01 00:00:00 UTC.",
			file:  func(s *service, _ *file) (string, uint64) { return "", uint64(s.read.Unix()) },
		},
		{
			item: 47, name: "log_left_out", typ: pdu.TypeU64, sem: pdu.SemCounter, units: count,
			short:  "number of messages that the agent's log has left out",
			long:   "The log grows by so many bytes an hour at most (--log-limit), and says where messages are missing.",
			number: func(a *Agent, _ *service) uint64 { return a.options.LeftOut() },
		},
		{
			item: 48, name: "limit.max", typ: pdu.TypeU64, sem: pdu.SemDiscrete, units: none,
			short: "what each limit of the agent allows",
			long: limitText + "What exceeds a limit fails alone. The options --limit and, for the log, --log-limit set them.\n" +
				"A log without a limit has no value.",
			limit: func(a *Agent, _ *service, l *limitMetric) uint64 { return l.max(a) },
		},
		{
			item: 49, name: "limit.used", typ: pdu.TypeU64, sem: pdu.SemInstant, units: none,
			short: "how much of each limit of the agent is used",
			long: limitText + "Of definitions, contexts and samples it is what there is now, of the log what counts towards\n" +
				"its limit now: that shrinks by the limit in an hour. Of the others it is the largest that has been\n" +
				"met since the agent was started. Expressions that are too long or too deep and answers that are\n" +
				"too long are not counted, definitions with too many operands and operands with too many\n" +
				"instances are. A log without a limit has no value.",
			limit: func(a *Agent, s *service, l *limitMetric) uint64 { return l.used(a, s) },
		},
	}
}

const (
	spreadText = "Each instance counts those that are longer than the bound of the instance before and at most as\n" +
		"long as its own, which is its name, in milliseconds. "
	limitText = "The unit differs: expression, samples, answer and log are in bytes, the others are counts.\n"
	ageText   = "The age is from the moment at which the agent asked for\nthe sample to the arrival of the request. "
)
