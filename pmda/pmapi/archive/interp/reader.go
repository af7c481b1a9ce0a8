package interp

import (
	"context"
	"errors"
	"io"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/logfile"
	"pmdaderived/pmda/pmapi/archive/metadata"
)

// Reader computes the values at a time, which usually is between two records. It is for one goroutine.
type Reader struct {
	log         *logfile.Log
	meta        *metadata.Metadata
	series      map[pdu.PMID]*series
	records     *logfile.Reader
	now         time.Time // of the last fetch; the series have all records up to it
	lastRead    time.Time // of the last record that was read
	rest        rest      // of the segment
	valuesAhead int       // number of values in the records ahead of all series

	columns pdu.Columns
}

// rest is what is known about the part of the segment after lastRead.
type rest int

const (
	unread  rest = iota // nothing is known
	scanned             // series.last has the time of the last value of each instance
	atMark              // it is empty: lastRead is the time of the next mark, which is after now
	atEnd               // it is empty: the archive ends at lastRead
)

// maxAhead is the largest number of values in records ahead. For a metric that would need more, the reader searches
// without storing the records between.
const maxAhead = 1 << 20

// NewReader returns a reader. The caller calls Close to release its file.
func NewReader(l *logfile.Log, m *metadata.Metadata) *Reader {
	return &Reader{log: l, meta: m, series: make(map[pdu.PMID]*series), records: l.NewReader()}
}

// Close releases the file of the reader, which can still be used.
func (p *Reader) Close() { p.records.Close() }

// Fetch returns the values of metrics at a time, one column for each, in the order of ids. It is fast if t is not
// before the time of the last fetch. The caller must not change the lists of instances, and the reader does not.
func (p *Reader) Fetch(ctx context.Context, ids []pdu.PMID, t time.Time) ([]pdu.Column, error) {
	requested := make([]*series, len(ids))
	back := p.now.IsZero() || t.Before(p.now)
	fresh := back
	for i, id := range ids {
		s := p.series[id]
		if desc, ok := p.meta.Descs[id]; s == nil && ok && desc.Type != pdu.TypeNoSupport {
			s = newSeries(p.meta, desc)
			p.series[id] = s
			fresh = true
		}
		requested[i] = s
	}
	if fresh && !back { // the marks in between matter to the series that were there
		if err := p.advance(ctx, t); err != nil {
			return nil, err
		}
	}
	if fresh {
		if err := p.restart(ctx, t, !back); err != nil {
			return nil, err
		}
	}
	if err := p.advance(ctx, t); err != nil {
		return nil, err
	}
	if err := p.readAhead(ctx, requested); err != nil {
		return nil, err
	}
	if err := p.findMissing(ctx, requested); err != nil {
		return nil, err
	}
	columns := make([]pdu.Column, len(ids))
	for i, s := range requested {
		if s == nil {
			columns[i] = pdu.Column{PMID: ids[i], Code: pdu.ErrPMIDLog, Type: pdu.TypeUnknown}
			continue
		}
		s.dropGone(t)
		s.interpolate(t)
		columns[i] = s.value
	}
	return columns, nil
}

// read returns the next record, or io.EOF at the end. It skips damaged parts.
func (p *Reader) read(ctx context.Context) (logfile.Record, error) {
	if err := ctx.Err(); err != nil {
		return logfile.Record{}, err
	}
	for {
		r, err := p.records.Next()
		var damage *logfile.DamageError
		if errors.As(err, &damage) {
			continue
		}
		return r, err
	}
}

// eachSet calls yield for each series that a record has values of.
func (p *Reader) eachSet(r logfile.Record, yield func(s *series, c column)) {
	r.Decode(&p.columns, p.meta.Descs, func(id pdu.PMID) bool { return p.series[id] != nil })
	for i := range p.columns.Sets {
		set := &p.columns.Sets[i]
		s := p.series[set.PMID]
		if s == nil || set.Code < 0 || len(set.Insts) == 0 || !fits(set.Type, s.desc.Type) {
			continue
		}
		c := column{r.Time, set.Insts, set.Bits, clone(set.Blobs)}
		if s.desc.InDom == pdu.NoInDom {
			c.makeSingular()
		}
		yield(s, c)
	}
}

// restart finds the newest values up to t of all series, without use of values that were read before. It reads the part
// of the archive from the last position in the index that is before t, then the part before that, until all
// instances have a value or a mark comes. Then it moves to the first record after t. goesOn says that the series go on:
// what a mark has them skip, they still do.
func (p *Reader) restart(ctx context.Context, t time.Time, goesOn bool) error {
	for _, s := range p.series {
		*s = series{desc: s.desc, domain: s.domain, value: s.value, skips: goesOn && s.skips}
	}
	p.valuesAhead, p.rest = 0, unread
	first := p.log.PositionBefore(t)
	var until *logfile.Position // the begin of the part that was read before
	for i := first; ; i-- {
		i = p.records.Seek(i)
		from := p.records.Position()
		marked, err := p.readOlder(ctx, t, until)
		if err != nil {
			return err
		}
		if i == 0 || marked || p.complete() {
			break
		}
		until = &from
	}
	p.records.Seek(first)
	p.now, p.lastRead = t, t
	for { // to the first record after t
		at := p.records.Position()
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Time.After(t) {
			return p.records.Move(at)
		}
	}
}

// readOlder reads records up to t and up to the position until, if it is not nil. It adds the newest values of
// instances that have none. It reports whether there was a mark: then no earlier record may be used.
func (p *Reader) readOlder(ctx context.Context, t time.Time, until *logfile.Position) (marked bool, err error) {
	part := make(map[*series]*series)
	for {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if r.Time.After(t) || until != nil && !p.records.Last().Before(*until) {
			break
		}
		if r.Mark {
			marked = true
			clear(part)
			continue
		}
		p.eachSet(r, func(s *series, c column) {
			if part[s] == nil {
				part[s] = &series{}
			}
			part[s].add(c)
		})
	}
	for s, found := range part {
		s.addOlder(found)
	}
	return marked, nil
}

// complete reports whether every series has a value for every instance of its domain.
func (p *Reader) complete() bool {
	for _, s := range p.series {
		most := 1
		if s.desc.InDom != pdu.NoInDom {
			d := p.meta.InDoms[s.desc.InDom]
			if d == nil {
				return false
			}
			most = len(d.Last)
		}
		if len(s.newest.insts)+len(s.older) < most {
			return false
		}
	}
	return true
}

// advance moves now forward to t. Records ahead that are not after t become the newest values, and the records up to t
// are read.
func (p *Reader) advance(ctx context.Context, t time.Time) error {
	p.now = t
	for _, s := range p.series {
		for len(s.ahead) > 0 && !s.ahead[0].t.After(t) {
			p.valuesAhead -= len(s.ahead[0].insts)
			s.add(s.ahead[0])
			s.ahead[0] = column{}
			s.ahead = s.ahead[1:]
		}
	}
	if p.rest == atMark && !p.lastRead.After(t) {
		p.dropHistory()
	}
	for p.rest != atEnd && !p.lastRead.After(t) {
		if err := p.readNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readNext reads a record, and adds it to the newest values, or to the records ahead if it is after now.
func (p *Reader) readNext(ctx context.Context) error {
	r, err := p.read(ctx)
	if errors.Is(err, io.EOF) {
		p.rest = atEnd
		return nil
	}
	if err != nil {
		return err
	}
	p.lastRead = r.Time
	late := r.Time.After(p.now)
	switch {
	case r.Mark && late:
		p.rest = atMark
	case r.Mark:
		p.dropHistory()
	default:
		p.eachSet(r, func(s *series, c column) {
			if !late {
				s.add(c)
				return
			}
			s.ahead = append(s.ahead, c)
			p.valuesAhead += len(c.insts)
		})
	}
	return nil
}

// dropHistory drops all values before a mark: the segment after it begins.
func (p *Reader) dropHistory() {
	p.valuesAhead, p.rest = 0, unread
	for _, s := range p.series {
		*s = series{
			desc: s.desc, domain: s.domain, present: s.present, dropped: s.dropped, value: s.value,
			skips: s.desc.Sem == pdu.SemCounter && len(s.value.Insts) > 0,
		}
	}
}

// readAhead reads records until each of the requested series that needs one has a record after now.
func (p *Reader) readAhead(ctx context.Context, requested []*series) error {
	for _, s := range requested {
		for s != nil && s.pending() && len(s.ahead) == 0 && p.rest == unread && p.valuesAhead < maxAhead {
			if err := p.readNext(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// findMissing finds the next values of instances that have a value up to now and are in no record ahead. It reads
// records without storing them, then moves back. The first time in a segment it reads on to the next mark or the end.
// It then knows the last time of each instance, and never has to search for one that has gone.
func (p *Reader) findMissing(ctx context.Context, requested []*series) error {
	if p.rest == atMark || p.rest == atEnd {
		return nil
	}
	missing := make(map[*series]map[pdu.Inst]bool)
	n := 0
	for _, s := range requested {
		if s == nil || !s.pending() || missing[s] != nil {
			continue
		}
		for id := range s.unresolved(p.now, p.rest) {
			if missing[s] == nil {
				missing[s] = make(map[pdu.Inst]bool)
			}
			missing[s][id] = true
			n++
		}
	}
	if n == 0 {
		return nil
	}
	from := p.records.Position()
	for p.rest == unread || n > 0 {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) || err == nil && r.Mark {
			break
		}
		if err != nil {
			return err
		}
		p.eachSet(r, func(s *series, c column) {
			for i, id := range c.insts {
				if p.rest == unread {
					if s.last == nil {
						s.last = make(map[pdu.Inst]time.Time)
					}
					s.last[id] = c.t
				}
				if missing[s][id] {
					if s.later == nil {
						s.later = make(map[pdu.Inst]*sample)
					}
					one := c.sample(i)
					s.later[id] = &one
					delete(missing[s], id)
					n--
				}
			}
		})
	}
	p.rest = scanned
	return p.records.Move(from)
}
