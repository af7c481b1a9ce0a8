package soak

import (
	"context"
	"fmt"
	"os"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const waveDomain = 401

// wavePMNS names the metrics of wave; the items are those of waveMetrics.
const wavePMNS = `wave {
	nanos	WAVE:0:0
	phase	WAVE:0:1
	slope	WAVE:0:2
	size	WAVE:0:3
	member	WAVE:0:4
	load	WAVE:0:5
	burst	WAVE:0:6
	surge	WAVE:0:7
}`

// waveHelper is the word that makes a process the agent.
const waveHelper = "soak-wave"

// Helper does the work of a helper process and reports whether the arguments, those after the program's
// name, make this process one. The program then ends with the status.
func Helper(args []string) (status int, helper bool) {
	if len(args) != 1 || args[0] != waveHelper {
		return 0, false
	}
	if err := serveWave(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", waveHelper, err)
		return 1, true
	}
	return 0, true
}

func serveWave() error {
	in, out, err := pmda.Stdio()
	if err != nil {
		return err
	}
	pmda.IgnoreSIGPIPE()
	return (&pmda.Server{Agent: wave{waveMetrics()}}).Serve(context.Background(), in, out)
}

// members is how many instances the domain that never changes has.
const members = 8

// Serials of wave's instance domains.
const (
	memberSerial = 0
	burstSerial  = 1 // its instances come and go
)

// waveMetric is an operand. All values are U64.
type waveMetric struct {
	desc  pdu.Desc
	value func(at uint64, inst pdu.Inst) uint64 // at the time of day in ns
}

func waveMetrics() []waveMetric {
	count := pdu.Units{Count: 1}
	singular, all, some := pdu.NoInDom, pdu.NewInDom(waveDomain, memberSerial), pdu.NewInDom(waveDomain, burstSerial)
	instant := func(d pdu.InDom, u pdu.Units, value func(uint64, pdu.Inst) uint64) waveMetric {
		return waveMetric{pdu.Desc{Type: pdu.TypeU64, InDom: d, Sem: pdu.SemInstant, Units: u}, value}
	}
	counter := func(d pdu.InDom, value func(uint64, pdu.Inst) uint64) waveMetric {
		return waveMetric{pdu.Desc{Type: pdu.TypeU64, InDom: d, Sem: pdu.SemCounter, Units: count}, value}
	}
	alone := func(f func(uint64) uint64) func(uint64, pdu.Inst) uint64 {
		return func(at uint64, _ pdu.Inst) uint64 { return f(at) }
	}
	return []waveMetric{
		counter(singular, alone(func(at uint64) uint64 { return at })),
		instant(singular, pdu.Units{}, alone(phase)),
		instant(singular, pdu.Units{}, alone(slope)),
		instant(singular, pdu.Units{Space: 1}, alone(size)),
		instant(all, pdu.Units{}, member),
		counter(all, load),
		instant(some, pdu.Units{}, member),
		counter(some, load),
	}
}

// phaseLength is after how many microseconds phase begins anew.
const phaseLength = 1_000_000_000

func phase(at uint64) uint64 { return at / 1000 % phaseLength }
func slope(at uint64) uint64 { return at/1e9%1000 + 1 }
func size(at uint64) uint64  { return at / 1e6 % (1 << 30) }

func member(at uint64, inst pdu.Inst) uint64 { return phase(at) + 1000*uint64(inst) }
func load(at uint64, inst pdu.Inst) uint64   { return (uint64(inst) + 1) * (at / 1000) }

// allMembers are the instances of the domain that never changes.
func allMembers(uint64) []pdu.Inst { return from(0, members) }

// burstMembers are the instances of the other domain: the first and 2 to 6 of 9, others every 5 s.
func burstMembers(at uint64) []pdu.Inst {
	era := at / 5e9
	return append(from(0, 1), from(1+era%4, 2+era%5)...)
}

func from(first, n uint64) []pdu.Inst {
	insts := make([]pdu.Inst, n)
	for i := range insts {
		insts[i] = pdu.Inst(first) + pdu.Inst(i)
	}
	return insts
}

// wave is an agent whose values depend on the time of day alone.
type wave struct{ metrics []waveMetric }

// Desc implements pmda.Agent.
func (w wave) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if id.Cluster() != 0 || id.Item() >= len(w.metrics) {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return w.metrics[id.Item()].desc, nil
}

// instances are those of a domain at a time; a singular metric has nil.
func instances(d pdu.InDom, at uint64) []pdu.Inst {
	switch {
	case d == pdu.NoInDom:
		return nil
	case d.Serial() == burstSerial:
		return burstMembers(at)
	}
	return allMembers(at)
}

// Instances implements pmda.Agent. Those of the past are named, too: values are looked at later than they are taken.
func (w wave) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	n := members
	switch d.Serial() {
	case memberSerial:
	case burstSerial:
		n = 10
	default:
		return nil, pdu.ErrInDom
	}
	all := make([]pdu.Instance, n)
	for i := range all {
		all[i] = pdu.Instance{ID: pdu.Inst(i), Name: fmt.Sprintf("m%d", i)}
	}
	return all, nil
}

// Fetch implements pmda.Agent. All values are of one moment.
func (w wave) Fetch(req *pmda.FetchRequest, out *pdu.ResultWriter) error {
	at := uint64(time.Now().UnixNano())
	for _, id := range req.PMIDs {
		if id.Cluster() != 0 || id.Item() >= len(w.metrics) {
			out.Fail(id, pdu.ErrPMID)
			continue
		}
		m := w.metrics[id.Item()]
		if m.desc.InDom == pdu.NoInDom {
			out.Number(id, pdu.TypeU64, m.value(at, pdu.NoInst))
			continue
		}
		var insts []pdu.Inst
		var bits []uint64
		for _, inst := range instances(m.desc.InDom, at) {
			if req.Profile.Includes(m.desc.InDom, inst) {
				insts, bits = append(insts, inst), append(bits, m.value(at, inst))
			}
		}
		out.Numbers(id, pdu.TypeU64, insts, bits)
	}
	return nil
}
