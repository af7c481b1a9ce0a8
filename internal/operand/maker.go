package operand

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// The bytes that a sample needs for an operand, for a number, and for a string beside the bytes in it.
const vectorMemory, numberMemory, blobMemory = 96, 8, 24

// MaxInstances limits the instances of an operand. An operand with more has PM_ERR_TOOBIG instead of values: each
// retained sample, and everything that is computed from it, would take too much memory.
const MaxInstances = 1_000_000

// Maker makes samples of results. It remembers the instance sets and the strings of the last samples: equal ones are
// the same pointer in the next sample, which makes evaluation fast.
type Maker struct {
	Interval time.Duration // how often metrics of which an increase is computed are sampled at least; 0: not known
	Recorded bool          // births are those of records of an archive: AddRecord has them
	Named    bool          // the names of a sample's instances are known before it is used

	names         *InstanceCache
	start         time.Time // by our clock; Sample.clock counts from here
	connectionRun int       // the number of Resets before the next sample
	byInDom       map[pdu.InDom]*derived.InstSet
	byMetric      map[pdu.PMID]*derived.InstSet
	births        map[pdu.PMID]*derived.Births // of the metrics of which an increase is computed, or was within a day
	findings      Findings                     // of the last sample

	// newBlobs has the strings of the last samples, blobSamples at most, and oldBlobs those of blobSamples samples before
	// them. A new sample reuses the strings that have not changed.
	newBlobs, oldBlobs map[pdu.PMID][][]byte
	newSamples         int // since newBlobs was empty
}

// blobSamples is the number of samples after which strings are forgotten that none of these samples had.
const blobSamples = 64

// Findings are facts about the operands of a sample that the owner of the Maker acts on.
type Findings struct {
	Changed []pdu.InDom   // instance domains with other instances than in the sample before
	Excess  []*pdu.Column // columns of operands with more than MaxInstances
	Misfits []pdu.PMID    // operands with values that do not fit their descriptors
}

// NewMaker returns a Maker of samples whose instance names are in names. start is any time, by our clock.
func NewMaker(names *InstanceCache, start time.Time) *Maker {
	return &Maker{
		names: names, start: start,
		byInDom: make(map[pdu.InDom]*derived.InstSet), byMetric: make(map[pdu.PMID]*derived.InstSet),
		births: make(map[pdu.PMID]*derived.Births), newBlobs: make(map[pdu.PMID][][]byte),
	}
}

// Make returns a sample of res, the answer to a fetch of asked. taken and arrived are the times of the request and of
// the answer, by our clock. Make copies the strings, which belong to the connection. The findings are valid until the
// connection is used again.
func (m *Maker) Make(res *pmapi.Columns, taken, arrived time.Time, asked *List) (*Sample, *Findings) {
	m.findings = Findings{m.findings.Changed[:0], m.findings.Excess[:0], m.findings.Misfits[:0]}
	s := &Sample{
		At: res.Time, Taken: taken, Arrived: arrived, connectionRun: m.connectionRun, names: m.names,
		list: asked, vectors: make([]derived.Vector, len(res.Sets)),
	}
	clock := res.Time.Sub(m.start)
	s.clock = clockOffset{clock - arrived.Sub(m.start), clock - taken.Sub(m.start)}
	for i := range res.Sets {
		set, v, desc := &res.Sets[i], &s.vectors[i], &asked.Descs[i]
		v.Type = desc.Type
		readable := len(set.Insts) == 0 || isReadableAs(set.Type, desc.Type)
		if !readable || len(set.Insts) > 0 && (set.Insts[0] == pdu.NoInst) != (desc.InDom == pdu.NoInDom) {
			m.findings.Misfits = append(m.findings.Misfits, set.PMID)
		}
		switch {
		case set.Code < 0:
			v.Code = set.Code
		case len(set.Insts) > MaxInstances:
			v.Code = pdu.ErrTooBig
			m.findings.Excess = append(m.findings.Excess, set)
		case !readable:
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
		switch b := m.births[set.PMID]; {
		case b == nil:
		case m.Recorded:
			v.Lives = b.Recorded()
		case m.Named:
			v.Lives = b.Add(v, nil, res.Time, taken)
		default:
			v.Lives = b.Add(v, m.names.Table(desc.InDom), res.Time, taken)
		}
	}
	s.Size += vectorMemory * len(s.vectors)
	if m.newSamples++; m.newSamples == blobSamples {
		m.newSamples, m.oldBlobs, m.newBlobs = 0, m.newBlobs, make(map[pdu.PMID][][]byte)
	}
	return s, &m.findings
}

// FindBirths finds out from now on which instances of some metrics come into being. Other metrics may be wanted again:
// their numbers stay known as long as those that have gone.
func (m *Maker) FindBirths(metrics []pdu.PMID, now time.Time) {
	maps.DeleteFunc(m.births, func(_ pdu.PMID, b *derived.Births) bool { return b.Forgotten(now) })
	for _, id := range metrics {
		if m.births[id] == nil {
			m.births[id] = &derived.Births{Interval: m.Interval}
		}
	}
}

// AddRecord adds what a record of an archive has of a metric of type t, before samples of its time.
func (m *Maker) AddRecord(set *pdu.Column, t pdu.Type, at time.Time) {
	if b := m.births[set.PMID]; b != nil {
		b.AddRecord(set, t, at)
	}
}

// NoteChanges notes the changes that came with an answer. If agents have come, gone or restarted, no instance is born in
// the next sample: it may have been there before.
func (m *Maker) NoteChanges(change pdu.Change) {
	if change&(pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0 {
		m.DoubtBirths(maps.Keys(m.births))
	}
}

// DoubtBirths has nothing be born in the next sample of some metrics.
func (m *Maker) DoubtBirths(metrics iter.Seq[pdu.PMID]) {
	for id := range metrics {
		if b := m.births[id]; b != nil {
			b.Doubt()
		}
	}
}

// copyBlobs returns copies of the strings of a metric. A string that is the same as in an earlier sample is the same
// slice: most strings, such as names of users, never change, and grouping by them then compares pointers only.
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

// ErrorSample returns a sample in which each operand has the code instead of values.
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

// Reset drops all instance sets and strings. The next samples do not continue those before: they may come from
// another pmcd, and agents may have been restarted in between.
func (m *Maker) Reset() {
	clear(m.byInDom)
	clear(m.byMetric)
	clear(m.newBlobs)
	clear(m.oldBlobs)
	m.DoubtBirths(maps.Keys(m.births))
	m.connectionRun++
}

// isReadableAs reports whether values can be read as the type of the descriptor: the agent may have changed the type
// since. Other bytes are never events: pmcd decodes events, and drops an agent whose events it cannot decode.
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

// isOpaque reports whether pmcd forwards values of a type as bytes, without looking at them.
func isOpaque(t pdu.Type) bool {
	return t == pdu.TypeString || t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic
}

func isInteger(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeU64 }
func is64Bit(t pdu.Type) bool   { return t == pdu.Type64 || t == pdu.TypeU64 }

// instances returns the set of a metric's instances; nil for a singular metric. If the set is known, set.Insts
// becomes its list, so that the connection recognizes the list in the next answer.
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

// equalLists is slices.Equal with a shortcut for slices of the same memory.
func equalLists(x, y []pdu.Inst) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || slices.Equal(x, y))
}
