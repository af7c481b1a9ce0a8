package picture

// Host is what the README shows: some of the definitions that come with the agent.
func Host() []Chart {
	const m = "derived.host."
	return []Chart{
		{"CPU time, percent", 100, true, []Curve{
			{m + "cpu.user", "user"}, {m + "cpu.system", "system"}, {m + "cpu.wait", "wait for disks"}, {m + "cpu.steal", "steal"},
		}},
		{"Scores: 0 nothing waits, 1 something always does", 1, false, []Curve{
			{m + "saturation.cpu", "CPU"}, {m + "saturation.disk", "disk"}, {m + "saturation.memory", "memory"},
		}},
		{"Busiest disk, percent of time", 100, false, []Curve{
			{m + "disk.busiest", "busy"}, {m + "pressure.io", "something waited for it"},
		}},
		{"Slowest disk, milliseconds for a request", 0, false, []Curve{
			{m + "disk.slowest", "in the queue and in the disk"},
		}},
	}
}

// Columns returns the columns of charts, each once, in their order.
func Columns(charts []Chart) []string {
	var columns []string
	seen := make(map[string]bool)
	for _, c := range charts {
		for _, curve := range c.Curves {
			if !seen[curve.Column] {
				seen[curve.Column] = true
				columns = append(columns, curve.Column)
			}
		}
	}
	return columns
}
