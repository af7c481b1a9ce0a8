// Package control is what the agent tells about itself: derived.control.*.
//
//	who counts                        what is shown                          who reads
//
//	request loop ──┐                  Table: one row for each metric,
//	upstream ──────┼─► Figures ──┐    with item, name, type, texts    ┌─ Metrics ─ requests of pmcd
//	reload ────────┘  (atomics)  ├──►      and where its values ──────┼─ package mmv, every 2 s
//	                             │         come from                  └─ tests: help, docs/reference.md
//	definitions, files, limits ──┘
//	  (sequences of plain values, made by the agent while the request loop reads)
//
// A new metric is a field of [Figures] and a row of the [Table], both in table.go, and a line where it is counted. Its item is the
// next one, which TestItems knows: none is used twice.
// `go test ./internal/agent/control -update` writes the file help and docs/reference.md anew.
// `go test ./test -tags pcp -run 'TestDbpmda|TestStays' -update` shows the metric to dbpmda, and promises it
// for all of 1.x. One with a value for each definition, file or limit is a field and a row in lists.go, and a line in
// internal/agent/control.go.
//
// A new instance domain is a serial and a row of inDoms (control.go), and a sequence in [Source].
//
// [Figures] may be read and counted on any goroutine and has no lock. [Metrics] and the sequences of [Source] belong to the
// goroutine of the request loop.
package control
