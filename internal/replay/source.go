package replay

import (
	"context"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive"
)

// Source is an archive as what samples are taken from, a [session.Source]. It is at one time, where [Player.Play] puts it.
type Source struct {
	*archive.Context

	record        *archive.Record   // values are those of it; nil: they are interpolated
	index         map[pdu.PMID]int  // where they are in it
	discrete      map[pdu.PMID]bool // metrics whose values stay until the next record that has them
	columns       pmapi.Columns
	foundInRecord []pdu.PMID // by among
}

// NewSource makes a source that is at the start of an archive.
func NewSource(a *archive.Archive) *Source {
	return &Source{Context: a.NewContext(time.Time{}, time.Time{}), index: make(map[pdu.PMID]int), discrete: make(map[pdu.PMID]bool)}
}

// Err implements [session.Source]: an archive can always be asked.
func (s *Source) Err() error { return nil }

// FetchColumns implements [session.Source].
func (s *Source) FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error) {
	if s.record == nil {
		return s.Context.FetchColumns(ctx, ids)
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

// isDiscrete reports whether values of a metric stay until there is another one, so that no record need repeat them.
func (s *Source) isDiscrete(ctx context.Context, id pdu.PMID) bool {
	is, known := s.discrete[id]
	if !known {
		desc, err := s.Desc(ctx, id)
		is = err == nil && desc.Sem == pdu.SemDiscrete
		s.discrete[id] = is
	}
	return is
}

// withoutDiscrete leaves discrete metrics out, unless there are no others. Records repeat their values in moments of their own, and what other
// metrics did from one such moment to a record of theirs, milliseconds later, is only what rounding makes of values in between.
func (s *Source) withoutDiscrete(ctx context.Context, ids []pdu.PMID) []pdu.PMID {
	found := slices.DeleteFunc(slices.Clone(ids), func(id pdu.PMID) bool { return s.isDiscrete(ctx, id) })
	if len(found) == 0 {
		return ids
	}
	return found
}

// Rewind brings the source to the start of the archive, as if it had not been asked anything.
func (s *Source) Rewind() {
	s.Close()
	s.record = nil
	start, _ := s.Window()
	s.SetTime(start)
}

// setRecord gives the source a record, and its time; nil: values are interpolated from now on.
func (s *Source) setRecord(r *archive.Record) {
	s.record = r
	if r == nil {
		return
	}
	s.SetTime(r.Time)
	clear(s.index)
	for i := range r.Sets {
		s.index[r.Sets[i].PMID] = i
	}
}

// hasAll reports whether the record has values of all these metrics. What is discrete counts as being there, if anything else is.
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

// inRecord are those of some metrics that the record has. They are valid until the next call.
func (s *Source) inRecord(ids []pdu.PMID) []pdu.PMID {
	s.foundInRecord = s.foundInRecord[:0]
	for _, id := range ids {
		if _, ok := s.index[id]; ok {
			s.foundInRecord = append(s.foundInRecord, id)
		}
	}
	return s.foundInRecord
}
