// Package soak runs the daemon under load and faults for any length of time, and checks every value that it serves:
// with thousands of definitions, dozens of clients of every kind, edits, and agents and pmcds that are killed and
// restarted. `make soak` runs it; docs/reliability.md has results.
//
//	wave, liars ══╗          ┌── edits (editor)
//	            pmcd ══ daemon
//	              ║ └── restarts, SIGHUPs, kills of wave (disturb)
//	              ╚══ clients, readers, tools ── judge ── tally ── rows (verdict)
//
//	table, err := soak.Run(ctx, soak.Options{Daemon: binary, Plan: soak.Full(10 * time.Minute), Log: os.Stdout})
//
// # How the right values are known
//
// The operands are those of the rig's agent, called wave: functions of the time of day of pmcd's request, and of
// nothing else. Each tells that time. So a client that fetches an operand beside definitions that use it knows the
// right values of all of them, and their instances. The delta() and the rate() of the operand tell the begin of each
// delta and rate of the same fetch, and the divisor in seconds. Steps must join without a gap: a step begins where
// the one of the fetch before ended. Such a set of metrics is a track.
//
// Values of a histogram that is reset change between ticks, so it does not matter when within its time a tick is sampled.
// Names and labels of instances are those of a time within the last 20 s, as docs/freshness.md says: a value may belong to
// any of these.
//
// The values do not depend on the process that computes them, so they stay right when wave is killed and started
// again: counters go on, and the next step begins where the last one ended.
//
// Clients of births see what its instances show in the sample of which they get the increase, so they know it
// without a track. The model has only to know since when an instance is there.
//
// # Rules
//
// A value that is served must be right at any time: otherwise it is a wrong value. No value is allowed during a
// disturbance, for [Grace] after it, and while the model knows that a label is refused, a name is not known or a tick is a
// gap. At any other time it is a missing value. The definitions under random edits are those of package reloadtest, which
// has its own rules.
//
// The program that calls [Run] calls [rig.Helper] before anything else.
package soak
