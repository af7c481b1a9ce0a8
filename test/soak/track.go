package soak

import (
	"slices"

	"pmdaderived/test/rig"
)

// track is metrics whose values tell the time at which the operands of some definitions were sampled. The daemon
// serves metrics that have the same operands from the same sample, others perhaps from one that is newer.
type track struct {
	name           string
	operands       string // an expression, all of U64
	historic       bool   // definitions want to know since when deltas and rates are
	sinceLastFetch bool   // they are over the ticks since the client has looked last
	span           string // or over those of a window
	unit           float64
	when           func(value, ref uint64) uint64 // the time in ns, from a value of about ref
}

// role is what a metric of a track tells.
type role int

const (
	atRole   role = iota // when: the value of the operand
	stepRole             // since when: how much it has grown
	paceRole             // in which time: how fast

	firstRole // of ticks: when the first one was; at is the last one
	sumRole   // how much it has grown from tick to tick
)

// tracks are in the order in which they are fetched.
func tracks() []track {
	nanos := func(v, _ uint64) uint64 { return v }
	micros := func(v, _ uint64) uint64 { return v * 1e3 }
	inPhase := func(v, ref uint64) uint64 { return nearest(v, ref/1e3, rig.PhaseLength) * 1e3 }
	return []track{
		{name: "nanos", operands: "wave.nanos", historic: true, unit: 1, when: nanos},
		{name: "load", operands: "wave.load", historic: true, unit: 1e3, when: micros},
		{name: "surge", operands: "wave.surge", historic: true, unit: 1e3, when: micros},
		{name: "phase", operands: "wave.phase", when: inPhase},
		{name: "both", operands: "wave.phase + 0 * wave.slope", when: inPhase},
		{name: "member", operands: "wave.member", when: inPhase},
		{name: "burst", operands: "wave.burst", when: inPhase},
		{name: "size", operands: "wave.size", when: func(v, ref uint64) uint64 { return nearest(v, ref/1e6, 1<<30) * 1e6 }},
		{name: sinceLastFetchTrack, operands: "wave.nanos", sinceLastFetch: true, when: nanos},
		{name: "window", operands: "wave.nanos", span: "5s", when: nanos},
		{name: "held", operands: "wave.burst", span: "5s", when: inPhase},
	}
}

// trackOf is the track of a name.
func trackOf(name string) *track {
	all := tracks()
	return &all[slices.IndexFunc(all, func(t track) bool { return t.name == name })]
}

// nearest is the number closest to ref that leaves the remainder v.
func nearest(v, ref, modulus uint64) uint64 {
	n := ref - ref%modulus + v
	switch {
	case n > ref+modulus/2:
		return n - modulus
	case n+modulus/2 < ref:
		return n + modulus
	}
	return n
}

// plainName is an operand, which all tracks have from one agent.
const plainName = waveName + ".nanos"

// atName is the time of day in ns.
const atName = "derived.track.nanos.at"

// sinceLastFetchTrack is the track of what was since the last look.
const sinceLastFetchTrack = "look"

// counting is an operand that has a value at the ticks at which delta() of it has one, and no others.
const counting = "(delta(wave.nanos) > 0 ? instant(wave.nanos) : instant(wave.nanos))"

// roles are in the order in which they are fetched.
func (t *track) roles() []role {
	switch {
	case t.historic:
		return []role{atRole, stepRole, paceRole}
	case t.sinceLastFetch:
		return []role{atRole, firstRole, sumRole}
	case t.span != "":
		return []role{atRole, firstRole}
	}
	return []role{atRole}
}

// ticks reports whether the metrics are over ticks.
func (t *track) ticks() bool { return t.sinceLastFetch || t.span != "" }

// metric is the name of the metric of a role.
func (t *track) metric(r role) string {
	return "derived.track." + t.name + [...]string{".at", ".step", ".pace", ".first", ".sum"}[r]
}

// text is its definition.
func (t *track) text(r role) string {
	switch r {
	case stepRole:
		return "delta(" + t.operands + ")"
	case paceRole:
		return "rate(" + t.operands + ")"
	case sumRole:
		return t.over("sum", "delta("+t.operands+")")
	case firstRole, atRole:
	}
	x := "instant(" + t.operands + ")"
	if t.sinceLastFetch {
		x = counting
	}
	switch {
	case r == firstRole:
		return t.over("first", x)
	case t.ticks():
		return t.over("last", x)
	}
	return t.operands
}

// over is a function over the ticks of the track.
func (t *track) over(function, x string) string {
	if t.sinceLastFetch {
		return function + "_sample(" + x + ")"
	}
	return function + "_sample(" + x + ", \"" + t.span + "\")"
}
