package main

import "pmdaderived/pdu"

// root is the name below which the metrics are, the one in pmns.
const root = "dice"

// Items of the metrics: the last part of their PMIDs, and their places in the table.
const (
	itemFace = iota
	itemThrows
	itemSides
	itemUptime
)

// dieInDom is the serial number of the only instance domain. Its instances are numbered from 0.
const dieInDom = 0

const dieText = "the dice, by their colours"

// metric is what never changes about a metric.
type metric struct {
	name   string // below root
	perDie bool   // has the instance domain of the dice
	desc   pdu.Desc
	line   string // help text on one line
	help   string
}

// metricTable has all metrics, by item. Numbers once given stay: archives know metrics by them.
func metricTable() []metric {
	count := pdu.Units{Count: 1}
	second := pdu.Units{Time: 1, TimeScale: pdu.TimeSec}
	return []metric{
		itemFace: {
			name: "face", perDie: true,
			desc: pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant},
			line: "what each die shows",
			help: "From 1 to dice.sides; 0 before the first throw.",
		},
		itemThrows: {
			name: "throws", perDie: true,
			desc: pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: count},
			line: "how often each die was thrown",
			help: "The red die is thrown every second, the green one every two and the blue one every three.",
		},
		itemSides: {
			name: "sides",
			desc: pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemDiscrete},
			line: "number of sides of every die; can be stored",
			help: "From 2 to 1000. It counts from the next throw on.",
		},
		itemUptime: {
			name: "uptime",
			desc: pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: second},
			line: "seconds since the agent was started",
			help: "It begins anew with each start of the agent.",
		},
	}
}
