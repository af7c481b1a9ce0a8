// Package agent serves derived metrics: it is a PMDA, and a client of the same pmcd, which has the operands. This
// package has the request loop; the other parts are packages below it, its rooms.
//
//	pmcd ──pipe──► pmda.Server ──► request loop ──────► snapshot ◄── reload ──┐
//	                               │    │               (immutable, swapped)  ├─ upstream ── unix socket ──► pmcd
//	                               │    └► contexts ──► samples ◄─────────────┘
//	                               └► evaluations       (immutable)
//
// pmcd has one thread, which waits while an agent owes it a reply. So a handler answers from memory: from the snapshot
// (names, descriptors, texts) and from samples, which upstream has taken before on its own connections. The only things
// that a handler does towards pmcd are to write a small request, whose answer it does not wait for, and to read the
// answers that have arrived.
//
// # Goroutines
//
//	request loop   that of pmda.Server. Agent's handlers run on it. It alone owns clients, contexts and evaluations, so
//	               these need no lock: metadata.go, clients.go, fetch.go, contexts.go
//	reload         Reloader.Run builds snapshots and swaps them. It may wait for pmcd; nothing waits for it
//	upstream       several, started by Upstream.Run: they take samples and evaluate nothing
//	sampler        Sampler.Run evaluates the arguments of functions over time, at their ticks
//
// They share immutable values (a snapshot, a sample, the names of instances, results of functions over time), atomic
// counters (package control), and package upstream, with its lock. A request takes one other lock: that of package
// sampler, for functions over the time since the client's last fetch.
//
// # A fetch
//
// fetch.go has the state of the running fetch, the type fetch, and its functions in the order of the calls.
//
// # A context
//
// A context of a client with one list of metrics has a history of each of them: delta() and rate() continue from the
// sample that the context was served from before (package history). A history outlives a reload as long as the metric
// has the same operands (Series). It ends with the client, or when there are too many contexts and this one was idle
// longest.
//
// # Groups
//
// An aggregate by (KEY) makes instances of its own. derived.Groups has their names and numbers and belongs to the
// request loop. A new name gets its number, which is made from the name, while a request is served.
//
//	a group is     if it was in                                      for a client that requests
//	listed         a fetch of the last two minutes                   the instances of the domain: groups.go
//	found          a fetch since which derived.Groups remembers it   one instance by its name or number
//
// A request for the instances evaluates the newest samples, as a fetch does. These stay in the client's listing: its
// first fetch is answered from them, so that it has no group that the client was not told.
//
// # Rooms
//
//	reload     configuration, look-ups, snapshots
//	upstream   series of samples, and when they are sampled
//	pool       connections to pmcd, and how long pmcd is busy with their requests
//	queue      which operands wait, and what the next fetch contains; pure
//	sampler    samples and results of functions over time
//	history    the samples of a context by metric, and evaluations; pure
//	predict    when a context will fetch next, and when to sample for it; pure
//	slow       which agents are slow; pure
//	agents     requests to the agents of operands, and their names; pure
//	control    metrics about the agent itself
//	mmv        some of them in a memory-mapped file, which pmdammv serves
//
// The sub-commands use operand, freshness, served and identity, too: these are packages beside this one.
package agent
