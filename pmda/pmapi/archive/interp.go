package archive

import (
	"context"
	"errors"
	"io"
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

	columns pdu.Columns
}

// maxAhead is how many values are kept of records ahead. A metric that comes less often is looked for without keeping what is in between.
const maxAhead = 1 << 20

func newInterp(a *Archive) *interp {
	return &interp{a: a, series: make(map[pdu.PMID]*series), cursor: &cursor{a: a}}
}

func (p *interp) close() { p.cursor.close() }

// fetch gives the series of metrics with their values at a time; nil for a metric that the archive does not have.
func (p *interp) fetch(ctx context.Context, ids []pdu.PMID, t time.Time) ([]*series, error) {
	asked := make([]*series, len(ids))
	fresh := p.now.IsZero() || t.Before(p.now)
	for i, id := range ids {
		s := p.series[id]
		if desc, ok := p.a.descs[id]; s == nil && ok && desc.Type != pdu.TypeNoSupport {
			s = newSeries(p.a, desc)
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
			s.forget(t)
			s.interpolate(t)
		}
	}
	return asked, nil
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
	decode(&p.columns, r, p.a.descs, func(id pdu.PMID) bool { return p.series[id] != nil })
	for i := range p.columns.Sets {
		set := &p.columns.Sets[i]
		s := p.series[set.PMID]
		if s == nil || set.Code < 0 || len(set.Insts) == 0 || !fits(set.Type, s.desc.Type) {
			continue
		}
		c := column{r.time, set.Insts, set.Bits, own(set.Blobs)}
		if s.desc.InDom == pdu.NoInDom {
			c.one()
		}
		yield(s, c)
	}
}

// begin makes everything ready for a time, whatever was read before: the newest values up to it are looked for backwards, from one place that
// the index knows to the one before.
func (p *interp) begin(ctx context.Context, t time.Time) error {
	for _, s := range p.series {
		*s = series{desc: s.desc, domain: s.domain, known: make(map[pdu.Inst]bool), had: s.had, value: s.value}
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
			most = len(d.last)
		}
		if len(s.newest.insts)+len(s.older) < most {
			return false
		}
	}
	return true
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
		*s = series{desc: s.desc, domain: s.domain, known: s.known, had: s.had, broken: true, value: s.value}
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
