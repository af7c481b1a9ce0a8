// Package freshbench measures how fresh derived metrics are: it runs the daemon under a private pmcd,
// beside agents of the rig and with stock tools as clients, and returns one table with what was promised
// and what was measured. `make bench-fresh` runs it; README.md explains every row.
//
//	table, err := freshbench.Run(ctx, freshbench.Options{Daemon: binary, Plan: freshbench.Full(3 * time.Minute, ".")})
//
// Times at the moment of a reply are only known inside the daemon; they are read from derived.control.sample.age and held
// against what tools show outside. The program that calls Run calls [rig.Helper] before anything else.
package freshbench
