package control

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
)

// numBuckets is how many classes of durations a histogram has: nine for each power of ten from 10 µs
// to 100 s, and one for all that is longer.
const numBuckets = 9*7 + 2

// bounds are the upper bounds of all buckets but the last, each included.
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

// BucketNames returns the names of the buckets of every [Histogram]: the upper bound of each in
// milliseconds, "inf" for the last.
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

// Histogram counts durations. Anybody may record and read.
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

// Longest is the longest duration so far.
func (h *Histogram) Longest() time.Duration { return time.Duration(h.longest.Load()) }

// AddTo adds what was counted to sum.
func (h *Histogram) AddTo(sum *Buckets) {
	for i := range h.counts {
		sum[i] += h.counts[i].Load()
	}
}

// Buckets is a histogram at one time: how many durations were at most as long as the bucket's bound
// and longer than that of the bucket before. [BucketNames] has the bounds.
type Buckets [numBuckets]uint64

// Peak is the largest of some numbers, 0 at least. Anybody may raise and load it.
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
