package main

import (
	"time"

	"pmdaderived/pdu"
)

// root is the name below which the metrics are, as in the file pmns.
const root = "dice"

// Items of the metrics: the last part of their PMIDs, and their indexes in the table.
const (
	itemFace = iota
	itemThrows
	itemSides
	itemUptime
)

// dieInDom is the serial number of the only instance domain. Its instances are numbered from 0.
const dieInDom = 0

const dieText = "the dice, by their colours"

// metric is a metric without its values.
type metric struct {
	name   string // below root
	perDie bool   // has the instance domain of the dice
	desc   pdu.Desc
	line   string // help text on one line
	help   string
	value  func(a *agent, d *die) uint64 // d is nil unless perDie
}

// metricTable returns all metrics, by item. Items must never change: archives identify metrics by their PMIDs.
func metricTable() []metric {
	return []metric{
		itemFace: {
			name: "face", perDie: true,
			desc:  pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant},
			line:  "what each die shows",
			help:  "From 1 to dice.sides; 0 before the first throw.",
			value: func(_ *agent, d *die) uint64 { return uint64(d.face) },
		},
		itemThrows: {
			name: "throws", perDie: true,
			desc:  pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
			line:  "how often each die was thrown",
			help:  "The red die is thrown every second, the green one every two and the blue one every three.",
			value: func(_ *agent, d *die) uint64 { return d.throws },
		},
		itemSides: {
			name:  "sides",
			desc:  pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemDiscrete},
			line:  "number of sides of every die; can be stored",
			help:  "From 2 to 1000. It counts from the next throw on.",
			value: func(a *agent, _ *die) uint64 { return uint64(a.sides) },
		},
		itemUptime: {
			name:  "uptime",
			desc:  pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.Units{Time: 1, TimeScale: pdu.TimeSec}},
			line:  "seconds since the agent was started",
			help:  "It begins anew with each start of the agent.",
			value: func(a *agent, _ *die) uint64 { return uint64(a.age / time.Second) },
		},
	}
}
