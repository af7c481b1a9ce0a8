// Package mmv exports a few figures of the agent as a memory-mapped file of PCP's MMV format, from which PCP's own MMV
// agent serves them as mmv.NAME.*, by default mmv.pmdaderived.*.
//
// pmcd reads these metrics without asking this agent. So they are there when the agent's own metrics are not: when pmcd
// has dropped it, or when a reply is stuck. derived.control.* has more metrics.
//
//	control.Table ──┬─► reader ──numbers──► Exporter ──changed numbers──► file ─► speed ─► $PCP_TMP_DIR/mmv/NAME
//	the Go runtime ─┘   (exported       (one goroutine,
//	                     rows)           update every 2 s)
//
// The file is made once, at the start. If the system refuses it, if it is removed, replaced or cut short later, or if
// speed panics, this is logged, and there are no metrics until the agent is started again.
//
// The goroutine of [Exporter.Run] owns everything here. It reads atomic counters, takes no lock and waits for no other
// goroutine, so it can neither delay nor end the agent.
//
// speed writes the file. file.go and docs/decisions/0006-wrap-speed.md say what the package does about its faults.
//
// Sources: mmv(5), pmdammv(1).
package mmv
