// Package soak runs the daemon under everything at once, for as long as you like, and checks what it serves
// meanwhile: thousands of definitions, dozens of clients of every kind, edits, agents and pmcds that come and go.
// `make soak` runs it; docs/reliability.md says what it found.
//
//	table, err := soak.Run(ctx, soak.Options{Daemon: binary, Plan: soak.Full(10 * time.Minute), Log: os.Stdout})
//
// # Where the truth comes from
//
// The operands are those of the rig's agent, called wave: functions of the time of day at which it was asked, and of
// nothing else; each tells that time. So a client that fetches an operand beside definitions
// that use it knows what all of them have to be, instances included; and with its delta() and its rate()
// it knows which moment before that every delta and every rate of the same fetch has to be since, and by how
// many seconds it was divided. Steps must join without a gap: where one fetch ends the next begins. Such a
// set of metrics is a track.
//
// Because the values do not depend on the process that computes them, they stay right when wave is killed and started
// again: counters go on, and the next step begins where the last one ended.
//
// # What must be when
//
// A value that is served is right at any time, or it is a wrong value. No value is good while the cause is there,
// and for [Grace] after it is gone; at any other time it is a missing value. The definitions under random
// edits are those of package reloadtest, which has its own rules.
//
// The program that calls [Run] calls [rig.Helper] before anything else.
package soak
