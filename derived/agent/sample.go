package agent

import (
	"bytes"
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// sample is one upstream fetch: the values of some operands at one moment. Immutable, but for the
// names, which are those known when they are asked for.
type sample struct {
	at      time.Time // by pmcd's clock, for rates
	taken   time.Time // by ours: when it was asked for, so that no value is older than it seems
	arrived time.Time // by ours
	clock   clockOffset
	epoch   int // raised when an agent has gone or has been started again
	layout  *derived.Layout
	vectors []derived.Vector
	names   *nameStore
	size    int // bytes of its values
	holders int // metrics of contexts whose history it is part of; the request loop counts
}

func (s *sample) Time() time.Time { return s.at }

func (s *sample) Values(id pdu.PMID) *derived.Vector {
	if at, ok := s.layout.Find(id); ok {
		return &s.vectors[at]
	}
	return &derived.Vector{Code: pdu.ErrAgain}
}

func (s *sample) Vectors() (*derived.Layout, []derived.Vector) { return s.layout, s.vectors }

func (s *sample) Names(d pdu.InDom) *derived.NameTable { return s.names.table(d) }
func (s *sample) Members(d pdu.InDom) *derived.InstSet { return s.names.members(d) }

// clockOffset is by how much pmcd's clock is ahead of ours, which nobody sets: it is between the two.
type clockOffset struct{ least, most time.Duration }

const (
	// maxDrift is by how much pmcd's clock may run faster or slower than ours: one part in maxDrift.
	maxDrift = 1000

	// clockNoise is the difference below which a clock has not been set.
	clockNoise = 50 * time.Millisecond
)

// continues reports whether a sample can be compared with an older one: it is from the same run of pmcd's
// clock, so that the time between them is that between their time stamps, and no agent, which may be the
// operand's, has begun to count from zero meanwhile. pmcd does not tell which agent that was.
func (s *sample) continues(old *sample) bool {
	slack := clockNoise + s.taken.Sub(old.taken).Abs()/maxDrift
	return s.epoch == old.epoch && s.clock.least-slack <= old.clock.most && old.clock.least-slack <= s.clock.most
}

// Bytes that a sample needs for an operand, a number, and a value that is none, beside its own bytes.
const vectorMemory, numberMemory, blobMemory = 64, 8, 24

// maxInstances is how many instances an operand may have, unless Limits.Instances says otherwise. One that has more has
// no values, but a code: what is computed from it takes too much memory, in every sample that is kept.
const maxInstances = 1_000_000

// sampleMaker makes samples of results. It remembers the instance sets of the last samples so that
// equal ones are the same *derived.InstSet, which is what evaluation is fast with.
type sampleMaker struct {
	names    *nameStore
	start    time.Time // by our clock; the offsets of pmcd's are since then
	epoch    int       // of the next sample
	byInDom  map[pdu.InDom]*derived.InstSet
	byMetric map[pdu.PMID]*derived.InstSet
	most     int // instances of an operand
	met      int // the most so far

	// tooBig is told about every operand that has more than the most values.
	tooBig func(id pdu.PMID, values int)
}

func newSampleMaker(names *nameStore, start time.Time) *sampleMaker {
	return &sampleMaker{
		names: names, start: start,
		byInDom: make(map[pdu.InDom]*derived.InstSet), byMetric: make(map[pdu.PMID]*derived.InstSet),
		most: maxInstances, tooBig: func(pdu.PMID, int) {},
	}
}

// make makes res, the answer to a fetch of the operands asked for, a sample. Of what belongs to the
// connection it copies what it needs. changed is called for every domain whose instances are not those of
// the sample before.
func (m *sampleMaker) make(
	res *pmapi.Columns, taken, arrived time.Time, asked *operandList, changed func(pdu.InDom),
) *sample {
	s := &sample{
		at: res.Time, taken: taken, arrived: arrived, epoch: m.epoch, names: m.names,
		layout: asked.layout, vectors: make([]derived.Vector, len(res.Sets)),
	}
	clock := res.Time.Sub(m.start)
	s.clock = clockOffset{clock - arrived.Sub(m.start), clock - taken.Sub(m.start)}
	for i := range res.Sets {
		set, v, desc := &res.Sets[i], &s.vectors[i], &asked.descs[i]
		v.Type = desc.Type
		m.met = max(m.met, len(set.Insts))
		switch {
		case set.Code < 0:
			v.Code = set.Code
		case len(set.Insts) > m.most:
			v.Code = pdu.ErrTooBig
			m.tooBig(set.PMID, len(set.Insts))
		case len(set.Insts) > 0 && !fits(set.Type, desc.Type):
			v.Code = pdu.ErrType
		default:
			v.Insts = m.instances(set, desc.InDom, changed)
			v.Bits = set.Bits
			if len(set.Blobs) > 0 {
				v.Blobs = make([][]byte, len(set.Blobs))
				for j, blob := range set.Blobs {
					v.Blobs[j] = bytes.Clone(blob)
					s.size += len(blob)
				}
			}
			s.size += numberMemory*len(v.Bits) + blobMemory*len(v.Blobs)
		}
	}
	s.size += vectorMemory * len(s.vectors)
	return s
}

// fits reports whether values of a type can be read as the descriptor says: their agent may have changed
// its mind since.
func fits(values, t pdu.Type) bool {
	switch {
	case values == t:
		return true
	case values == pdu.TypeUnknown: // in situ
		return t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat
	case integer(values) && integer(t): // careless about the sign
		return wide(values) == wide(t)
	}
	return !values.Numeric() && !t.Numeric() && values != pdu.TypeNoSupport
}

func integer(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeU64 }
func wide(t pdu.Type) bool    { return t == pdu.Type64 || t == pdu.TypeU64 }

// instances returns the set of a metric's instances, nil for a singular one. The connection learns the
// list of a set that is known, so that it finds it by itself the next time.
func (m *sampleMaker) instances(set *pdu.Column, d pdu.InDom, changed func(pdu.InDom)) *derived.InstSet {
	ids := set.Insts
	if d == pdu.NoInDom && (len(ids) == 0 || len(ids) == 1 && ids[0] == pdu.NoInst) {
		return nil
	}
	for _, known := range [...]*derived.InstSet{m.byInDom[d], m.byMetric[set.PMID]} {
		if known != nil && sameList(known.IDs(), ids) {
			if len(ids) > 0 {
				set.Insts = known.IDs()
			}
			return known
		}
	}
	made := derived.NewInstSet(ids)
	m.byInDom[d], m.byMetric[set.PMID] = made, made
	changed(d)
	return made
}

// sameList is slices.Equal, which looks at every instance even if it is one list.
func sameList(x, y []pdu.Inst) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || slices.Equal(x, y))
}

// forget drops all sets: the next samples may be those of another collector.
func (m *sampleMaker) forget() {
	clear(m.byInDom)
	clear(m.byMetric)
	m.epoch++ // nobody tells what has been started again meanwhile
}

// nameStore holds what is known of the instance domains whose names or members matter to an
// expression. The binder writes, everybody reads.
type nameStore struct {
	domains atomic.Pointer[map[pdu.InDom]*domainNames]
}

// domainNames is one domain as it was when it was last looked up. Immutable.
type domainNames struct {
	table   *derived.NameTable
	members *derived.InstSet
}

func (n *nameStore) domain(d pdu.InDom) *domainNames {
	m := n.domains.Load()
	if m == nil {
		return nil
	}
	return (*m)[d]
}

func (n *nameStore) table(d pdu.InDom) *derived.NameTable {
	if known := n.domain(d); known != nil {
		return known.table
	}
	return nil
}

func (n *nameStore) members(d pdu.InDom) *derived.InstSet {
	if known := n.domain(d); known != nil {
		return known.members
	}
	return nil
}

// replace puts all domains in place at once.
func (n *nameStore) replace(domains map[pdu.InDom]*domainNames) { n.domains.Store(&domains) }
