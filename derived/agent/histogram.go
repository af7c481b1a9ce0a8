package agent

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
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

// BucketNames returns the names of the buckets of every histogram in [Figures]: the upper bound of
// each in milliseconds, "inf" for the last.
func BucketNames() []string {
	names := make([]string, 0, numBuckets)
	for _, b := range bounds {
		names = append(names, strconv.FormatFloat(float64(b)/1e6, 'f', -1, 64))
	}
	return append(names, "inf")
}

// histogram counts durations. One goroutine or many may record, anybody may read.
type histogram struct {
	counts [numBuckets]atomic.Uint64
}

// record counts n durations of the same length.
func (h *histogram) record(d time.Duration, n uint64) {
	i, _ := slices.BinarySearch(bounds[:], d)
	h.counts[i].Add(n)
}

// add adds what was counted to sum.
func (h *histogram) add(sum *Buckets) {
	for i := range h.counts {
		sum[i] += h.counts[i].Load()
	}
}

// Buckets is a histogram at one moment: how many durations were at most as long as the bucket's bound
// and longer than that of the bucket before. [BucketNames] has the bounds.
type Buckets [numBuckets]uint64
