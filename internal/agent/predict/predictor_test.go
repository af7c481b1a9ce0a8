package predict

import (
	"testing"
	"time"

	"pmdaderived/internal/freshness"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

func TestTypicalInterval(t *testing.T) {
	for _, row := range []struct {
		name      string
		intervals []time.Duration
		typical   time.Duration
		steady    bool
	}{
		{"none", nil, 0, false},
		{"one", []time.Duration{1000 * ms}, 1000 * ms, true},
		{"regular", []time.Duration{1000 * ms, 1003 * ms, 998 * ms}, 1000 * ms, true},
		{"one late", []time.Duration{100 * ms, 100 * ms, 300 * ms, 100 * ms}, 100 * ms, true},
		{"fast and uneven", []time.Duration{10 * ms, 14 * ms, 8 * ms}, 10 * ms, true},
		{"two that differ", []time.Duration{100 * ms, 5000 * ms}, 5000 * ms, true},
		{"two, one of a late fetch", []time.Duration{100 * ms, 70 * ms}, 70 * ms, true},
		{"three that differ", []time.Duration{100 * ms, 5000 * ms, 900 * ms}, 900 * ms, false},
		{"delayed often", []time.Duration{
			100 * ms, 92 * ms, 138 * ms, 70 * ms, 130 * ms, 75 * ms, 127 * ms, 68 * ms,
		}, 100 * ms, false},
		{"by hand", []time.Duration{700 * ms, 2000 * ms, 9000 * ms, 400 * ms, 60000 * ms}, 2000 * ms, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h Predictor
			now := time.Unix(0, 0)
			h.RecordFetch(now, TimeRange{})
			for _, d := range row.intervals {
				now = now.Add(d)
				h.RecordFetch(now, TimeRange{})
			}
			assert.Equal(t, row.typical, h.Interval())
			assert.Equal(t, row.steady, h.predictable())
		})
	}
	t.Run("the last eight count", func(t *testing.T) {
		var h Predictor
		now := time.Unix(0, 0)
		p := h.RecordFetch(now, TimeRange{})
		for i := range 20 {
			d := 1000 * ms
			if i >= 12 {
				d = 500 * ms
			}
			now = now.Add(d)
			p = h.RecordFetch(now, TimeRange{})
		}
		assert.Len(t, h.intervals, maxIntervals)
		assert.Equal(t, 500*ms, h.Interval())
		assert.Equal(t, now.Add(500*ms-freshness.Lead), p.Next)
	})
}

// A client that came too early once is sampled for a little earlier for a while.
func TestLeadFollowsEarlyFetches(t *testing.T) {
	var h Predictor
	now := time.Unix(0, 0)
	fetch := func(after time.Duration) time.Duration {
		now = now.Add(after)
		p := h.RecordFetch(now, TimeRange{})
		return h.expected.Sub(p.beforeExpected)
	}
	for range 4 {
		fetch(time.Second)
	}
	assert.Equal(t, freshness.Lead, fetch(time.Second))
	assert.Equal(t, freshness.Lead, fetch(1009*ms), "late")
	assert.Equal(t, 9*ms+freshness.Lead, fetch(991*ms), "early")
	for range maxIntervals - 1 {
		assert.Equal(t, 9*ms+freshness.Lead, fetch(time.Second))
	}
	assert.Equal(t, freshness.Lead, fetch(time.Second), "long ago")
	assert.Equal(t, freshness.MaxLead, fetch(900*ms), "there is a limit")
}

// An interval in which pmcd was blocked is not recorded, neither for a client without a forecast nor for one with it.
func TestDelayedFetches(t *testing.T) {
	for _, row := range []struct {
		name    string
		fetches int           // before
		after   time.Duration // pmcd is blocked, after the last of them
		held    []time.Duration
		typical time.Duration
		next    time.Duration // expected after the last delayed fetch; 0: no forecast
	}{
		{"after the first fetch", 1, 10 * ms, []time.Duration{4010 * ms}, 0, 0},
		{"after the first fetch, twice", 1, 10 * ms, []time.Duration{4010 * ms, 4002 * ms}, 0, 0},
		{"after the third fetch", 3, 10 * ms, []time.Duration{4030 * ms}, 100 * ms, 100 * ms},
		{"after many fetches, twice", 9, 10 * ms, []time.Duration{4030 * ms, 4020 * ms}, 100 * ms, 100 * ms},
		{"a long time before", 9, 10 * ms, []time.Duration{4040*ms + blockedGrace}, 100 * ms, 100 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h Predictor
			now := time.Unix(0, 0)
			p := h.RecordFetch(now, TimeRange{})
			for range row.fetches - 1 {
				now = now.Add(100 * ms)
				h.RecordFetch(now, TimeRange{})
			}
			for _, interval := range row.held {
				busy := TimeRange{now.Add(row.after), now.Add(interval - ms)}
				now = now.Add(interval)
				p = h.RecordFetch(now, busy)
			}
			assert.Equal(t, row.typical, h.Interval())
			if row.next == 0 {
				assert.Zero(t, h.expected)
				assert.Equal(t, now.Add(time.Second/2-freshness.Lead), p.Next, "as after a first fetch")
				return
			}
			assert.Equal(t, now.Add(row.next), h.expected)
		})
	}
}

func TestDelayed(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }
	for _, row := range []struct {
		name      string
		from, to  time.Duration
		last, now time.Duration
		explains  bool
	}{
		{"all of the time", 0, 4000 * ms, 0, 4000 * ms, true},
		{"begun before", -3000 * ms, 1000 * ms, 0, 1001 * ms, true},
		{"noted after the fetch arrived", 0, 4001 * ms, 0, 4000 * ms, true},
		{"a small part of a long interval", 9800 * ms, 10000 * ms, 0, 10000 * ms, false},
		{"a backlog", 0, 4000 * ms, 0, 4000*ms + blockedGrace, true},
		{"over long ago", 0, 4000 * ms, 0, 4001*ms + blockedGrace, false},
		{"before the last fetch", 0, 4000 * ms, 4001 * ms, 4002 * ms, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.explains, TimeRange{at(row.from), at(row.to)}.delayed(at(row.last), at(row.now)))
		})
	}
}

// Fetches at the same moment, or by a clock that goes back, are no reason to fall.
func TestFetchesWithoutAnInterval(t *testing.T) {
	var h Predictor
	now := time.Unix(0, 0)
	for i := range 50 {
		p := h.RecordFetch(now.Add(-time.Duration(i%3)), TimeRange{})
		p.Advance(now)
	}
}

// Without a trusted forecast there are repeated samples, too.
func TestRepeatedSamples(t *testing.T) {
	var h Predictor
	now := time.Unix(0, 0)
	h.RecordFetch(now, TimeRange{})
	now = now.Add(10 * time.Second)
	p := h.RecordFetch(now, TimeRange{})
	for i := range trustedIntervals - 1 {
		assert.NotZero(t, h.expected)
		for n := 1; n < 12; n++ {
			assert.LessOrEqual(t, p.Next.Sub(now), time.Duration(n)*freshness.MaxGap, "interval %d", i)
			p.Advance(p.Next)
		}
		now = now.Add(10 * time.Second)
		p = h.RecordFetch(now, TimeRange{})
	}
	assert.Equal(t, now.Add(10*time.Second-freshness.Lead), p.Next, "it is known well enough")
	p.Advance(p.Next)
	assert.Equal(t, now.Add(10*time.Second+freshness.MaxGap), p.Next, "it does not come")
	p.Advance(p.Next)
	assert.Equal(t, now.Add(10*time.Second+2*freshness.MaxGap), p.Next)
}

// The next fetch is expected an interval after a late one, too.
func TestLateFetches(t *testing.T) {
	var h Predictor
	now := time.Unix(0, 0)
	h.RecordFetch(now, TimeRange{})
	for i := range 40 {
		now = now.Add(time.Second)
		if i%5 == 4 {
			now = now.Add(40 * ms)
		}
		h.RecordFetch(now, TimeRange{})
		if i > 10 {
			assert.Equal(t, now.Add(time.Second), h.expected)
		}
	}
}

// A client whose interval changes has a forecast again after two fetches.
func TestNewInterval(t *testing.T) {
	for _, row := range []struct {
		name     string
		from, to time.Duration
	}{
		{"shorter", 10 * time.Second, time.Second},
		{"longer", time.Second, 10 * time.Second},
		{"much shorter", time.Hour, 10 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h Predictor
			now := time.Unix(0, 0)
			h.RecordFetch(now, TimeRange{})
			for range maxIntervals {
				now = now.Add(row.from)
				h.RecordFetch(now, TimeRange{})
			}
			now = now.Add(row.to)
			h.RecordFetch(now, TimeRange{})
			assert.Equal(t, row.from, h.Interval(), "it may have been only this one")
			now = now.Add(row.to)
			h.RecordFetch(now, TimeRange{})
			assert.Equal(t, row.to, h.Interval())
			assert.Equal(t, now.Add(row.to), h.expected)
		})
	}
}
