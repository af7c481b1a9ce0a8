// Package mmv exports a few figures of the agent as a memory-mapped file of PCP's MMV format,
// from which PCP's own MMV agent serves them as mmv.NAME.*, by default mmv.pmdaderived.*.
//
// These metrics are there when ours are not: pmcd reads them without asking us, so they tell how a daemon fares
// that pmcd has dropped or that a reply is stuck in. derived.control.* has more.
//
//	control.Table ──┬─► reader ──numbers──► Exporter ──what has changed──► file ─► speed ─► $PCP_TMP_DIR/mmv/NAME
//	the Go runtime ─┘   (all of the     (one goroutine,
//	                     table)          a look every 2 s)
//
// The states of the file:
//
//	state      next
//	no file    made at a look, unless the system refuses, which is logged once; then at the next
//	file       removed or cut short by somebody: no file. Replaced by another process: taken. The context ends: removed
//	taken      left alone until the other process removes it: no file
//	off        for good, with a line in the log: when speed panics
//
// Nothing here can hold up or end the agent: the goroutine of [Exporter.Run] has everything here for itself, reads atomic
// counters, takes no lock and never waits for anybody.
//
// speed writes the file. What we do about its faults is in file.go and docs/decisions/0006-wrap-speed.md.
//
// Sources: mmv(5), pmdammv(1).
package mmv
