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
// The states of the file:
//
//	state      becomes
//	no file    file, at an update, unless the system refuses; the refusal is logged once
//	file       no file, if it was removed or cut short, or when the context ends
//	           taken, if another process has replaced it
//	taken      no file, when the other process has removed its own
//	any        off, if speed panics: this is logged, and Run returns
//
// The goroutine of [Exporter.Run] owns everything here. It reads atomic counters, takes no lock and waits for no other
// goroutine, so it can neither delay nor end the agent.
//
// speed writes the file. file.go and docs/decisions/0006-wrap-speed.md say what the package does about its faults.
//
// Sources: mmv(5), pmdammv(1).
package mmv
