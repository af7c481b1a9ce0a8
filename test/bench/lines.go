package bench

// lines is the table: the lines of the issue that asked for it, in its order, and what else is worth knowing.
func lines() []line {
	return []line{
		{
			what: "latency of a pmFetch of 1; 10 metrics / C agent", target: "≤ 1.05", limit: "0.97",
			most: []float64{1.05, 1.05}, measure: measureFewMetrics,
		},
		{
			what: "latency of 1,000 singular; 10,000 values / C agent", target: "≤ 0.80; ≤ 0.70", limit: "0.65; 0.55",
			most: []float64{0.80, 0.70}, measure: measureManyValues,
		},
		{
			what: "CPU of the agent to serve a value", unit: "ns", target: "≤ 5", limit: "2.3",
			most: []float64{5}, measure: measureServing,
		},
		{
			what: "evaluate a+b, per value: / libpcp; ns", target: "≤ 0.15; ≤ 4", limit: "0.75 ns",
			most: []float64{0.15, 4}, measure: measureSum,
		},
		{
			what: "evaluate 50 operators, per value", unit: "ns", target: "≤ 60", limit: "38",
			most: []float64{60}, measure: measureFifty,
		},
		{
			what: "refresh of 10,000; 100,000 values / CPU of one libpcp client", target: "≤ 0.35", limit: "0.13",
			most: []float64{0.35, 0.35}, measure: measureRefreshValues,
		},
		{
			what: "refresh of 1,000 scalars / libpcp; / pmie", target: "≤ 0.06; ≤ 0.25",
			most: []float64{0.06, 0.25}, measure: measureRefreshScalars,
		},
		{
			what: "exponent in the number of definitions, 100 to 5,000", target: "≤ 1.05", limit: "1",
			most: []float64{1.05}, measure: measureDefinitions,
		},
		{
			what: "exponent in instances, 100 to 100,000, changing; / same order", target: "≤ 1.1; ≤ 2", limit: "1",
			most: []float64{1.1, 2}, measure: measureInstances,
		},
		{
			what: "matchinst, 10,000 instances first seen; 10 % new", unit: "ms", target: "≤ 5; ≤ 3", limit: "1.5",
			most: []float64{5, 3}, measure: measureMatch,
		},
		{
			what: "5,000 definitions: parse, ms; first bind, s; reload, ms", target: "≤ 15; ≤ 0.75; ≤ 50", limit: "0.64 s bind",
			most: []float64{15, 0.75, 50}, measure: measureThousands,
		},
		{
			what: "reload of 5,000, one changed: until seen; longest request", unit: "ms", target: "≤ 100; ≤ 5",
			most: []float64{100, 5}, measure: measureReload,
		},
		{
			what: "name lookup, CPU of the agent, 10; 10,000 definitions", unit: "µs", target: "≤ 15, equal", limit: "6",
			most: []float64{15, 15}, measure: measureLookup,
		},
		{
			what: "memory per value: a+b; rate; ratio; 50 operators", unit: "B", target: "≤ 60; 80; 100; 150",
			limit: "(120; 165; 310; 2,560)", most: []float64{60, 80, 100, 150}, measure: measureMemoryValues,
		},
		{
			what: "memory per definition, B; bare process, MiB", target: "≤ 600; ≤ 16",
			most: []float64{600, 16}, measure: measureMemoryDefinitions,
		},
		{
			what: "whole system / client-side, 1,000 metrics, 1; 10; 50 clients", target: "≤ 0.30; 0.11; 0.075",
			limit: "0.24; 0.096; 0.062", most: []float64{0.30, 0.11, 0.075}, measure: measureWholeScalars,
		},
		{
			what: "the same, 100 metrics × 10 instances", target: "≤ 1.5; 0.70; 0.65",
			most: []float64{1.5, 0.70, 0.65}, measure: measureWholeInstances,
		},
		{
			what: "idle, CPU per second", unit: "ms", target: "≤ 0.1",
			most: []float64{0.1}, measure: measureIdle,
		},
		{
			what: "stall of another client during a refresh of 100,000 values, p99", unit: "ms", target: "≤ 2",
			most: []float64{2}, measure: measureStall,
		},
		{
			what: "allocations per value: scalars; instances", target: "≤ 0.01; ≤ 0.01",
			most: []float64{0.01, 0.01}, measure: measureAllocations,
		},
		{
			what:    "for comparison: Python, latency of 1; 1,000 / C; refresh / ours",
			measure: measurePython,
		},
	}
}
