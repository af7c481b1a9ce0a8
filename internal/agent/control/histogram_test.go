package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHistogramCountsByUpperBound(t *testing.T) {
	for name, c := range map[string]struct {
		took   time.Duration
		bucket string
	}{
		"nothing":          {0, "0.01"},
		"negative":         {-time.Second, "0.01"},
		"a bound":          {15 * time.Millisecond, "15"},
		"just above it":    {15*time.Millisecond + 1, "20"},
		"below the first":  {9 * time.Microsecond, "0.01"},
		"a fraction":       {1001 * time.Microsecond, "1.5"},
		"the last bound":   {100 * time.Second, "100000"},
		"longer than that": {time.Hour, "inf"},
	} {
		t.Run(name, func(t *testing.T) {
			var h Histogram
			h.Record(c.took, 3)
			var got Buckets
			h.AddTo(&got)
			h.AddTo(&got)
			for i, bound := range BucketNames() {
				want := uint64(0)
				if bound == c.bucket {
					want = 6
				}
				assert.Equal(t, want, got[i], bound)
			}
		})
	}
}

func TestBucketNamesGrow(t *testing.T) {
	names := BucketNames()
	assert.Len(t, names, len(Buckets{}))
	assert.Equal(t, []string{"0.01", "0.015", "0.02"}, names[:3])
	assert.IsIncreasing(t, bounds[:])
}
