package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// interp gives the values at a time, which is between two records as a rule. It has read the archive up to the first record behind that time, and
// further, as far as a metric needs it to have a record behind the time:
//
//	records     1    2    3   M   4    5    6    7    8
//	                               now ^    ^ front        M is a mark
//	                              |----|                   in series.newest and series.older
//	                                   |----|              in series.ahead
//
// Nothing before the last mark counts, nor anything behind the next one.
type interp struct {
	a      *Archive
	series map[pdu.PMID]*series
	cursor *cursor
	now    time.Time // of the last fetch; all records up to it are in the series
	front  time.Time // of the last record that was read
	marked bool      // that is a mark behind now: the cursor stays there
	ended  bool      // the cursor is at the end
	size   int       // of what is ahead, in values
	exist  map[pdu.InDom]*existing

	columns pdu.Columns
}

// series is what is known of a metric.
type series struct {
	desc   pdu.Desc
	newest column               // the last record up to now
	older  map[pdu.Inst]*sample // instances that newest does not have
	ahead  []column             // records behind now, up to the next mark at most

	// far has, of instances that are in no record ahead, where they come next in this segment; zero: nowhere. scanned says that it
	// knows the last times of all.
	far     map[pdu.Inst]*sample
	last    map[pdu.Inst]time.Time
	scanned bool
	final   bool // what is not ahead and not far comes no more in this segment

	had    bool       // the last fetch has had values
	broken bool       // there was a mark since the last fetch
	value  pdu.Column // of this fetch
}

// existing is the instances that a domain has as of a state of it.
type existing struct {
	state int
	ids   map[pdu.Inst]bool
}

// column is the values of a metric in a record; there are no Insts if there is none.
type column struct {
	t     time.Time
	insts []pdu.Inst
	bits  []uint64
	blobs [][]byte
}

// sample is a value of an instance.
type sample struct {
	t    time.Time
	bits uint64
	blob []byte
}

func (c *column) sample(i int) sample {
	s := sample{t: c.t}
	if c.bits != nil {
		s.bits = c.bits[i]
	} else {
		s.blob = c.blobs[i]
	}
	return s
}

// maxAhead is how many values are kept of records ahead. A metric that comes less often is looked for without keeping what is in between.
const maxAhead = 1 << 20

func newInterp(a *Archive) *interp {
	return &interp{a: a, series: make(map[pdu.PMID]*series), cursor: &cursor{a: a}, exist: make(map[pdu.InDom]*existing)}
}

func (p *interp) close() { p.cursor.close() }

// fetch gives the series of metrics with their values at a time; nil for a metric that the archive does not have.
func (p *interp) fetch(ctx context.Context, ids []pdu.PMID, t time.Time) ([]*series, error) {
	asked := make([]*series, len(ids))
	fresh := p.now.IsZero() || t.Before(p.now)
	for i, id := range ids {
		s := p.series[id]
		if desc, ok := p.a.descs[id]; s == nil && ok {
			s = &series{desc: desc}
			p.series[id] = s
			fresh = true
		}
		asked[i] = s
	}
	if fresh {
		if err := p.begin(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := p.advance(ctx, t); err != nil {
		return nil, err
	}
	if err := p.extend(ctx, asked); err != nil {
		return nil, err
	}
	if err := p.scan(ctx, asked); err != nil {
		return nil, err
	}
	for _, s := range asked {
		if s != nil {
			s.interpolate(t, p.existing(s.desc.InDom))
		}
	}
	return asked, nil
}

// existing are the instances that a domain has now; nil for singular metrics. Others have no value, even if they are in a record.
func (p *interp) existing(indom pdu.InDom) map[pdu.Inst]bool {
	if indom == pdu.NoInDom {
		return nil
	}
	e := p.exist[indom]
	if e == nil {
		e = &existing{-1, map[pdu.Inst]bool{}}
		p.exist[indom] = e
	}
	if d := p.a.indoms[indom]; d != nil {
		if state := d.state(p.now); state != e.state {
			e.state = state
			clear(e.ids)
			for _, in := range d.at(state) {
				e.ids[in.ID] = true
			}
		}
	}
	return e.ids
}

// read reads the next record; io.EOF at the end. What is broken is passed over.
func (p *interp) read(ctx context.Context) (record, error) {
	if err := ctx.Err(); err != nil {
		return record{}, err
	}
	for {
		r, err := p.cursor.next()
		var damage *DamageError
		if errors.As(err, &damage) {
			continue
		}
		return r, err
	}
}

// sets calls yield with the values of each series that a record has.
func (p *interp) sets(r record, yield func(s *series, c column)) {
	decode(&p.columns, r, func(id pdu.PMID) bool { return p.series[id] != nil })
	for i := range p.columns.Sets {
		set := &p.columns.Sets[i]
		s := p.series[set.PMID]
		if s == nil || set.Code < 0 || len(set.Insts) == 0 || !fits(set.Type, s.desc.Type) {
			continue
		}
		yield(s, column{r.time, set.Insts, set.Bits, own(set.Blobs)})
	}
}

// fits reports whether values of a type can be read as the descriptor says.
func fits(values, t pdu.Type) bool {
	switch {
	case values == t:
		return t.Numeric() || t == pdu.TypeString || t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic
	case values == pdu.TypeUnknown: // in situ
		return t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat
	case t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic:
		return values == pdu.TypeAggregate || values == pdu.TypeAggregateStatic
	}
	return false
}

// begin makes everything ready for a time, whatever was read before: the newest values up to it are looked for backwards, from one place that
// the index knows to the one before.
func (p *interp) begin(ctx context.Context, t time.Time) error {
	for _, s := range p.series {
		*s = series{desc: s.desc, had: s.had, value: s.value}
	}
	p.size, p.marked, p.ended = 0, false, false
	first := p.a.placeBefore(t)
	var until *position // where what has been read begins
	for i := first; ; i-- {
		i = p.cursor.seek(i)
		from := p.cursor.position()
		marked, err := p.back(ctx, t, until)
		if err != nil {
			return err
		}
		if i == 0 || marked || p.complete() {
			break
		}
		until = &from
	}
	p.cursor.seek(first)
	p.now, p.front = t, t
	for { // to the first record behind t
		at := p.cursor.position()
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.time.After(t) {
			return p.cursor.move(at)
		}
	}
}

// back reads from where the cursor is up to a position, if there is one, and to t, and takes the values of instances that are not known yet. It reports whether there was a mark:
// then nothing before counts.
func (p *interp) back(ctx context.Context, t time.Time, until *position) (marked bool, err error) {
	part := make(map[*series]*series)
	for {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) || err == nil && (r.time.After(t) || until != nil && !p.cursor.at.before(*until)) {
			break
		}
		if err != nil {
			return false, err
		}
		if r.mark {
			marked = true
			clear(part)
			continue
		}
		p.sets(r, func(s *series, c column) {
			if part[s] == nil {
				part[s] = &series{}
			}
			part[s].take(c)
		})
	}
	for s, found := range part {
		s.adopt(found)
	}
	return marked, nil
}

// complete reports whether every instance that there may be has a value.
func (p *interp) complete() bool {
	for _, s := range p.series {
		most := 1
		if s.desc.InDom != pdu.NoInDom {
			d := p.a.indoms[s.desc.InDom]
			if d == nil {
				return false
			}
			most = d.count
		}
		if len(s.newest.insts)+len(s.older) < most {
			return false
		}
	}
	return true
}

// take takes a record that is newer than all before.
func (s *series) take(c column) {
	if !slices.Equal(s.newest.insts, c.insts) {
		if s.older == nil {
			s.older = make(map[pdu.Inst]*sample)
		}
		for i, id := range s.newest.insts {
			one := s.newest.sample(i)
			s.older[id] = &one
		}
		for _, id := range c.insts {
			delete(s.older, id)
		}
	}
	s.newest = c
}

// adopt takes what is older than all that is known.
func (s *series) adopt(old *series) {
	if len(s.newest.insts) == 0 {
		s.newest, s.older = old.newest, old.older
		return
	}
	has := make(map[pdu.Inst]bool)
	for _, id := range s.newest.insts {
		has[id] = true
	}
	if s.older == nil {
		s.older = make(map[pdu.Inst]*sample)
	}
	for i, id := range old.newest.insts {
		if s.older[id] == nil && !has[id] {
			one := old.newest.sample(i)
			s.older[id] = &one
		}
	}
	for id, one := range old.older {
		if s.older[id] == nil && !has[id] {
			s.older[id] = one
		}
	}
}

// advance moves now to t.
func (p *interp) advance(ctx context.Context, t time.Time) error {
	p.now = t
	for _, s := range p.series {
		for len(s.ahead) > 0 && !s.ahead[0].t.After(t) {
			p.size -= len(s.ahead[0].insts)
			s.take(s.ahead[0])
			s.ahead[0] = column{}
			s.ahead = s.ahead[1:]
		}
	}
	if p.marked && !p.front.After(t) {
		p.cut()
	}
	for !p.ended && !p.front.After(t) {
		if err := p.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step reads a record.
func (p *interp) step(ctx context.Context) error {
	r, err := p.read(ctx)
	if errors.Is(err, io.EOF) {
		p.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	p.front = r.time
	late := r.time.After(p.now)
	switch {
	case r.mark && late:
		p.marked = true
	case r.mark:
		p.cut()
	default:
		p.sets(r, func(s *series, c column) {
			if !late {
				s.take(c)
				return
			}
			s.ahead = append(s.ahead, c)
			p.size += len(c.insts)
		})
	}
	return nil
}

// cut forgets what is before a mark.
func (p *interp) cut() {
	p.marked, p.size = false, 0
	for _, s := range p.series {
		*s = series{desc: s.desc, had: s.had, broken: true, value: s.value}
	}
}

// extend reads ahead until each of the series that needs it has a record behind now.
func (p *interp) extend(ctx context.Context, asked []*series) error {
	for _, s := range asked {
		for s != nil && s.pending() && len(s.ahead) == 0 && !s.scanned && !p.marked && !p.ended && p.size < maxAhead {
			if err := p.step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// pending reports whether the value of a series depends on records behind now.
func (s *series) pending() bool {
	return s.desc.Sem != pdu.SemDiscrete && len(s.newest.insts)+len(s.older) > 0
}

// scan finds out of instances that are in no record ahead whether they come further on. It reads on without keeping more than that; the
// first time, to the end of the segment, to know of all when they come last.
func (p *interp) scan(ctx context.Context, asked []*series) error {
	missing, whole := make(map[*series]map[pdu.Inst]bool), false
	n := 0
	for _, s := range asked {
		if s == nil || !s.pending() || missing[s] != nil {
			continue
		}
		s.final = p.marked || p.ended
		for id := range s.unresolved(p.now) {
			if missing[s] == nil {
				missing[s] = make(map[pdu.Inst]bool)
			}
			missing[s][id] = true
			n++
		}
		whole = whole || missing[s] != nil && !s.scanned
	}
	if n == 0 {
		return nil
	}
	from := p.cursor.position()
	for whole || n > 0 {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) || err == nil && r.mark {
			break
		}
		if err != nil {
			return err
		}
		p.sets(r, func(s *series, c column) {
			for i, id := range c.insts {
				if !s.scanned {
					if s.last == nil {
						s.last = make(map[pdu.Inst]time.Time)
					}
					s.last[id] = c.t
				}
				if missing[s][id] {
					if s.far == nil {
						s.far = make(map[pdu.Inst]*sample)
					}
					one := c.sample(i)
					s.far[id] = &one
					delete(missing[s], id)
					n--
				}
			}
		})
	}
	if whole {
		for _, s := range p.series {
			s.scanned = true
		}
	}
	return p.cursor.move(from)
}

// unresolved are the instances that have a value up to now, and of which it is not known whether they have one behind.
func (s *series) unresolved(now time.Time) iter.Seq[pdu.Inst] {
	return func(yield func(pdu.Inst) bool) {
		if s.final {
			return
		}
		open := func(id pdu.Inst, i int) bool {
			if s.scanned && !s.last[id].After(now) {
				return false
			}
			_, ok := s.next(id, i, now)
			return !ok
		}
		if !s.newest.t.Equal(now) {
			for i, id := range s.newest.insts {
				if open(id, i) && !yield(id) {
					return
				}
			}
		}
		for id := range s.older {
			if open(id, -1) && !yield(id) {
				return
			}
		}
	}
}

// next is the first value of an instance behind now, as far as it is known; i is its place in the newest record.
func (s *series) next(id pdu.Inst, i int, now time.Time) (sample, bool) {
	for j := range s.ahead {
		c := &s.ahead[j]
		if i >= len(c.insts) || i < 0 || c.insts[i] != id {
			i = slices.Index(c.insts, id)
		}
		if i >= 0 {
			return c.sample(i), true
		}
	}
	if far := s.far[id]; far != nil && far.t.After(now) {
		return *far, true
	}
	return sample{}, false
}

// interpolate makes the value at a time, of the instances that exist then; nil: all.
func (s *series) interpolate(now time.Time, existing map[pdu.Inst]bool) {
	counter, discrete := s.desc.Sem == pdu.SemCounter, s.desc.Sem == pdu.SemDiscrete
	skip := counter && s.broken && s.had
	s.broken = false
	v := &s.value
	before := v.Insts
	*v = pdu.Column{PMID: s.desc.PMID, Type: s.desc.Type}
	if skip {
		s.had = false
		return
	}
	n := len(s.newest.insts) + len(s.older)
	insts := make([]pdu.Inst, 0, n)
	numeric := s.desc.Type.Numeric()
	one := func(id pdu.Inst, prior sample, i int) {
		if existing != nil && !existing[id] {
			return
		}
		if !discrete && !prior.t.Equal(now) {
			next, ok := s.next(id, i, now)
			if !ok {
				return
			}
			if counter && numeric {
				part := float64(now.Sub(prior.t)) / float64(next.t.Sub(prior.t))
				if prior.bits, ok = between(s.desc.Type, prior.bits, next.bits, part); !ok {
					return
				}
			}
		}
		insts = append(insts, id)
		if numeric {
			v.Bits = append(v.Bits, prior.bits)
		} else {
			v.Blobs = append(v.Blobs, prior.blob)
		}
	}
	if numeric {
		v.Bits = make([]uint64, 0, n)
	}
	for i, id := range s.newest.insts {
		one(id, s.newest.sample(i), i)
	}
	for _, id := range slices.Sorted(maps.Keys(s.older)) {
		one(id, *s.older[id], -1)
	}
	s.had = len(insts) > 0
	switch {
	case len(insts) == 0:
		v.Bits = nil
	case slices.Equal(insts, before):
		v.Insts = before
	default:
		v.Insts = insts
	}
}

// between gives the value of a counter at a part of the time between two records.
func between(t pdu.Type, from, to uint64, part float64) (bits uint64, ok bool) {
	switch t {
	case pdu.TypeFloat:
		x, y := t.Float64(from), t.Float64(to)
		return uint64(math.Float32bits(float32(x + part*(y-x)))), true
	case pdu.TypeDouble:
		x, y := t.Float64(from), t.Float64(to)
		return math.Float64bits(x + part*(y-x)), true
	}
	if to >= from {
		return from + uint64(math.Round(part*float64(to-from))), true
	}
	return 0, false
}
