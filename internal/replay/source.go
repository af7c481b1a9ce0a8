package replay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive"
)

// Source is an archive that sessions take samples from, a [session.Source]. [Player.Play] moves it in time.
type Source struct {
	*archive.Context

	values        *archive.Context      // has interpolated values for the session that is played; nil: the source itself has
	record        *archive.Record       // the present record; nil: values are interpolated
	index         map[pdu.PMID]int      // positions of metrics in record.Sets
	known         map[pdu.PMID]pdu.Desc // 0: it has none
	columns       pmapi.Columns
	foundInRecord []pdu.PMID // result of inRecord
}

// NewSource makes a source at the start of an archive.
func NewSource(a *archive.Archive) *Source {
	return &Source{
		Context: a.NewContext(time.Time{}, time.Time{}),
		index:   make(map[pdu.PMID]int), known: make(map[pdu.PMID]pdu.Desc),
	}
}

// Err implements [session.Source]: an archive does not fail.
func (s *Source) Err() error { return nil }

// FetchColumns implements [session.Source].
func (s *Source) FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error) {
	if s.record == nil {
		values := cmp.Or(s.values, s.Context)
		values.SetTime(s.Time())
		return values.FetchColumns(ctx, ids)
	}
	s.columns = pmapi.Columns{Time: s.record.Time, Sets: s.columns.Sets[:0]}
	for _, id := range ids {
		set := pdu.Column{PMID: id, Code: pdu.ErrAgain}
		if at, ok := s.index[id]; ok {
			set = s.record.Sets[at]
		} else if s.isDiscrete(ctx, id) {
			known, err := s.Context.FetchColumns(ctx, []pdu.PMID{id})
			if err != nil {
				return nil, err
			}
			set = known.Sets[0]
		}
		s.columns.Sets = append(s.columns.Sets, set)
	}
	return &s.columns, nil
}

// desc returns the descriptor of a metric, the zero value if it has none.
func (s *Source) desc(ctx context.Context, id pdu.PMID) pdu.Desc {
	desc, ok := s.known[id]
	if !ok {
		if known, err := s.Desc(ctx, id); err == nil {
			desc = known
		}
		s.known[id] = desc
	}
	return desc
}

// isDiscrete reports whether a metric's values are valid until the next record with values of it.
func (s *Source) isDiscrete(ctx context.Context, id pdu.PMID) bool {
	return s.desc(ctx, id).Sem == pdu.SemDiscrete
}

// withoutDiscrete removes discrete metrics, unless there are no others. pmlogger writes discrete values in records of
// their own, milliseconds from those of other metrics. A sample there would only show how interpolated values are
// rounded.
func (s *Source) withoutDiscrete(ctx context.Context, ids []pdu.PMID) []pdu.PMID {
	found := slices.DeleteFunc(slices.Clone(ids), func(id pdu.PMID) bool { return s.isDiscrete(ctx, id) })
	if len(found) == 0 {
		return ids
	}
	return found
}

// Rewind moves the source back to the start of the archive, and closes its files.
func (s *Source) Rewind() {
	s.Close()
	s.record = nil
	start, _ := s.Window()
	s.SetTime(start)
}

// setRecord makes r the present record, and moves the source to its time. nil means that values are interpolated from
// now on. A singular metric may have any instance number in a record, see docs/archives.md.
func (s *Source) setRecord(ctx context.Context, r *archive.Record) {
	s.record = r
	if r == nil {
		return
	}
	s.SetTime(r.Time)
	clear(s.index)
	for i := range r.Sets {
		set := &r.Sets[i]
		s.index[set.PMID] = i
		if len(set.Insts) == 1 && set.Insts[0] != pdu.NoInst && s.desc(ctx, set.PMID).InDom == pdu.NoInDom {
			set.Insts = []pdu.Inst{pdu.NoInst}
		}
	}
}

// hasAll reports whether the record has values of all these metrics. Discrete metrics may be missing, if the record has
// any of the others.
func (s *Source) hasAll(ctx context.Context, ids []pdu.PMID) bool {
	any := len(ids) == 0
	for _, id := range ids {
		switch at, ok := s.index[id]; {
		case ok && s.record.Sets[at].Code >= 0:
			any = true
		case ok || !s.isDiscrete(ctx, id):
			return false
		}
	}
	return any
}

// inRecord returns those of the metrics that the record has. The result is valid until the next call.
func (s *Source) inRecord(ids []pdu.PMID) []pdu.PMID {
	s.foundInRecord = s.foundInRecord[:0]
	for _, id := range ids {
		if _, ok := s.index[id]; ok {
			s.foundInRecord = append(s.foundInRecord, id)
		}
	}
	return s.foundInRecord
}
