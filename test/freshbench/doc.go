// Package freshbench measures how fresh derived metrics are: it runs the daemon under a private pmcd,
// beside agents of its own and with stock tools as clients, and prints one table with what was promised
// and what was measured. `make bench-fresh` runs it; docs/freshness.md explains every row.
//
//	table, err := freshbench.Run(ctx, freshbench.Options{Daemon: binary, Plan: freshbench.Full(3 * time.Minute)})
//	err = table.Write(os.Stdout)
//	ok := table.OK()
//
// # Where the truth comes from
//
// The operands are those of an agent called clock: the time of day, and counters that follow from it. So a
// value says by itself when it was taken, to the microsecond, and from which moment a client's values are
// is seen in what the client prints. pmcd tells the clock about each client that connects, in front of
// anything that the client asks for, which orders the two exactly.
//
// Times at the moment of a reply are only known inside the daemon; they are read from
// derived.control.sample.age and held against what tools show outside.
//
// # Helpers
//
// pmcd starts the agents, and the measurements the clients, as processes of this very program: its main
// function calls [Helper] before anything else.
package freshbench
