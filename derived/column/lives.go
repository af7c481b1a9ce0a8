package column

import (
	"maps"
	"math"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// Lives tells since when a metric has the instances of a sample. Immutable.
type Lives struct {
	number uint64 // of the sample among those of the metric
	newest uint64 // the number of the sample with which the newest life began
	doubt  uint64 // likewise of the last one that Doubt preceded
	of     *lives
}

// lives are the lives of a set of instances.
type lives struct {
	insts *InstSet
	since []life
}

// life is the life of an instance, from one sample with it to the last one before a sample without it.
type life struct {
	first   uint64 // the number of its first sample
	born    bool   // it came into being then, as far as anybody knows
	unnamed bool   // it was born, and begins with the first sample at which its name is known
}

// Began reports whether the life of an instance began after an older sample, and whether it was born then. near is the
// probable position of the instance. One that the records of an archive lack begins later, and is not born.
func (l *Lives) Began(id pdu.Inst, near int, older *Lives) (after, born bool) {
	if l == nil || older == nil || l.of == nil || l.newest <= older.number {
		return false, false
	}
	at := l.of.insts.Near(id, near)
	if at < 0 || l.of.since[at].first <= older.number {
		return at < 0, false
	}
	return true, l.of.since[at].born && !l.of.since[at].unnamed
}

// Doubtful reports whether a number may stand for another instance than in an older sample, as agents that restart may
// exchange them: one that is lower was not necessarily reset. In an archive a reset begins a life, and between two records
// the counter falls slowly from one to the other.
func (l *Lives) Doubtful(older *Lives) bool {
	return l != nil && older != nil && l.doubt > older.number
}

// RememberedFor is how long a number is known after its last sample: one that comes back is not born.
const RememberedFor = 24 * time.Hour

const (
	// maxRemembered is how many numbers of a metric are known, of present instances and of those that have gone. Beyond it
	// nothing is born, until all that was forgotten then is a day old.
	maxRemembered = 100_000

	// birthIntervals is by how many of its intervals two samples of a metric may be apart. If they are farther, nobody
	// knows what happened in between.
	birthIntervals = 3

	knownGaps = 4 // between samples, the longest of which is the interval

	// roundTime exceeds the time between records of different groups of pmlogger that it writes together.
	roundTime = 100 * time.Millisecond

	// partOfGap says how soon after a record that has an instance another one does not say that it has gone: it is of
	// a group of pmlogger with a shorter interval.
	partOfGap = 4

	// maxUnpaced is how many instances with one record may be in other groups. Where instances come and go all at once
	// the former ones cannot be told from another group, and each record would look at all of them.
	maxUnpaced = 1000
)

// pace says how far samples of a metric are apart.
type pace struct {
	gaps   [knownGaps]time.Duration // the last ones between samples without doubt
	next   int                      // the index in gaps of the oldest
	paused bool                     // the gap before the last sample was too long
}

// record has the value of an instance in the last record with it.
type record struct {
	number uint64 // of the record among those of the metric
	at     time.Time
	pace   pace // of the records of the same group
	bits   uint64
}

// Births finds out which instances of a metric came into being while it was sampled: a number that no sample of the last
// day had, if nothing casts doubt on the sample before. It gets all samples of the metric, in order.
type Births struct {
	Interval time.Duration // between samples, at most; the metric may have a longer one

	number    uint64
	sure      bool      // the last sample was without error, had instances, and nothing has happened since
	at, taken time.Time // times of the last sample
	pace      pace
	present   *lives
	unnamed   bool                   // an instance of present is
	newest    uint64                 // see Lives
	doubt     uint64                 // likewise; the number of the next sample, if Doubt was called since the last one
	gone      map[pdu.Inst]time.Time // when numbers that are not present were last seen
	unsure    time.Time              // nothing is born before
	last      []record               // of each instance of present; AddRecord has them
}

// Doubt has nothing count from 0 in the next sample: agents may have come, gone or restarted, or samples may be missing.
func (b *Births) Doubt() { b.sure, b.doubt = false, b.number+1 }

// Forgotten reports whether all numbers were last seen too long ago.
func (b *Births) Forgotten(now time.Time) bool { return now.Sub(b.taken) >= RememberedFor }

// Add adds a sample of the metric, and returns its lives. at is its time by pmcd's clock, taken by ours: the first goes
// on while the host is suspended, and only the second one is never set. names has those of the domain that are known: an
// instance without one is in no group yet, and nobody would count what it had until then. Nil are the names of all.
func (b *Births) Add(v *Vector, names *NameTable, at, taken time.Time) *Lives {
	if v.Code < 0 || v.Insts == nil {
		b.sure = false
		return nil
	}
	if v.Insts.Len() > maxRemembered {
		b.sure, b.present, b.gone, b.taken, b.unsure = false, nil, nil, taken, taken.Add(RememberedFor)
		return nil
	}
	gap := max(at.Sub(b.at), taken.Sub(b.taken))
	usual := max(b.Interval, slices.Max(b.pace.gaps[:]))
	pause := usual > 0 && gap > birthIntervals*usual
	births := b.sure && !pause && !taken.Before(b.unsure)
	if b.sure && (!pause || b.pace.paused) { // a pause is no interval, but two are
		b.pace.gaps[b.pace.next], b.pace.next = gap, (b.pace.next+1)%knownGaps
	}
	b.number++
	if b.present == nil || v.Insts != b.present.insts || b.unnamed {
		b.change(v.Insts, names, births, taken)
	}
	b.sure, b.pace.paused, b.at, b.taken = v.Insts.Len() > 0, pause, at, taken
	return &Lives{number: b.number, newest: b.newest, doubt: b.doubt, of: b.present}
}

// AddRecord adds a record of an archive in place of a sample, with values of type t of the metric. Samples of an archive
// do not tell: between two records they have instances and values of both. An instance that the record lacks has gone if
// it was in one record with others of this one: pmlogger records those of different groups in different records. A
// counter that is lower begins a life, and was born if there is no doubt.
func (b *Births) AddRecord(set *pdu.Column, t pdu.Type, at time.Time) {
	ids, number, sure := slices.Clip(set.Insts[:len(set.Bits)]), b.number+1, true
	if len(ids) == 0 {
		defer b.Doubt()
	}
	if set.Code < 0 {
		return
	}
	if b.present == nil {
		b.present, b.last, b.gone = &lives{insts: NewInstSet(nil)}, nil, make(map[pdu.Inst]time.Time)
	}
	former, last := b.present.insts, b.last
	var before record // of the same group
	var lower []pdu.Inst
	for k, id := range ids {
		if i := former.Near(id, k); i >= 0 {
			if sure = sure && last[i].number >= b.doubt; last[i].number > before.number {
				before = last[i]
			}
			if WentDown(t, set.Bits[k], last[i].bits) {
				lower = append(lower, id)
			}
			last[i].number = number
		}
	}
	if len(ids) == 0 && !slices.ContainsFunc(last, func(r record) bool { return r.number != last[0].number }) {
		last = nil // the only group has no instances
	}
	unpaced := 0
	for k, r := range last {
		age, usual := at.Sub(r.at), slices.Max(r.pace.gaps[:])
		if r.number == number || age >= RememberedFor || r.number == before.number && age >= usual/partOfGap {
			continue
		}
		if usual == 0 {
			unpaced++
		}
		if usual > 0 || unpaced <= maxUnpaced {
			ids = append(ids, former.ids[k])
		}
	}
	if len(ids) > len(set.Bits) {
		slices.Sort(ids) // as in the records of other groups
	}
	insts := former
	if !slices.Equal(former.ids, ids) {
		insts = NewInstSet(slices.Clone(ids))
	}
	if before.number == 0 { // this group is new
		sure, before.at = false, at
	}
	if before.pace.gaps[0] == 0 && at.Sub(before.at) < roundTime { // or this one, which has instances of another
		sure = false
	}
	b.sure, b.at, b.taken, b.pace = sure, before.at, before.at, before.pace
	if b.Add(&Vector{Insts: insts}, nil, at, at); b.present == nil {
		return // there are too many
	}
	if insts != former {
		b.last = make([]record, len(ids))
		for k, id := range ids {
			if i := former.Near(id, k); i >= 0 {
				b.last[k] = last[i]
			}
		}
	}
	for k, id := range set.Insts[:len(set.Bits)] {
		b.last[insts.Near(id, k)] = record{number, at, b.pace, set.Bits[k]}
	}
	if len(lower) > 0 {
		b.present = &lives{insts, slices.Clone(b.present.since)}
	}
	for _, id := range lower {
		b.present.since[insts.Index(id)] = life{first: number, born: sure}
	}
}

// Recorded returns the lives of a sample of an archive, which may have other instances than the last records. All records
// up to its time have been added.
func (b *Births) Recorded() *Lives {
	return &Lives{b.number, math.MaxUint64, math.MaxUint64, b.present}
}

// change replaces the present instances.
func (b *Births) change(insts *InstSet, names *NameTable, births bool, now time.Time) {
	former := b.present
	if former == nil {
		b.gone, former = make(map[pdu.Inst]time.Time), &lives{insts: NewInstSet(nil)}
	}
	for k, id := range former.insts.IDs() {
		if insts.Near(id, k) < 0 {
			b.gone[id] = b.taken
		}
	}
	b.present, b.unnamed = &lives{insts, make([]life, insts.Len())}, false
	for k, id := range insts.IDs() {
		l := &b.present.since[k]
		if before := former.insts.Near(id, k); before >= 0 {
			if *l = former.since[before]; !l.unnamed {
				continue
			}
		} else {
			last, known := b.gone[id]
			delete(b.gone, id)
			l.born = births && (!known || now.Sub(last) >= RememberedFor)
		}
		l.first, b.newest = b.number, b.number
		if l.unnamed = false; l.born && names != nil {
			_, named := names.Name(id)
			l.unnamed = !named
		}
		b.unnamed = b.unnamed || l.unnamed
	}
	if len(b.gone)+insts.Len() <= maxRemembered {
		return
	}
	maps.DeleteFunc(b.gone, func(_ pdu.Inst, last time.Time) bool { return now.Sub(last) >= RememberedFor })
	if len(b.gone)+insts.Len() > maxRemembered {
		clear(b.gone)
		b.unsure = now.Add(RememberedFor)
	}
}
