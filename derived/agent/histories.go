package agent

import (
	"time"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/predict"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/pdu"
)

const (
	// minStep is how much older the sample must be at least that a first rate or delta is computed from, where none
	// is as old as it should be.
	minStep = 10 * time.Millisecond

	// missedAge is the age of a sample from which it was not made for the fetch it is served to.
	missedAge = 4 * predict.Lead
)

// entry is one metric of a context, with its history.
type entry struct {
	id     pdu.PMID
	metric *metric // nil: none of ours
	series *upstream.Series
	seen   []*operand.Sample // those that the context was served from, newest first
	stale  bool              // nothing young enough this time
	same   bool              // nothing new since the fetch before
	missed bool              // what was foretold for this fetch did not come
	asked  bool              // of a metric made of constants alone: this is not the first fetch
}

// advance makes the newest sample of the series, which may be nil, part of the entry's history. Without history only the
// newest sample counts. It reports whether a history has begun, which may continue from what the series has kept.
func (e *entry) advance(cur *operand.Sample, now time.Time, patience time.Duration, h *holdings) (begun bool) {
	e.stale = cur == nil || now.Sub(cur.Taken) > patience
	e.missed = e.stale || len(e.seen) > 0 && cur == e.seen[0] || now.Sub(cur.Taken) > missedAge
	e.same = false
	if e.stale {
		return false
	}
	depth := e.metric.History + 1
	switch {
	case depth == 1:
		if len(e.seen) != 1 || e.seen[0] != cur {
			e.begin(cur, h)
		}
	case len(e.seen) == 0 || !cur.Continues(e.seen[0]): // new, or pmcd's clock was set
		e.begin(cur, h)
		return true
	case cur.At.After(e.seen[0].At):
		if len(e.seen) < depth {
			e.seen = append(e.seen, nil)
		} else {
			h.drop(e.seen[len(e.seen)-1])
		}
		h.add(cur)
		copy(e.seen[1:], e.seen)
		e.seen[0] = cur
	default:
		e.same = true
	}
	return false
}

// begin begins the history of a metric anew.
func (e *entry) begin(cur *operand.Sample, h *holdings) {
	h.add(cur)
	h.drop(e.seen...)
	e.seen = append(e.seen[:0], cur)
}

// warm continues a history with samples that the series has kept: each the youngest that is an interval older than the
// one after it. Where a history has just begun and there is none so old, right after a start, it is the oldest there is.
func (e *entry) warm(kept []*operand.Sample, interval time.Duration, h *holdings) {
	var oldest *operand.Sample
	depth, cur := e.metric.History+1, e.seen[0]
	last := cur
	for _, s := range kept {
		gap := last.At.Sub(s.At)
		if len(e.seen) == depth || !cur.Continues(s) || gap > upstream.Reach(interval) {
			break
		}
		if gap >= minStep {
			oldest = s
		}
		if gap >= interval {
			e.seen = append(e.seen, s)
			h.add(s)
			last = s
		}
	}
	if len(e.seen) == 1 && oldest != nil {
		e.seen = append(e.seen, oldest)
		h.add(oldest)
	}
}

// holdings counts the bytes of all samples that are part of a history.
type holdings struct{ bytes int }

func (h *holdings) add(s *operand.Sample) {
	if s.Holders++; s.Holders == 1 {
		h.bytes += s.Size
	}
}

func (h *holdings) drop(all ...*operand.Sample) {
	for _, s := range all {
		if s.Holders--; s.Holders == 0 {
			h.bytes -= s.Size
		}
	}
}
