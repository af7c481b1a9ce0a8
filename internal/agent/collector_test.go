package agent

import (
	"context"
	"testing"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

const ms = time.Millisecond

// Metrics of the collector, all of agent 60 but the last.
var (
	binDom    = pdu.NewInDom(60, 1)
	procDom   = pdu.NewInDom(3, 9)
	loadID    = pdu.NewPMID(60, 0, 1) // up.load, instant
	countID   = pdu.NewPMID(60, 0, 2) // up.count, counter
	nameID    = pdu.NewPMID(60, 0, 3) // up.name, string
	binID     = pdu.NewPMID(60, 1, 1) // up.bin, for 3 bins
	binTextID = pdu.NewPMID(60, 1, 2) // up.text, for 3 bins
	procID    = pdu.NewPMID(3, 0, 1)  // proc.io, for 2 processes
)

// collector is the pmcd that an agent under test samples.
type collector struct{ *pmapitest.Relay }

func newCollector(tb testing.TB) *collector { return newCollectorWith(tb, pmapitest.AllFeatures) }

// newCollectorWith is one with some features only.
func newCollectorWith(tb testing.TB, features pdu.Features) *collector {
	return &collector{pmapitest.NewRelay(tb, &pmapitest.Collector{
		Features: features,
		Time:     time.Unix(1_000_000, 0),
		Metrics: []pmapitest.Metric{
			{
				Name:   "up.load",
				Desc:   pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)},
			},
			{
				Name: "up.count",
				Desc: pdu.Desc{
					PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1},
				},
				Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 100)},
			},
			{
				Name:   "up.name",
				Desc:   pdu.Desc{PMID: nameID, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
				Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "moss")},
			},
			{
				Name:   "up.bin",
				Desc:   pdu.Desc{PMID: binID, Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30)},
			},
			{
				Name:   "up.text",
				Desc:   pdu.Desc{PMID: binTextID, Type: pdu.TypeString, InDom: binDom, Sem: pdu.SemInstant},
				Values: []pdu.Value{pdu.StringValue(1, "a"), pdu.StringValue(2, "b"), pdu.StringValue(3, "c")},
			},
			{
				Name:   "proc.io",
				Desc:   pdu.Desc{PMID: procID, Type: pdu.TypeU64, InDom: procDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
				Values: []pdu.Value{pdu.Uint64Value(1, 7), pdu.Uint64Value(2, 8)},
			},
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{
			binDom: {Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}, {ID: 3, Name: "three"}}},
		},
	})}
}

// dial is an Options.Dial.
func (u *collector) dial(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
	return pmapi.Dial(ctx, "unix", u.Address, opts...)
}

// tick moves the collector's clock and changes values.
func (u *collector) tick(d time.Duration, values map[pdu.PMID][]pdu.Value) {
	u.Update(func() {
		u.Time = u.Time.Add(d)
		for i := range u.Metrics {
			if v, ok := values[u.Metrics[i].Desc.PMID]; ok {
				u.Metrics[i].Values = v
			}
		}
	})
}
