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

// Reader gives the values at a time, which is between two records as a rule. It is for one goroutine.
type Reader struct {
	log         *logfile.Log
	meta        *metadata.Metadata
	series      map[pdu.PMID]*series
	records     *logfile.Reader
	now         time.Time // of the last fetch; all records up to it are in the series
	lastRead    time.Time // of the last record that was read
	markAhead   bool      // that is a mark behind now: records stays there
	atEnd       bool      // records is at the end
	valuesAhead int       // of what is ahead, in values

	columns pdu.Columns
}

// maxAhead is how many values are kept of records ahead. A metric that comes less often is looked for without keeping what is in between.
const maxAhead = 1 << 20

// NewReader makes a reader. Close gives back the file that it has open.
func NewReader(l *logfile.Log, m *metadata.Metadata) *Reader {
	return &Reader{log: l, meta: m, series: make(map[pdu.PMID]*series), records: l.NewReader()}
}

// Close gives back the file that the reader has open. It can be used on.
func (p *Reader) Close() { p.records.Close() }

// Fetch gives the values of metrics at a time, one column for each, in the order of ids. It is quick if that is not before the time of the last
// fetch. The lists of instances stay the reader's, and do not change.
func (p *Reader) Fetch(ctx context.Context, ids []pdu.PMID, t time.Time) ([]pdu.Column, error) {
	requested := make([]*series, len(ids))
	fresh := p.now.IsZero() || t.Before(p.now)
	for i, id := range ids {
		s := p.series[id]
		if desc, ok := p.meta.Descs[id]; s == nil && ok && desc.Type != pdu.TypeNoSupport {
			s = newSeries(p.meta, desc)
			p.series[id] = s
			fresh = true
		}
		requested[i] = s
	}
	if fresh {
		if err := p.restart(ctx, t); err != nil {
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

// read reads the next record; io.EOF at the end. What is broken is passed over.
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

// eachSet calls yield with the values of each series that a record has.
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

// restart makes everything ready for a time, whatever was read before: the newest values up to it are looked for backwards, from one place that
// the index knows to the one before.
func (p *Reader) restart(ctx context.Context, t time.Time) error {
	for _, s := range p.series {
		*s = series{desc: s.desc, domain: s.domain, known: make(map[pdu.Inst]bool), hadValues: s.hadValues, value: s.value}
	}
	p.valuesAhead, p.markAhead, p.atEnd = 0, false, false
	first := p.log.PositionBefore(t)
	var until *logfile.Position // where what has been read begins
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
	for { // to the first record behind t
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

// readOlder reads on up to a position, if there is one, and to t, and takes the values of instances that are not known yet. It reports whether there was a
// mark: then nothing before counts.
func (p *Reader) readOlder(ctx context.Context, t time.Time, until *logfile.Position) (marked bool, err error) {
	part := make(map[*series]*series)
	for {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) || err == nil && (r.Time.After(t) || until != nil && !p.records.Last().Before(*until)) {
			break
		}
		if err != nil {
			return false, err
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

// complete reports whether every instance that there may be has a value.
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

// advance moves now to t.
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
	if p.markAhead && !p.lastRead.After(t) {
		p.dropHistory()
	}
	for !p.atEnd && !p.lastRead.After(t) {
		if err := p.readNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readNext reads a record.
func (p *Reader) readNext(ctx context.Context) error {
	r, err := p.read(ctx)
	if errors.Is(err, io.EOF) {
		p.atEnd = true
		return nil
	}
	if err != nil {
		return err
	}
	p.lastRead = r.Time
	late := r.Time.After(p.now)
	switch {
	case r.Mark && late:
		p.markAhead = true
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

// dropHistory forgets what is before a mark.
func (p *Reader) dropHistory() {
	p.markAhead, p.valuesAhead = false, 0
	for _, s := range p.series {
		*s = series{desc: s.desc, domain: s.domain, known: s.known, hadValues: s.hadValues, afterMark: true, value: s.value}
	}
}

// readAhead reads ahead until each of the series that needs it has a record behind now.
func (p *Reader) readAhead(ctx context.Context, requested []*series) error {
	for _, s := range requested {
		for s != nil && s.pending() && len(s.ahead) == 0 && !s.scanned && !p.markAhead && !p.atEnd && p.valuesAhead < maxAhead {
			if err := p.readNext(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// findMissing finds out of instances that are in no record ahead whether they come further on. It reads on without keeping more than that; the
// first time, to the end of the segment, to know of all when they come last.
func (p *Reader) findMissing(ctx context.Context, requested []*series) error {
	missing, whole := make(map[*series]map[pdu.Inst]bool), false
	n := 0
	for _, s := range requested {
		if s == nil || !s.pending() || missing[s] != nil {
			continue
		}
		s.final = p.markAhead || p.atEnd
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
	from := p.records.Position()
	for whole || n > 0 {
		r, err := p.read(ctx)
		if errors.Is(err, io.EOF) || err == nil && r.Mark {
			break
		}
		if err != nil {
			return err
		}
		p.eachSet(r, func(s *series, c column) {
			for i, id := range c.insts {
				if !s.scanned {
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
	if whole {
		for _, s := range p.series {
			s.scanned = true
		}
	}
	return p.records.Move(from)
}
