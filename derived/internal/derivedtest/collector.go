package derivedtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// The instance domains of the tests' collector.
var (
	BinInDom   = pdu.NewInDom(29, 2)
	OtherInDom = pdu.NewInDom(29, 3)
)

// collector lists the metrics of the tests: name, type, semantics, units, and the domain of a set.
const collector = `
	long.one        32      instant
	long.ten        32      instant
	ulong.one       U32     instant
	longlong.one    64      instant
	ulonglong.one   U64     instant
	float.one       FLOAT   instant
	double.one      DOUBLE  instant
	discrete        32      discrete
	discrete2       32      discrete
	counter         U64     counter
	counter.32      32      counter
	counter.byte    U64     counter   byte
	counter.millis  U64     counter   millisec
	string          STRING  discrete
	string2         STRING  discrete
	aggregate       AGGREGATE  instant
	event           EVENT   instant
	nosupport       NOSUPPORT  instant
	byte            U64     instant   byte
	kbyte           U64     instant   Kbyte
	mbyte           64      instant   Mbyte
	byte7           U64     instant   byte^7
	per.byte        DOUBLE  instant   / byte
	sec             U32     instant   sec
	millisec        U32     instant   millisec
	sec2            DOUBLE  instant   sec^2
	persec          DOUBLE  instant   / sec
	rate            DOUBLE  instant   Kbyte / sec
	events          U32     instant   count
	kevents         U32     instant   count x 10^3
	events2         DOUBLE  instant   count^2
	bin             32      instant   .          29.2
	bin.u           U32     instant   .          29.2
	bin.l           64      instant   .          29.2
	bin.ul          U64     instant   .          29.2
	bin.f           FLOAT   instant   .          29.2
	bin.d           DOUBLE  instant   .          29.2
	bin.kbyte       U64     instant   Kbyte      29.2
	bin.ctr         U32     counter   .          29.2
	bin.ctr.l       64      counter   .          29.2
	bin.ctr.bytes   U64     counter   byte       29.2
	bin.string      STRING  discrete  .          29.2
	other           32      instant   .          29.3
	other.string    STRING  discrete  .          29.3
	volt            FLOAT   instant   voltage (V)
	millivolt       FLOAT   instant   voltage (mV)
`

// host lists the metrics that the examples of rules have.
const host = `
	kernel.all.load             FLOAT   instant   .          29.4
	kernel.all.nprocs           U32     instant
	kernel.uname.nodename       STRING  discrete
	hinv.ncpu                   U32     discrete
	mem.physmem                 U64     discrete  Kbyte
	mem.util.free               U64     instant   Kbyte
	swap.used                   U64     instant   byte
	disk.dev.total              U64     counter   count      29.5
	disk.dev.total_bytes        U64     counter   Kbyte      29.5
	network.interface.in.bytes  U64     counter   byte       29.6
	network.interface.in.drops  U64     counter   count      29.6
	network.interface.speed     FLOAT   discrete  Mbyte/sec  29.6
	bpf.runq.latency            U64     counter   nanosec    29.7
	sample.event.records        EVENT   instant   .          29.8
`

// Catalog offers the metrics of collector, besides broken.desc, which has no descriptor, and
// inner.node, which is no leaf.
type Catalog struct{ Metrics map[string]pdu.Desc }

// NewCatalog makes the catalog.
func NewCatalog(tb testing.TB) Catalog { return newCatalog(tb, collector) }

// NewHostCatalog makes a catalog that also has the metrics of the examples of rules.
func NewHostCatalog(tb testing.TB) Catalog {
	return newCatalog(tb, collector+strings.TrimLeft(host, "\n"))
}

func newCatalog(tb testing.TB, metrics string) Catalog {
	c := Catalog{map[string]pdu.Desc{}}
	for i, line := range strings.Split(strings.TrimSpace(metrics), "\n") {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		d := pdu.Desc{PMID: pdu.NewPMID(29, 0, i+1), Type: TypeOf(fields[1]), Sem: semanticsOf(fields[2]), InDom: pdu.NoInDom}
		if n := len(fields); n > 3 && strings.HasPrefix(fields[n-1], "29.") {
			var err error
			d.InDom, err = pdu.ParseInDom(fields[n-1])
			require.NoError(tb, err, line)
			fields = fields[:n-1]
		}
		if units := strings.Join(fields[3:], " "); units != "." {
			var err error
			d.Units, _, err = pdu.ParseUnits(units)
			require.NoError(tb, err, line)
		}
		c.Metrics[fields[0]] = d
	}
	return c
}

// TypeOf returns the type of a name as PCP prints it.
func TypeOf(name string) pdu.Type {
	for t := pdu.TypeNoSupport; t <= pdu.TypeHighResEvent; t++ {
		if t.String() == name {
			return t
		}
	}
	return pdu.TypeUnknown
}

// Desc implements the catalog that the checker asks.
func (c Catalog) Desc(name string) (pdu.Desc, error) {
	switch name {
	case "broken.desc":
		return pdu.Desc{}, fmt.Errorf("descriptor of %s: %w", name, pdu.ErrNoAgent)
	case "inner.node":
		return pdu.Desc{}, pdu.ErrNonLeaf
	}
	if d, ok := c.Metrics[name]; ok {
		return d, nil
	}
	return pdu.Desc{}, pdu.ErrName
}

func semanticsOf(name string) pdu.Semantics {
	for _, sem := range []pdu.Semantics{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete} {
		if sem.String() == name {
			return sem
		}
	}
	return 0
}
