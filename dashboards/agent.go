package dashboards

// Agent shows how the agent for derived metrics is doing. What it needs is mostly below mmv.pmdaderived,
// which can be read even when the agent does not answer.
func Agent() Board {
	const m, c = "mmv.pmdaderived.", "derived.control."
	percentiles := func(name string) []curve {
		return []curve{{m + name + "_median", "50 %"}, {m + name + "_p90", "90 %"}, {m + name + "_p99", "99 %"}}
	}
	const lastMinute = "Of the last minute, so at most: values are bounds of classes."
	return Board{
		name:        "agent",
		title:       "Agent for derived metrics",
		description: "What pmdaderived serves, how fresh that is, what it asks of pmcd, and what it needs.",
		rows: []row{
			{"Definitions", []panel{
				{
					title: "Definitions", note: "Those that are neither served nor wrong use metrics that the host does not have.",
					kind: number, unit: unitNumber,
					metrics: []curve{{m + "definitions", "all"}, {m + "bound", "served"}},
				},
				{
					title: "Wrong", note: "derived.control.definition.error says why.", kind: number, unit: unitNumber, alarm: [2]float64{1, 10},
					metrics: []curve{{m + "failed", "wrong"}},
				},
				{
					title: "Connected to pmcd", kind: number, unit: unitNumber, max: 1,
					metrics: []curve{{m + "upstream.connected", "connected"}},
				},
				{
					title: "Slow agents", note: "Agents of other metrics that are sampled seldom because they hold pmcd up.",
					kind: number, unit: unitNumber, alarm: [2]float64{1, 3},
					metrics: []curve{{m + "upstream.slow_agents", "agents"}},
				},
				{
					title: "Time of the last reload", kind: number, unit: unitMillisec,
					metrics: []curve{{m + "reload_time", "reload"}},
				},
			}},
			{"Requests", []panel{
				{
					title: "Requests, values, evaluations", kind: lines, unit: unitPerSec,
					metrics: []curve{{m + "requests", "requests"}, {m + "values", "values"}, {m + "evaluations", "evaluations"}},
				},
				{
					title: "Time for a request", note: lastMinute + " pmcd serves nobody during a request.", kind: lines, unit: unitMillisec,
					metrics: percentiles("request"),
				},
				{title: "Clients with a history", kind: lines, unit: unitNumber, metrics: []curve{{m + "contexts", "clients"}}},
			}},
			{"Freshness", []panel{
				{title: "Age of values", note: lastMinute, kind: lines, unit: unitMillisec, metrics: percentiles("sample.age")},
				{
					title: "Not served", note: "Too old; or nothing new for delta(); or the history dropped to make room.",
					kind: lines, unit: unitPerSec,
					metrics: []curve{
						{m + "sample.stale", "too old"}, {c + "sample.repeated", "nothing new"}, {m + "contexts_dropped", "history dropped"},
					},
				},
			}},
			{"What is asked of pmcd", []panel{
				{
					title: "Fetches", kind: lines, unit: unitPerSec,
					metrics: []curve{{m + "upstream.fetches", "fetches"}, {m + "upstream.errors", "errors"}},
				},
				{title: "Metrics fetched", kind: lines, unit: unitPerSec, metrics: []curve{{m + "upstream.metrics", "metrics"}}},
				{title: "Time for a fetch", note: lastMinute, kind: lines, unit: unitMillisec, metrics: percentiles("upstream.time")},
			}},
			{"Resources", []panel{
				{
					title: "Memory", kind: lines, unit: unitBytes,
					metrics: []curve{{m + "memory.heap", "objects"}, {m + "memory.total", "from the system"}},
				},
				{title: "Goroutines", kind: lines, unit: unitNumber, metrics: []curve{{m + "goroutines", "goroutines"}}},
				{title: "Garbage collections", kind: lines, unit: unitPerSec, metrics: []curve{{m + "gc.cycles", "collections"}}},
				{title: "Messages left out of the log", kind: lines, unit: unitPerSec, metrics: []curve{{c + "log_left_out", "messages"}}},
			}},
		},
	}
}
