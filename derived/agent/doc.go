// Package agent is the product: a PMDA that serves derived metrics, and a client of the pmcd that
// it serves.
//
//	pmcd ──pipe──► pmda.Server ──► Agent ──────► snapshot ◄─────── binder ──┐
//	                               │   │         (immutable, swapped)       ├── unix socket ──► pmcd
//	                               │   └► views ──► feeds ◄── sampler ──────┘
//	                               └► evaluations        samples (immutable)
//
// pmcd is single-threaded and stands still while an agent owes it a reply. So a request is answered
// from memory: from the snapshot (names, descriptors, texts) and from samples that the sampler has
// taken before, on connections of its own. The only thing a handler does towards pmcd is to write a
// small request that nobody waits for (request-ahead), and to read without waiting what pmcd has
// answered already.
//
//   - snapshot: everything that is known about the metrics served (package served), made anew by the binder whenever
//     definitions or the collector's name space change, and swapped as a whole.
//   - feed: the latest samples for one metric. It outlives the snapshot as long as the metric needs
//     the same operands.
//   - view: what one client context has seen of the metrics it fetches together: the samples from
//     which delta() and rate() continue for that client, and when it will fetch next.
//   - sampler: a small pool of connections with one outstanding FETCH each.
//   - binder: the goroutine that connects, looks up operands, builds snapshots and keeps identities.
//
// Handlers run on the goroutine of Server.Serve; the binder, the scheduler and one reader for each
// sampler connection are goroutines that Run starts and waits for.
package agent
