package operand

import (
	"bytes"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Bytes that a sample needs for an operand, a number, and a value that is none, beside its own bytes.
const vectorMemory, numberMemory, blobMemory = 64, 8, 24

// MaxInstances is how many instances an operand may have. One that has more has
// no values, but a code: what is computed from it takes too much memory, in every sample that is kept.
const MaxInstances = 1_000_000

// Maker makes samples of results. It remembers the instance sets of the last samples so that
// equal ones are the same *derived.InstSet, which is what evaluation is fast with.
type Maker struct {
	names         *InstanceCache
	start         time.Time // by our clock; the offsets of pmcd's are since then
	connectionRun int       // which set of connections the next sample comes from
	byInDom       map[pdu.InDom]*derived.InstSet
	byMetric      map[pdu.PMID]*derived.InstSet
	findings      Findings

	// Strings of the last samples, and of those before them: a sample takes over what has not changed. Each has at most turn samples.
	newBlobs, oldBlobs map[pdu.PMID][][]byte
	newSamples         int // samples since they were turned
}

// blobSamples is after how many samples the strings are forgotten that none of them had.
const blobSamples = 64

// Findings is what a Maker has found out about the operands of a sample besides.
type Findings struct {
	Changed []pdu.InDom   // domains whose instances are not those of the sample before
	Excess  []*pdu.Column // of operands with more instances than they may have
}

// NewMaker makes one. start is any time, by our clock.
func NewMaker(names *InstanceCache, start time.Time) *Maker {
	return &Maker{
		names: names, start: start,
		byInDom: make(map[pdu.InDom]*derived.InstSet), byMetric: make(map[pdu.PMID]*derived.InstSet),
		newBlobs: make(map[pdu.PMID][][]byte),
	}
}

// Make makes res, the answer to a fetch of the operands asked for, a sample. Of what belongs to the connection it
// copies what it needs. What it has noticed is valid until the connection is used again.
func (m *Maker) Make(res *pmapi.Columns, taken, arrived time.Time, asked *List) (*Sample, *Findings) {
	m.findings = Findings{Changed: m.findings.Changed[:0], Excess: m.findings.Excess[:0]}
	s := &Sample{
		At: res.Time, Taken: taken, Arrived: arrived, connectionRun: m.connectionRun, names: m.names,
		list: asked, vectors: make([]derived.Vector, len(res.Sets)),
	}
	clock := res.Time.Sub(m.start)
	s.clock = clockOffset{clock - arrived.Sub(m.start), clock - taken.Sub(m.start)}
	for i := range res.Sets {
		set, v, desc := &res.Sets[i], &s.vectors[i], &asked.Descs[i]
		v.Type = desc.Type
		switch {
		case set.Code < 0:
			v.Code = set.Code
		case len(set.Insts) > MaxInstances:
			v.Code = pdu.ErrTooBig
			m.findings.Excess = append(m.findings.Excess, set)
		case len(set.Insts) > 0 && !isReadableAs(set.Type, desc.Type):
			v.Code = pdu.ErrType
		default:
			v.Insts = m.instances(set, desc.InDom)
			v.Bits = set.Bits
			v.Blobs = m.copyBlobs(set)
			for _, blob := range v.Blobs {
				s.Size += len(blob)
			}
			s.Size += numberMemory*len(v.Bits) + blobMemory*len(v.Blobs)
		}
	}
	s.Size += vectorMemory * len(s.vectors)
	if m.newSamples++; m.newSamples == blobSamples {
		m.newSamples, m.oldBlobs, m.newBlobs = 0, m.newBlobs, make(map[pdu.PMID][][]byte)
	}
	return s, &m.findings
}

// copyBlobs are the strings of a metric, the very ones of the sample before where they are the same: grouping by them sees at once that nothing
// has changed, and most strings, such as names of users, never do.
func (m *Maker) copyBlobs(set *pdu.Column) [][]byte {
	if len(set.Blobs) == 0 {
		return nil
	}
	before, ok := m.newBlobs[set.PMID]
	if !ok {
		before = m.oldBlobs[set.PMID]
	}
	if !slices.EqualFunc(before, set.Blobs, bytes.Equal) {
		made := make([][]byte, len(set.Blobs))
		for j, blob := range set.Blobs {
			if j < len(before) && bytes.Equal(before[j], blob) {
				made[j] = before[j]
			} else {
				made[j] = bytes.Clone(blob)
			}
		}
		before = made
	}
	m.newBlobs[set.PMID] = before
	return before
}

// ErrorSample makes a sample of operands without values: they all have a code.
func (m *Maker) ErrorSample(descs []pdu.Desc, code pdu.Code, now time.Time) *Sample {
	s := &Sample{
		At: now, Taken: now, Arrived: now, connectionRun: m.connectionRun, names: m.names,
		list: NewList(descs...), vectors: make([]derived.Vector, len(descs)), Size: vectorMemory * len(descs),
	}
	for i, d := range descs {
		s.vectors[i] = derived.Vector{Type: d.Type, Code: code}
	}
	return s
}

// Reset drops all instance sets. The next samples do not continue those before: they may be those of another collector, and nobody
// tells what has been started again meanwhile.
func (m *Maker) Reset() {
	clear(m.byInDom)
	clear(m.byMetric)
	clear(m.newBlobs)
	clear(m.oldBlobs)
	m.connectionRun++
}

// isReadableAs reports whether values of a type can be read as the descriptor says: their agent may have changed
// its mind since. Other bytes are no events: pmcd decodes events, and drops an agent whose events it cannot decode.
func isReadableAs(values, t pdu.Type) bool {
	switch {
	case values == t:
		return true
	case values == pdu.TypeUnknown: // in situ
		return t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat
	case isInteger(values) && isInteger(t): // careless about the sign
		return is64Bit(values) == is64Bit(t)
	}
	return isOpaque(values) && isOpaque(t)
}

// isOpaque reports whether values of a type are bytes that pmcd passes on as they are.
func isOpaque(t pdu.Type) bool {
	return t == pdu.TypeString || t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic
}

func isInteger(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeU64 }
func is64Bit(t pdu.Type) bool   { return t == pdu.Type64 || t == pdu.TypeU64 }

// instances returns the set of a metric's instances, nil for a singular one. The connection learns the
// list of a set that is known, so that it finds it by itself the next time.
func (m *Maker) instances(set *pdu.Column, d pdu.InDom) *derived.InstSet {
	ids := set.Insts
	if d == pdu.NoInDom && (len(ids) == 0 || len(ids) == 1 && ids[0] == pdu.NoInst) {
		return nil
	}
	for _, known := range [...]*derived.InstSet{m.byInDom[d], m.byMetric[set.PMID]} {
		if known != nil && equalLists(known.IDs(), ids) {
			if len(ids) > 0 {
				set.Insts = known.IDs()
			}
			return known
		}
	}
	made := derived.NewInstSet(ids)
	m.byInDom[d], m.byMetric[set.PMID] = made, made
	m.findings.Changed = append(m.findings.Changed, d)
	return made
}

// equalLists is slices.Equal, which looks at every instance even if it is one list.
func equalLists(x, y []pdu.Inst) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || slices.Equal(x, y))
}
