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
	Samples   []*operand.Sample // newest first
	Stale     bool              // nothing young enough this time
	Unchanged bool              // nothing new since the fetch before
	Missed    bool              // what was foretold for this fetch did not come
}

// Advance makes the newest sample, which may be nil, part of the history of a metric, which has so
// many samples at most (1: only the newest counts). No sample whose age is beyond patience is served. It reports whether the history has begun: it may continue with samples
// that were kept.
func (h *History) Advance(newest *operand.Sample, depth int, age, maxAge time.Duration, bytes *SampleBytes) (restarted bool) {
	h.Stale = newest == nil || age > maxAge
	h.Missed = h.Stale || len(h.Samples) > 0 && newest == h.Samples[0] || age > missedAge
	h.Unchanged = false
	if h.Stale {
		return false
	}
	switch {
	case depth == 1:
		if len(h.Samples) != 1 || h.Samples[0] != newest {
			h.restart(newest, bytes)
		}
	case len(h.Samples) == 0 || !newest.Continues(h.Samples[0]): // new, the connection was lost, or pmcd's clock was set
		h.restart(newest, bytes)
		return true
	case newest.At.After(h.Samples[0].At):
		if len(h.Samples) < depth {
			h.Samples = append(h.Samples, nil)
		} else {
			bytes.Drop(h.Samples[len(h.Samples)-1])
		}
		bytes.add(newest)
		copy(h.Samples[1:], h.Samples)
		h.Samples[0] = newest
	default:
		h.Unchanged = true
	}
	return false
}

// begin begins the history of a metric anew.
func (h *History) restart(newest *operand.Sample, bytes *SampleBytes) {
	bytes.add(newest)
	bytes.Drop(h.Samples...)
	h.Samples = append(h.Samples[:0], newest)
}

// Continue continues a history that has begun with samples that were kept, newest first: each the youngest that is an interval older than the
// one after it. Where a history has just begun and there is none so old, right after a start, it is the oldest there is.
func (h *History) Backfill(retained []*operand.Sample, depth int, interval, maxGap time.Duration, bytes *SampleBytes) {
	var oldest *operand.Sample
	newest := h.Samples[0]
	last := newest
	for _, older := range retained {
		gap := last.At.Sub(older.At)
		if len(h.Samples) == depth || !newest.Continues(older) || gap > maxGap {
			break
		}
		if gap >= MinStep {
			oldest = older
		}
		if gap >= interval {
			h.Samples = append(h.Samples, older)
			bytes.add(older)
			last = older
		}
	}
	if len(h.Samples) == 1 && oldest != nil {
		h.Samples = append(h.Samples, oldest)
		bytes.add(oldest)
	}
}

// Held counts the bytes of all samples that are part of a history.
type SampleBytes struct{ Total int }

func (b *SampleBytes) add(s *operand.Sample) {
	if s.Holders++; s.Holders == 1 {
		b.Total += s.Size
	}
}

// Drop takes samples out of a history.
func (b *SampleBytes) Drop(samples ...*operand.Sample) {
	for _, s := range samples {
		if s.Holders--; s.Holders == 0 {
			b.Total -= s.Size
		}
	}
}
