package soak

import (
	"math"
	"slices"

	"pmdaderived/test/rig"
)

// track is a set of metrics whose values tell the sample time of the operands of some definitions. The daemon serves
// metrics with the same operands from the same sample. Other metrics may be from a newer one.
type track struct {
	name           string
	operands       string // an expression, all of U64
	historic       bool   // it tells the begin of deltas and rates
	sinceLastFetch bool   // its metrics are over the ticks since the client's last fetch
	span           string // its metrics are over the ticks of this window
	counted        bool   // of a span: it tells whether a tick is a gap or late
	beside         string // of operands that must have a value at a tick, too: added to that, 0
	unit           float64
	when           func(value, ref uint64) uint64 // the time in ns, from a value of about ref
}

// role is the meaning of a metric of a track.
type role int

const (
	atRole   role = iota // time of the sample: the value of the operand
	stepRole             // growth of the operand, which tells the begin
	paceRole             // rate of the operand, which tells the divisor

	firstRole // of ticks: the time of the first one; at is the last one
	sumRole   // sum of the growth from tick to tick
	countRole // number of ticks
	lateRole  // how far a tick is from when ticks are expected, at most
)

// tracks returns all tracks, in the order of fetches.
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
		{
			name: "histogram", operands: "wave.nanos", span: "10s", counted: true, when: nanos,
			beside: " + 0 * sum(instant(wave.histogram))",
		},
		{name: "unready", operands: "wave.unready", when: inPhase},
		{name: "aside", operands: "wave.aside", when: nanos}, // for newcomers alone
		{name: "named", operands: "instant(wave.nanos) + 0 * sum(wave.swapped)", when: nanos},
		{name: "swapped", operands: "wave.nanos", span: "30s", beside: " + 0 * sum(wave.swapped)", when: nanos},
	}
}

// trackOf returns the track with a name.
func trackOf(name string) *track {
	all := tracks()
	return &all[slices.IndexFunc(all, func(t track) bool { return t.name == name })]
}

// nearest returns the number closest to ref whose remainder is v.
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

// plainName is an operand. Those of all tracks come from the same agent.
const plainName = waveName + ".nanos"

// atName is a metric that is the time of day in ns.
const atName = "derived.track.nanos.at"

// sinceLastFetchTrack is the name of the track of functions over the time since the client's last fetch.
const sinceLastFetchTrack = "look"

// counting is an operand that has a value only at the ticks at which delta() of it has one.
const counting = "(delta(wave.nanos) > 0 ? instant(wave.nanos) : instant(wave.nanos))"

// tickNumber is the number of the tick at which counting has its value, as rig.TickOf: seconds since the Epoch. A sample
// is at most some ms before its tick, and at most half a second after it.
const tickNumber = "floor((" + counting + " + 250000000) / 1000000000)"

// tickDistance is how far a tick is from the middle of the time in which ticks are expected; beyond mostDistance it may
// be so long after its tick that rig.TickOf is that of another one, as when wave did not run for most of a second.
const (
	tickDistance = "abs(" + counting + " + 250000000 - 1000000000 * " + tickNumber + " - 450000000)"
	mostDistance = 250e6
)

// isLate reports whether the time of an operand is beyond that.
func isLate(at uint64) bool { return math.Abs(float64((at+250e6)%1e9)-450e6) > mostDistance }

// roles returns the roles of the track, in the order of fetches.
func (t *track) roles() []role {
	switch {
	case t.historic:
		return []role{atRole, stepRole, paceRole}
	case t.sinceLastFetch:
		return []role{atRole, firstRole, sumRole, countRole}
	case t.counted:
		return []role{atRole, firstRole, sumRole, countRole, lateRole}
	case t.span != "":
		return []role{atRole, firstRole}
	}
	return []role{atRole}
}

// ticks reports whether the metrics are functions over ticks.
func (t *track) ticks() bool { return t.sinceLastFetch || t.span != "" }

// metric returns the name of the metric of a role.
func (t *track) metric(r role) string {
	return "derived.track." + t.name + [...]string{".at", ".step", ".pace", ".first", ".sum", ".count", ".late"}[r]
}

// text returns the definition of the metric of a role.
func (t *track) text(r role) string {
	switch r {
	case stepRole:
		return "delta(" + t.operands + ")"
	case paceRole:
		return "rate(" + t.operands + ")"
	case sumRole:
		return t.over("sum", "delta("+t.operands+")"+t.beside)
	case lateRole:
		return t.over("max", tickDistance+t.beside)
	case firstRole, atRole, countRole:
	}
	x := "instant(" + t.operands + ")"
	if t.sinceLastFetch || t.counted {
		x = counting
	}
	x += t.beside
	switch {
	case r == firstRole:
		return t.over("first", x)
	case r == countRole:
		return t.over("count", x)
	case t.ticks():
		return t.over("last", x)
	}
	return t.operands
}

// over returns a function over the ticks of the track.
func (t *track) over(function, x string) string {
	if t.sinceLastFetch {
		return function + "_sample(" + x + ")"
	}
	return function + "_sample(" + x + ", \"" + t.span + "\")"
}
