// Package agent is the product: a PMDA that serves derived metrics, and a client of the pmcd that
// it serves. Here is its request loop; the rest has rooms of its own below.
//
//	pmcd ──pipe──► pmda.Server ──► request loop ──────► snapshot ◄── reload ──┐
//	                               │    │               (immutable, swapped)  ├─ upstream ── unix socket ──► pmcd
//	                               │    └► contexts ──► samples ◄─────────────┘
//	                               └► evaluations       (immutable)
//
// pmcd is single-threaded and stands still while an agent owes it a reply. So a request is answered
// from memory: from the snapshot (names, descriptors, texts) and from samples that have been
// taken before, on connections of their own. The only thing a handler does towards pmcd is to write a
// small request that nobody waits for, and to read without waiting what pmcd has answered already.
//
// # Goroutines
//
//	request loop   pmda.Server's. Agent's handlers run on it, and it alone owns clients, their contexts and evaluations:
//	               no lock. metadata.go, clients.go, fetch.go, contexts.go
//	reload         Run's: see there. It builds snapshots and swaps them. It may wait for pmcd; nobody waits for it
//	upstream's     Run's: see there. They take samples and evaluate nothing
//	keeper         Run's: see there. It evaluates what functions over time are computed from, at their ticks
//
// # Groups
//
// An aggregate by (KEY) makes instances of its own. Their names and numbers (derived.Groups) belong to the request loop, which gives new names their numbers
// itself: they are made from the names. What is new it hands to the reload, which writes it down; nobody waits for that.
//
//	a group is     of                                               to
//	listed         the fetches of the last two minutes              who asks for the domain: groups.go
//	found          whatever derived.Groups remembers                who asks for one by name or number
//
// # Meeting points
//
// They meet in what is immutable (a snapshot, a sample, the names of instances, what functions over time come to), in counters (package control), and in
// package upstream, with its lock. The only other lock that a request takes is package sampler's, for functions over time since the last fetch.
//
// # A context
//
// A client context that fetches one list of metrics has a history of its own for each of them: delta() and rate() continue from
// the sample that it was served from before (package history).
//
// The history outlives a reload as long as the metric has the same operands (Series), and ends with the client, or
// when there are too many and this one was idle longest.
//
// # Rooms
//
//	reload     configuration, look-ups, snapshots
//	operand    samples, catalog and instance names as a pmcd shows them; pure
//	upstream   connections to pmcd, series of samples, the schedule
//	queue      which operands wait, and what the next fetch contains; pure
//	sampler    functions over time: when they are sampled, and what they come to
//	history    what a context has seen of a metric, and evaluations; pure
//	predict    when a context will fetch next; pure
//	slow       which agents are slow; pure
//	agents     what the agents of operands were asked for, and their names; pure
//	served     the immutable snapshot; pure
//	identity   PMIDs and their file
//	control    what the agent tells about itself
//	mmv        the same as a memory-mapped file, which others serve
package agent
