// Package mmv exports what the agent counts about itself as a memory-mapped file of PCP's MMV format,
// from which PCP's own MMV agent serves it as mmv.NAME.*, by default mmv.pmdaderived.*.
//
// These metrics are there when ours are not: pmcd reads them without asking us, so they tell how a daemon fares
// that pmcd has dropped or that a reply is stuck in. derived.control.* has the same figures and more.
//
//	e := mmv.New(mmv.Options{Dir: tmp + "/mmv", Name: "pmdaderived", Figures: agent.Figures, Log: log})
//	e.Run(ctx) // until ctx ends
//
// Nothing here can hold up or end the agent: the one goroutine in [Exporter.Run] reads atomic counters, once a
// second and every eight seconds while nobody asks the agent anything, writes those that have changed, and turns off
// for good, with one line in the log, when something goes wrong that a later attempt would not change. It never
// makes the directory, and never waits for anybody.
//
// # The file
//
// It is written under a name that the MMV agent does not look at and appears in its place complete, with metrics and
// instances in the order of the table. We hold a lock (flock(2)) on it while we use it. So a file without a
// lock is one that a crashed daemon has left, which is replaced, and one with a lock belongs to another
// daemon of that name, which is left alone until it ends. The file is removed at the end.
//
// speed writes the file. What we do about its faults is in file.go and
// docs/decisions/0006-wrap-speed.md.
//
// Sources: mmv(5), pmdammv(1).
package mmv
