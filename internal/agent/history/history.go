package history

import (
	"time"

	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
)

// History has the samples that one metric of a context was served from. The flags are those of the last fetch.
type History struct {
	Samples   []*operand.Sample // newest first
	Stale     bool              // there is no sample, or it is too old to be served
	Unchanged bool              // there is no newer sample than at the fetch before
	Missed    bool              // no sample was made for this fetch, by a forecast or a look-up
}

// Advance adds the newest sample, nil if there is none, to the history of a metric that is computed from at most depth
// samples. age is that of the sample; if it is beyond maxAge, the sample is not served. Advance reports whether the
// history of a metric with a depth above 1 has started again: Backfill may add older samples to it.
func (h *History) Advance(
	newest *operand.Sample, depth int, age, maxAge time.Duration, bytes *SampleBytes,
) (restarted bool) {
	h.Stale = newest == nil || !freshness.Served(age, maxAge)
	h.Missed = h.Stale || len(h.Samples) > 0 && newest == h.Samples[0] || age > freshness.LateAge
	h.Unchanged = false
	if h.Stale {
		return false
	}
	switch {
	case depth == 1:
		if len(h.Samples) != 1 || h.Samples[0] != newest {
			h.restart(newest, bytes)
		}
	case len(h.Samples) == 0 || !newest.Continues(h.Samples[0]): // the connection was lost, or pmcd's clock was set
		h.restart(newest, bytes)
		return true
	case newest.At.After(h.Samples[0].At):
		if len(h.Samples) < depth {
			h.Samples = append(h.Samples, nil)
		} else {
			bytes.Drop(h.Samples[len(h.Samples)-1])
		}
		bytes.Add(newest)
		copy(h.Samples[1:], h.Samples)
		h.Samples[0] = newest
	default:
		h.Unchanged = true
	}
	return false
}

// restart drops all samples and starts again with the newest one.
func (h *History) restart(newest *operand.Sample, bytes *SampleBytes) {
	bytes.Add(newest)
	bytes.Drop(h.Samples...)
	h.Samples = append(h.Samples[:0], newest)
}

// Backfill adds older samples to a history that has started again, until it has depth samples. They are taken from the
// samples that the series has retained, newest first: each is the newest that is an interval older than the one before,
// but not more than maxGap older. If there is none so old, as after a start, Backfill adds the oldest one that is at
// least freshness.MinStep older.
func (h *History) Backfill(retained []*operand.Sample, depth int, interval, maxGap time.Duration, bytes *SampleBytes) {
	var oldest *operand.Sample
	newest := h.Samples[0]
	last := newest
	for _, older := range retained {
		gap := last.At.Sub(older.At)
		if len(h.Samples) == depth || !newest.Continues(older) || gap > maxGap {
			break
		}
		if gap >= freshness.MinStep {
			oldest = older
		}
		if gap >= interval {
			h.Samples = append(h.Samples, older)
			bytes.Add(older)
			last = older
		}
	}
	if len(h.Samples) == 1 && oldest != nil {
		h.Samples = append(h.Samples, oldest)
		bytes.Add(oldest)
	}
}

// SampleBytes counts the bytes of the samples in all histories and listings. A sample that several have counts once.
type SampleBytes struct{ Total int }

// Add adds a sample that is kept.
func (b *SampleBytes) Add(s *operand.Sample) {
	if s.Holders++; s.Holders == 1 {
		b.Total += s.Size
	}
}

// Drop subtracts samples that are kept no more.
func (b *SampleBytes) Drop(samples ...*operand.Sample) {
	for _, s := range samples {
		if s.Holders--; s.Holders == 0 {
			b.Total -= s.Size
		}
	}
}
