package predict

import (
	"testing"
	"time"

	"pmdaderived/internal/freshness"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// following has timers and a clock of its own, and takes the samples.
type following struct {
	Timers[string]
	now   time.Duration // since the start
	taken []sampled
}

type sampled struct {
	at    time.Duration
	value string
}

func (f *following) time() time.Time { return time.Unix(1_000_000, 0).Add(f.now) }

// fetch records a fetch of a context now.
func (f *following) fetch(h *Predictor, e *Timer[string], what string) {
	f.Set(e, h.RecordFetch(f.time(), TimeRange{}), what)
}

// pass lets time go by, in which samples are taken.
func (f *following) pass(d time.Duration) {
	for end := f.time().Add(d); ; {
		next := f.Next()
		if next.IsZero() || next.After(end) {
			f.now += end.Sub(f.time())
			return
		}
		f.now += max(0, next.Sub(f.time()))
		f.taken = append(f.taken, sampled{f.now, f.Advance(f.time())})
	}
}

// samples returns what was sampled since the last call.
func (f *following) samples() []sampled {
	taken := f.taken
	f.taken = nil
	return taken
}

// times returns when something was sampled since the last call.
func (f *following) times() (at []time.Duration) {
	for _, s := range f.samples() {
		at = append(at, s.at)
	}
	return at
}

// A sample is taken shortly before the fetch that will need it.
func TestPrediction(t *testing.T) {
	var f following
	var h Predictor
	var e Timer[string]
	for range 2 + trustedIntervals {
		f.fetch(&h, &e, "")
		f.pass(time.Second)
	}
	f.times()
	for i := range 5 {
		f.fetch(&h, &e, "")
		f.pass(time.Second)
		at := time.Duration(3+trustedIntervals+i)*time.Second - freshness.Lead
		assert.Equal(t, []time.Duration{at}, f.times())
	}
	f.pass(30 * time.Second)
	f.times()
	assert.Len(t, f.heap, 1)
	f.pass(time.Hour)
	assert.LessOrEqual(t, len(f.times()), int(freshness.ActiveTime/freshness.MaxGap))
	assert.Empty(t, f.heap, "a context that does not come back is not sampled for")
}

// A context that has fetched once may never fetch again, as those of pmproxy. So its samples are few, but a second fetch
// at a usual interval finds a new one, and at any time after a second one that is no older than three fifths of its interval.
func TestNewContext(t *testing.T) {
	var f following
	var h Predictor
	var e Timer[string]
	f.fetch(&h, &e, "")
	f.pass(3 * time.Hour)
	got := f.times()
	for i, usual := range []float64{0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180} {
		assert.Equal(t, time.Duration(usual*float64(time.Second))-freshness.Lead, got[i])
	}
	for i, at := range got[1:] {
		assert.LessOrEqual(t, at-got[i], max(at*3/5, freshness.ActiveTime))
	}
	assert.InDelta(t, freshness.FirstFetchTime, got[len(got)-1], float64(freshness.ActiveTime))
	assert.Empty(t, f.heap)

	s := new(Predictor).RecordFetch(f.time(), TimeRange{})
	s.Advance(s.Next.Add(-freshness.Lead / 2))
	assert.Equal(t, f.time().Add(time.Second-freshness.Lead), s.Next, "one that is taken early is taken once")
}

// pmval fetches again at once when it has got no value: that says nothing of when it fetches next.
func TestFetchAgainAtOnce(t *testing.T) {
	var f following
	var h Predictor
	var e Timer[string]
	f.fetch(&h, &e, "")
	f.pass(time.Millisecond)
	f.fetch(&h, &e, "")
	for i := range 5 {
		f.times()
		f.pass(time.Second / 2)
		at, age := f.times(), 2*freshness.Lead
		require.NotEmpty(t, at)
		if i == 0 {
			age = time.Second / 8
		}
		assert.LessOrEqual(t, f.now-at[len(at)-1], age, "a new sample")
		f.fetch(&h, &e, "")
	}
}

// Contexts without a forecast find a sample that is young for them, as long as they are active.
func TestIrregularContext(t *testing.T) {
	var f following
	var h Predictor
	var e Timer[string]
	for _, d := range []time.Duration{700 * ms, 3 * time.Second, 1200 * ms, 9 * time.Second, 400 * ms} {
		f.fetch(&h, &e, "")
		f.pass(d)
	}
	f.times()
	f.fetch(&h, &e, "")
	start := f.now
	f.pass(2 * time.Minute)
	got := f.times()
	assert.Equal(t, start+100*ms, got[0], "a fourth of 400 ms")
	for i := range got[1:] {
		since := max(400*ms, got[i]-start)
		assert.Equal(t, min(since/4, freshness.MaxGap), got[i+1]-got[i], "a fourth of %v", since)
	}
	assert.LessOrEqual(t, got[len(got)-1], start+freshness.ActiveTime)
	assert.Greater(t, got[len(got)-1], start+freshness.ActiveTime-time.Second)
}

// A client that looks metrics up and does not fetch them at once is sampled for 15 ms after the last look-up, all
// metrics together, and for some seconds from then on.
func TestPauseBeforeTheFirstFetch(t *testing.T) {
	var f following
	var e Timer[string]
	f.Set(&e, AfterLookup(f.time()), "a")
	f.pass(5 * ms)
	f.Set(&e, AfterLookup(f.time()), "a b")
	f.pass(time.Minute)
	got := f.samples()
	require.NotEmpty(t, got)
	for i, s := range got { // a fetch that comes late finds a sample, too
		assert.Equal(t, sampled{20*ms + time.Duration(i)*freshness.MaxGap, "a b"}, s)
	}
	assert.InDelta(t, freshness.LookupTime, got[len(got)-1].at, float64(freshness.MaxGap))
	assert.Empty(t, f.heap)

	f.Set(&e, AfterLookup(f.time()), "a")
	f.pass(5 * ms)
	f.Remove(&e) // it has fetched
	f.Remove(&e) // once more does no harm
	f.pass(time.Minute)
	assert.Empty(t, f.times())
}
