package derived_test

import (
	"fmt"
	"math"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// reading is a Sample of singular numbers.
type reading struct {
	at     time.Time
	values map[pdu.PMID]uint64
}

func (r reading) Time() time.Time                    { return r.at }
func (r reading) Names(pdu.InDom) *derived.NameTable { return nil }
func (r reading) Members(pdu.InDom) *derived.InstSet { return nil }
func (r reading) Values(id pdu.PMID, _ *int32) *derived.Vector {
	return &derived.Vector{Type: pdu.TypeU64, Bits: []uint64{r.values[id]}}
}

// A definition is parsed, bound to the metrics of a collector and computed from two samples.
func Example() {
	reads := pdu.NewPMID(60, 0, 24)
	catalog := derived.CatalogMap{"disk.all.read": {
		PMID: reads, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1},
	}}
	def, err := derived.Parse("reads", "rate(disk.all.read)")
	if err != nil {
		fmt.Println(err)
		return
	}
	set := derived.Language{}.NewSet([]*derived.Definition{def}, catalog, "derived")
	m, _ := set.Lookup("reads")
	if m.Err != nil {
		fmt.Println(m.Err)
		return
	}
	fmt.Println(m.Desc.Type, m.Desc.Sem, m.Desc.Units)

	older := reading{time.Unix(100, 0), map[pdu.PMID]uint64{reads: 1000}}
	newer := reading{time.Unix(102, 0), map[pdu.PMID]uint64{reads: 1500}}
	eval := set.NewEvaluation()
	eval.Reset(newer, older)
	fmt.Println(math.Float64frombits(eval.Value(m).Bits[0]))

	bad, _ := derived.Parse("bad", "disk.all.read + 1")
	fmt.Println(derived.Language{}.NewSet([]*derived.Definition{bad}, catalog, "derived").Metrics()[0].Err)

	// Output:
	// DOUBLE instant count / sec
	// 250
	// Semantic error: derived metric bad: disk.all.read + 1: Illegal operator for counter and non-counter
}
