package dashboards

// Host shows the health of a host: the definitions that come with the agent.
func Host() Board {
	const m = "derived.host."
	scores := []curve{
		{m + "saturation.cpu", "CPU"},
		{m + "saturation.memory", "memory"},
		{m + "saturation.disk", "disk"},
		{m + "saturation.network", "network"},
		{m + "saturation.space", "space"},
	}
	return Board{
		name:        "host",
		title:       "Host health",
		description: "How busy, full and congested a host is, as derived metrics that its collector computes (pmdaderived).",
		rows: []row{
			{"At a glance", []panel{
				{
					title: "Scores", note: "From 0, nothing waits, to 1, something always waits or nothing is left.",
					kind: bars, unit: unitScore, max: 1, alarm: [2]float64{0.5, 0.8}, metrics: scores,
				},
				{
					title: "Worst", note: "The largest of all scores, and the largest without disk space.",
					kind: number, unit: unitScore, max: 1, alarm: [2]float64{0.5, 0.8},
					metrics: []curve{{m + "saturation.worst", "worst"}, {m + "saturation.demand", "demand"}},
				},
				{title: "Scores over time", kind: lines, unit: unitScore, max: 1, metrics: scores},
			}},
			{"CPU", []panel{
				{
					title: "Where the time goes", kind: stack, unit: unitPercent, max: 100,
					metrics: []curve{
						{m + "cpu.user", "user"}, {m + "cpu.system", "system"}, {m + "cpu.steal", "steal"}, {m + "cpu.wait", "wait for disks"},
					},
				},
				{
					title: "Busy", note: "All CPUs together, and the busiest: far apart where something can use only one.",
					kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "cpu.busy", "all CPUs"}, {m + "cpu.busiest", "busiest"}},
				},
				{title: "Each CPU", kind: lines, unit: unitPercent, max: 100, metrics: []curve{{m + "percpu.busy", perInstance}}},
				{title: "Load for each CPU", kind: lines, unit: unitNumber, metrics: []curve{{m + "load.per_cpu", perInstance}}},
			}},
			{"Pressure", []panel{
				{
					title: "Time that something waited", kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "pressure.cpu", "CPU"}, {m + "pressure.memory", "memory"}, {m + "pressure.io", "disk"}},
				},
				{
					title: "Time that everything waited", kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "pressure.memory_full", "memory"}, {m + "pressure.io_full", "disk"}},
				},
			}},
			{"Memory", []panel{
				{
					title: "Used", kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "mem.used", "memory"}, {m + "swap.used", "swap space"}, {m + "mem.unwritten", "not on disk yet"}},
				},
				{
					title: "In use and available", kind: stack, unit: unitKbytes,
					metrics: []curve{{m + "mem.in_use", "in use"}, {m + "mem.available", "available"}},
				},
				{
					title: "Swapping", kind: lines, unit: unitBytesSec,
					metrics: []curve{{m + "swap.in", "in"}, {m + "swap.out", "out"}},
				},
				{title: "Page faults that read a disk", kind: lines, unit: unitPerSec, metrics: []curve{{m + "mem.major_faults", "faults"}}},
			}},
			{"Disks", []panel{
				{title: "Busy", kind: lines, unit: unitPercent, max: 100, metrics: []curve{{m + "disk.busy", perInstance}, {m + "disk.busiest", "busiest"}}},
				{title: "Time for a request", kind: lines, unit: unitMillisec, metrics: []curve{{m + "disk.await", perInstance}, {m + "disk.slowest", "slowest"}}},
				{title: "Requests queued or in work", kind: lines, unit: unitNumber, metrics: []curve{{m + "disk.queue", perInstance}}},
			}},
			{"Work of disks", []panel{
				{title: "Requests", kind: lines, unit: unitRequests, metrics: []curve{{m + "disk.requests", perInstance}}},
				{title: "Throughput", kind: lines, unit: unitKbyteSec, metrics: []curve{{m + "disk.throughput", perInstance}}},
				{title: "Size of a request", kind: lines, unit: unitKbytes, metrics: []curve{{m + "disk.request_size", perInstance}}},
			}},
			{"File systems", []panel{
				{
					title: "Space", kind: bars, unit: unitPercent, max: 100, alarm: [2]float64{80, 95},
					metrics: []curve{{m + "fs.used", perInstance}},
				},
				{
					title: "Inodes", kind: bars, unit: unitPercent, max: 100, alarm: [2]float64{80, 95},
					metrics: []curve{{m + "fs.inodes_used", perInstance}},
				},
				{
					title: "Fullest", note: "Of those that can be written.", kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "fs.fullest", "space"}, {m + "fs.inodes_fullest", "inodes"}},
				},
			}},
			{"Network, without loopback", []panel{
				{title: "Data", kind: lines, unit: unitBytesSec, metrics: []curve{{m + "net.in", "in"}, {m + "net.out", "out"}}},
				{title: "Packets", kind: lines, unit: unitPackets, metrics: []curve{{m + "net.in_packets", "in"}, {m + "net.out_packets", "out"}}},
				{
					title: "Packets lost", kind: lines, unit: unitPackets,
					metrics: []curve{
						{m + "net.in_errors", "in, broken"},
						{m + "net.out_errors", "out, not sent"},
						{m + "net.in_drops", "in, dropped"},
						{m + "net.out_drops", "out, dropped"},
					},
				},
			}},
			{"Network", []panel{
				{
					title: "Share of the speed", note: "Of interfaces whose speed is known.", kind: lines, unit: unitPercent, max: 100,
					metrics: []curve{{m + "interface.in_used", perInstance + " in"}, {m + "interface.out_used", perInstance + " out"}},
				},
				{title: "TCP segments sent again", kind: lines, unit: unitPercent, metrics: []curve{{m + "net.tcp_retransmitted", "sent again"}}},
			}},
		},
	}
}
