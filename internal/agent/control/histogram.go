package control

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
)

// numBuckets is the number of buckets of a histogram: nine for each power of ten from 10 µs to 100 s, and one for
// longer durations.
const numBuckets = 9*7 + 2

// bounds has the upper bounds of all buckets but the last. A bound belongs to its bucket.
//
//nolint:gochecknoglobals // a table
var bounds = makeBounds()

func makeBounds() (all [numBuckets - 1]time.Duration) {
	n := 0
	for decade := 10 * time.Microsecond; decade < 100*time.Second; decade *= 10 {
		for _, step := range []time.Duration{10, 15, 20, 25, 30, 40, 50, 60, 80} {
			all[n] = decade / 10 * step
			n++
		}
	}
	all[n] = 100 * time.Second
	return all
}

// BucketNames returns the names of the buckets of every [Histogram]: the upper bounds in milliseconds, and "inf".
func BucketNames() []string {
	names := make([]string, 0, numBuckets)
	for _, b := range bounds {
		names = append(names, strconv.FormatFloat(float64(b)/1e6, 'f', -1, 64))
	}
	return append(names, "inf")
}

func bucketInstances() (all []pdu.Instance) {
	for i, name := range BucketNames() {
		all = append(all, pdu.Instance{ID: pdu.Inst(i), Name: name})
	}
	return all
}

// Histogram counts durations. Any goroutine may record and read.
type Histogram struct {
	counts  [numBuckets]atomic.Uint64
	longest Peak // ns
}

// Record counts n durations of the same length.
func (h *Histogram) Record(d time.Duration, n uint64) {
	i, _ := slices.BinarySearch(bounds[:], d)
	h.counts[i].Add(n)
	h.longest.Raise(int64(d))
}

// Longest returns the longest recorded duration.
func (h *Histogram) Longest() time.Duration { return time.Duration(h.longest.Load()) }

// AddTo adds the counts to sum.
func (h *Histogram) AddTo(sum *Buckets) {
	for i := range h.counts {
		sum[i] += h.counts[i].Load()
	}
}

// Buckets has the counts of a histogram at one time: each of the durations up to the bucket's bound and above the one
// before. [BucketNames] has the bounds.
type Buckets [numBuckets]uint64

// Peak is the maximum of recorded numbers, at least 0. Any goroutine may call Raise and Load.
type Peak struct{ atomic.Int64 }

// Raise makes n the value if it is larger.
func (p *Peak) Raise(n int64) {
	for {
		old := p.Load()
		if n <= old || p.CompareAndSwap(old, n) {
			return
		}
	}
}
