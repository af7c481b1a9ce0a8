// Package control has the metrics of the agent about itself, derived.control.*.
//
//	counted by                        table                                  read by
//
//	request loop ──┐                  Table: one row for each metric,
//	upstream ──────┼─► Figures ──┐    with item, name, type, texts    ┌─ Metrics ─ requests of pmcd
//	reload, … ─────┘  (atomics)  ├──►      and where its values ──────┼─ package mmv, every 2 s
//	                             │         come from                  └─ tests: help, docs/reference.md
//	definitions, files, agents ──┘
//	  (sequences in Source, which the agent makes during a request)
//
// [Table] says how to add a metric.
//
// The package has no goroutine. Any goroutine may count and read [Figures], which has no lock. [Metrics] and the
// sequences of [Source] belong to the goroutine of the request loop.
package control
