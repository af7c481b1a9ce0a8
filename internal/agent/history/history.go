package history

import (
	"time"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
)

const (
	// MinStep is how much older the sample must be at least that a first rate or delta is computed from, where none
	// is as old as it should be.
	MinStep = 10 * time.Millisecond

	// missedAge is the age of a sample from which it was not made for the fetch it is served to.
	missedAge = 4 * predict.Lead
)

// History is the samples that one metric of a context was served from.
type History struct {
	Seen   []*operand.Sample // newest first
	Stale  bool              // nothing young enough this time
	Same   bool              // nothing new since the fetch before
	Missed bool              // what was foretold for this fetch did not come
}

// Advance makes the newest sample, which may be nil, part of the history of a metric, which has so
// many samples at most (1: only the newest counts). No sample whose age is beyond patience is served. It reports whether the history has begun: it may continue with samples
// that were kept.
func (e *History) Advance(cur *operand.Sample, depth int, age, patience time.Duration, h *Held) (begun bool) {
	e.Stale = cur == nil || age > patience
	e.Missed = e.Stale || len(e.Seen) > 0 && cur == e.Seen[0] || age > missedAge
	e.Same = false
	if e.Stale {
		return false
	}
	switch {
	case depth == 1:
		if len(e.Seen) != 1 || e.Seen[0] != cur {
			e.begin(cur, h)
		}
	case len(e.Seen) == 0 || !cur.Continues(e.Seen[0]): // new, the connection was lost, or pmcd's clock was set
		e.begin(cur, h)
		return true
	case cur.At.After(e.Seen[0].At):
		if len(e.Seen) < depth {
			e.Seen = append(e.Seen, nil)
		} else {
			h.Drop(e.Seen[len(e.Seen)-1])
		}
		h.add(cur)
		copy(e.Seen[1:], e.Seen)
		e.Seen[0] = cur
	default:
		e.Same = true
	}
	return false
}

// begin begins the history of a metric anew.
func (e *History) begin(cur *operand.Sample, h *Held) {
	h.add(cur)
	h.Drop(e.Seen...)
	e.Seen = append(e.Seen[:0], cur)
}

// Continue continues a history that has begun with samples that were kept, newest first: each the youngest that is an interval older than the
// one after it. Where a history has just begun and there is none so old, right after a start, it is the oldest there is.
func (e *History) Continue(kept []*operand.Sample, depth int, interval, reach time.Duration, h *Held) {
	var oldest *operand.Sample
	cur := e.Seen[0]
	last := cur
	for _, s := range kept {
		gap := last.At.Sub(s.At)
		if len(e.Seen) == depth || !cur.Continues(s) || gap > reach {
			break
		}
		if gap >= MinStep {
			oldest = s
		}
		if gap >= interval {
			e.Seen = append(e.Seen, s)
			h.add(s)
			last = s
		}
	}
	if len(e.Seen) == 1 && oldest != nil {
		e.Seen = append(e.Seen, oldest)
		h.add(oldest)
	}
}

// Held counts the bytes of all samples that are part of a history.
type Held struct{ Bytes int }

func (h *Held) add(s *operand.Sample) {
	if s.Holders++; s.Holders == 1 {
		h.Bytes += s.Size
	}
}

// Drop takes samples out of a history.
func (h *Held) Drop(all ...*operand.Sample) {
	for _, s := range all {
		if s.Holders--; s.Holders == 0 {
			h.Bytes -= s.Size
		}
	}
}
