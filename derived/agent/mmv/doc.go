// Package mmv exports what the agent counts about itself as a memory-mapped file of PCP's MMV format,
// from which PCP's own MMV agent serves it as mmv.NAME.*, by default mmv.pmdaderived.*.
//
// These metrics are there when ours are not: pmcd reads them without asking us, so they tell how a daemon fares
// that pmcd has dropped or that a reply is stuck in. derived.control.* has most of them and more.
//
//	control.Table ──┐
//	                ├─► reader ──numbers──► Exporter ──what has changed──► file ─► speed ─► $PCP_TMP_DIR/mmv/NAME
//	quantiles ──────┤   (all of the     (one goroutine,
//	the Go runtime ─┘    table)          a look every 2 s)
//
// What becomes of the file:
//
//	state      next
//	no file    made at a look, unless another process has it or the system refuses, which is logged once; then at the next
//	file       removed or cut short by somebody: no file. The context ends: removed
//	off        for good, with a line in the log: when anything else goes wrong
//
// Nothing here can hold up or end the agent: the goroutine of [Exporter.Run] has everything here for itself, reads atomic
// counters, takes no lock and never waits for anybody.
//
// The file is written under a name that the MMV agent does not look at and appears in its place complete. We hold a lock
// (flock(2)) on it while we use it. So a file without a lock is one that a crashed daemon has left, which is replaced, and
// one with a lock belongs to another daemon of that name, which is left alone until it ends.
//
// speed writes the file. What we do about its faults is in speed.go, file.go and docs/decisions/0006-wrap-speed.md.
//
// Sources: mmv(5), pmdammv(1).
package mmv
