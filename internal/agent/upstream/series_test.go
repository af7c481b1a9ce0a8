package upstream

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/await"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// seriesOf makes a series of metrics without instances.
func seriesOf(ids ...pdu.PMID) *Series {
	descs := make([]pdu.Desc, len(ids))
	for i, id := range ids {
		descs[i] = pdu.Desc{PMID: id, Type: pdu.TypeDouble, InDom: pdu.NoInDom}
	}
	return NewSeries(descs)
}

// fetchOf is one fetch for series.
func fetchOf(series ...*Series) *fetch {
	var batches operand.BatchCache[*Series]
	return &fetch{Batch: batches.Batch(series, math.MaxInt, math.MaxInt)}
}

// many makes PMIDs that nobody has values of.
func many(cluster, n int) []pdu.PMID {
	ids := make([]pdu.PMID, n)
	for i := range ids {
		ids[i] = pdu.NewPMID(60, cluster+i/1024, i%1024)
	}
	return ids
}

func TestOneRequestPerConnection(t *testing.T) {
	u := newRelay(t)
	release := u.HoldFetches()
	defer release()
	s := newFetching(t, u.Address, connections)
	const connections = connections - 1 // the last is for slow agents
	var series []*Series
	for i := range 2 * connections {
		f := seriesOf(pdu.NewPMID(60, 9, i))
		series = append(series, f)
		s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, f)
		s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, f) // it is on its way, or waits already
	}
	await.Until(t, "a fetch on every connection", func() bool { return len(u.Fetched()) == connections })
	assert.EqualValues(t, connections, s.figures.UpstreamFetches.Load())
	s.mu.Lock()
	assert.Len(t, s.queue.Waiting(), connections, "the others wait")
	for i, f := range series {
		assert.Equal(t, i >= connections, f.Waiting)
		assert.Equal(t, i < connections, f.Outstanding == 1)
	}
	s.mu.Unlock()
	release()
	s.sampled(series...)
	await.Until(t, "nothing under way", func() bool { return s.idle(series...) })
	assert.Len(t, u.Fetched(), connections+1, "those that waited go out together on the first connection that is free")
	assert.Len(t, u.Fetched()[connections], connections)
}

func TestOnlySeriesThatAreNotFreshAreSampled(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, 1)
	f, constant := seriesOf(loadID), seriesOf()
	s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, nil, f, constant)
	s.sampled(f)
	s.Want(time.Now(), freshness.Need{Gap: time.Hour}, f)
	assert.Len(t, u.Fetched(), 1, "fresh enough")
	s.Want(time.Now().Add(2*time.Hour), freshness.Need{Gap: time.Hour}, f)
	await.Until(t, "a second fetch", func() bool { return len(u.Fetched()) == 2 })
	assert.Nil(t, constant.Latest)
}

// A sample on its way is awaited, also by a series that has one.
func TestAwaiting(t *testing.T) {
	u, _ := bare(time.Now)
	some := &operand.Sample{}
	for _, s := range []struct {
		Series
		awaiting bool
	}{
		{Series{}, false},
		{Series{Member: queue.Member{Waiting: true}}, true},
		{Series{Member: queue.Member{Outstanding: 1}}, true},
		{Series{Member: queue.Member{Waiting: true}, RecentSamples: operand.RecentSamples{Latest: some}}, true},
		{Series{Member: queue.Member{Outstanding: 1}, RecentSamples: operand.RecentSamples{Latest: some}}, true},
	} {
		assert.Equal(t, s.awaiting, u.Awaiting([]*Series{{}, &s.Series}), "%+v", s)
	}
}

func TestWantWithoutConnections(t *testing.T) {
	s, _ := bare(time.Now)
	f := seriesOf(loadID)
	s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, f)
	assert.False(t, f.Waiting, "nothing would ever send it")
	assert.False(t, s.Announce(loadID))
	s.Drain()
	check(s, time.Now())
}

// Fetches have MaxOperands operands at most, and all of one metric.
func TestPartsOfAFetch(t *testing.T) {
	a, b, c, d := many(100, 2500), many(200, 2500), many(300, 1000), many(300, 1500)
	for _, row := range []struct {
		name   string
		series [][]pdu.PMID
		want   []int // number of operands of each fetch
	}{
		{"all in one", [][]pdu.PMID{c, {loadID}, {countID, loadID}}, []int{1002}},
		{"two parts", [][]pdu.PMID{a, b, d}, []int{2500, 4000}},
		{"few values do not wait", [][]pdu.PMID{a, b, c}, []int{2500, 2500, 1000}},
		{"as many as can be", [][]pdu.PMID{many(100, MaxOperands), {loadID}}, []int{MaxOperands, 1}},
		{"a metric with too many", [][]pdu.PMID{{loadID}, many(100, MaxOperands+1), {countID}}, []int{2, MaxOperands + 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newRelay(t)
			s := newFetching(t, u.Address, connections)
			var series []*Series
			for _, ids := range row.series {
				series = append(series, seriesOf(ids...))
			}
			s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, series...)
			s.sampled(series...)
			var sizes []int
			for _, ids := range u.Fetched() {
				sizes = append(sizes, len(ids))
			}
			assert.ElementsMatch(t, row.want, sizes)
			for i, f := range series {
				got := s.newest(f)
				missing := slices.IndexFunc(row.series[i], func(id pdu.PMID) bool {
					return got.Values(id, new(int32)).Code == pdu.ErrAgain
				})
				assert.Negative(t, missing, "operand without values in the sample of series %d", i)
			}
			assert.EqualValues(t, len(row.want), s.figures.UpstreamFetches.Load())
		})
	}
}

func TestDetachForgetsWhatIsUnderWay(t *testing.T) {
	u := newRelay(t)
	release := u.HoldFetches()
	defer release()
	s := newFetching(t, u.Address, 1)
	f, waiting := seriesOf(loadID), seriesOf(countID)
	s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, f)
	s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, waiting)
	assert.False(t, s.idle(f, waiting))
	s.pool.EndSession()
	assert.True(t, s.idle(f, waiting))
	s.readers.Wait()
	assert.Zero(t, s.figures.UpstreamErrors.Load())
}

// Fetches that are shorter because an answer was too long grow again.
func TestFetchesGrowAgain(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	p := fetchSize{operands: MaxOperands}
	p.halve(MaxOperands, now)
	p.halve(MaxOperands, now)
	assert.Equal(t, MaxOperands/2, p.sizeAt(now), "of the longest that was too long")
	p.halve(1, now)
	assert.Equal(t, 1, p.sizeAt(now.Add(oversizeTime)))
	assert.Equal(t, MaxOperands, p.sizeAt(now.Add(oversizeTime+1)))
}

// What a sample is good for depends on who asks, and when.
func TestFreshSamples(t *testing.T) {
	at := time.Now()
	quick := &operand.Sample{Taken: at, Arrived: at.Add(ms)}
	long := &operand.Sample{Taken: at, Arrived: at.Add(time.Second)}
	for _, row := range []struct {
		name   string
		sample *operand.Sample
		after  time.Duration // the arrival
		need   freshness.Need
		fresh  bool
	}{
		{"none", nil, 0, freshness.Need{Gap: time.Hour}, false},
		{"young", quick, 0, freshness.Need{Gap: freshness.MinAge}, true},
		{"as old as the gap", quick, ms, freshness.Need{Gap: freshness.MinAge}, false},
		{"within a burst", quick, ms, freshness.Need{Gap: freshness.MinAge, Burst: true}, true},
		{"after a burst", quick, 2 * ms, freshness.Need{Gap: freshness.MinAge, Burst: true}, false},
		{"took long", long, 0, freshness.Need{Gap: freshness.MinAge}, false},
		{"took long, within a burst", long, 99 * ms, freshness.Need{Gap: freshness.MinAge, Burst: true}, true},
		{"took long, after a burst", long, 100 * ms, freshness.Need{Gap: freshness.MinAge, Burst: true}, false},
		{"taken when the client was there", quick, 0, freshness.Need{Gap: freshness.MinAge, After: at, Burst: true}, true},
		{"taken before the client came", quick, 0, freshness.Need{Gap: time.Hour, After: at.Add(1), Burst: true}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := seriesOf(loadID)
			now := at
			if row.sample != nil {
				f.StoreLatest(row.sample)
				now = row.sample.Arrived.Add(row.after)
			}
			assert.Equal(t, row.fresh, f.IsFresh(now, row.need))
		})
	}
}

// One fetch has no more values than pmcd can serve without making others wait.
func TestPartsByValues(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, connections)
	sampled := func(name string, id pdu.PMID, values int) *Series {
		f := seriesOf(id)
		f.Taken, f.LatestValues = time.Unix(1, 0), values
		return f
	}
	a := sampled("a", pdu.NewPMID(60, 1, 1), queue.MaxValues/2)
	b := sampled("b", pdu.NewPMID(60, 1, 2), queue.MaxValues/2)
	c := sampled("c", pdu.NewPMID(60, 1, 3), 1)
	s.Want(time.Now(), freshness.Need{}, a, b, c)
	await.Until(t, "both parts", func() bool { return len(u.Fetched()) == 2 })
	assert.ElementsMatch(t, [][]pdu.PMID{{a.descs[0].PMID, b.descs[0].PMID}, {c.descs[0].PMID}}, u.Fetched())
}

// Fetches with many values wait for each other, those with few for none of them.
func TestPartsFollowEachOther(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, connections)
	sampled := func(item, values int) *Series {
		f := seriesOf(pdu.NewPMID(60, 1, item))
		f.Taken, f.LatestValues = time.Unix(1, 0), values
		return f
	}
	var big []*Series
	for i := range 3 {
		big = append(big, sampled(i, queue.MaxValues-1))
	}
	one, half, few := sampled(10, queue.MaxUrgent), sampled(11, queue.MaxUrgent+1), sampled(12, 1)
	release := u.HoldFetches()
	s.Want(time.Now(), freshness.Need{}, big...)
	s.Want(time.Now(), freshness.Need{}, one)
	s.Want(time.Now(), freshness.Need{}, half)
	s.Want(time.Now(), freshness.Need{}, few)
	await.Until(t, "what need not wait", func() bool { return len(u.Fetched()) == 3 })
	asked := func(series ...*Series) (all [][]pdu.PMID) {
		for _, f := range series {
			all = append(all, []pdu.PMID{f.descs[0].PMID})
		}
		return all
	}
	assert.ElementsMatch(t, asked(big[0], one, few), u.Fetched())
	s.mu.Lock()
	assert.Equal(t, []*Series{big[1], big[2], half}, s.queue.Waiting())
	s.mu.Unlock()
	release()
	await.Until(t, "the rest", func() bool { return s.idle(append(big, one, half, few)...) })
	assert.ElementsMatch(t, asked(big[0], big[1], big[2], one, half, few), u.Fetched())
}

// Handlers drain and want, readers poll, the scheduler checks, all at once.
func TestUpstreamIsSafeForAll(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, connections)
	var series []*Series
	for i := range 20 {
		series = append(series, seriesOf(loadID, pdu.NewPMID(60, 5, i)))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				s.Want(time.Now().Add(time.Hour), freshness.Need{Gap: 0}, series[(5*i+n)%20], series[n%20])
				s.Drain()
				s.check(time.Now())
				_ = s.newest(series[n%20])
			}
		})
	}
	all.Wait()
	s.sampled(series...)
	await.Until(t, "nothing under way", func() bool { return s.idle(series...) })
}

// result is an upstream answer with the given values.
func result(tb testing.TB, at time.Time, sets ...pdu.ValueSet) *pmapi.Columns {
	tb.Helper()
	message := pdu.HighResResult{Sec: at.Unix(), Nsec: int64(at.Nanosecond()), Sets: sets}
	var c pdu.Columns
	require.NoError(tb, c.Decode(pdu.Frame{Kind: message.Kind(), Body: message.Append(nil, 0)[pdu.HeaderSize:]}))
	return &pmapi.Columns{Time: c.Time, Sets: c.Sets}
}

// A sample owns all that it holds: the answer it was made from is overwritten by the next.
func TestSampleIsACopy(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, 1)
	f := NewSeries([]pdu.Desc{
		{PMID: binID, Type: pdu.Type32, InDom: binDom}, {PMID: binTextID, Type: pdu.TypeString, InDom: binDom},
	})
	s.Want(time.Now(), freshness.Need{Gap: 0}, f)
	s.sampled(f)
	old := s.newest(f)
	u.Update(func() {
		u.Time = old.Time().Add(time.Second)
		u.Metrics[2].Values = []pdu.Value{pdu.Int32Value(4, 1), pdu.Int32Value(5, 2), pdu.Int32Value(6, 3)}
		u.Metrics[3].Values = []pdu.Value{pdu.StringValue(4, "x"), pdu.StringValue(5, "y"), pdu.StringValue(6, "z")}
	})
	s.Want(time.Now().Add(time.Hour), freshness.Need{Gap: 0}, f)
	await.Until(t, "a new sample", func() bool { return s.newest(f) != old })
	assert.Equal(t, []pdu.Inst{1, 2, 3}, old.Values(binID, new(int32)).Insts.IDs())
	assert.Equal(t, []uint64{10, 1<<32 - 20, 30}, old.Values(binID, new(int32)).Bits)
	assert.Equal(t, [][]byte{[]byte("a"), []byte("b"), []byte("c")}, old.Values(binTextID, new(int32)).Blobs)
	assert.Equal(t, time.Second, s.newest(f).Time().Sub(old.Time()))
	assert.Equal(t, []pdu.InDom{binDom}, s.TakeEvents().Instances)
	assert.Empty(t, s.TakeEvents().Instances)
}

// Samples for first fetches are kept when somebody wants that, each once, and no more of them than are needed.
func TestSeriesKeepsSamples(t *testing.T) {
	at := func(ms int) *operand.Sample { return operand.Empty(time.UnixMilli(int64(ms)), nil) }
	for _, row := range []struct {
		name    string
		history int
		times   []int // negative: to be kept
		want    []int // newest first
	}{
		{"nobody wants it", 1, []int{0, 1000, 2000}, nil},
		{"among others", 1, []int{1000, -2000, 3000, 4000, -5000, 6000}, []int{5000, 2000}},
		{"the newest ones", 1, []int{-1, -2, -3, -4, -5, -6}, []int{6, 5, 4, 3}},
		{"two deep", 2, []int{-1, -2, -3, -4, -5, -6, -7}, []int{7, 6, 5, 4, 3, 2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := NewSeries(nil)
			f.OlderNeeded = row.history
			for _, ms := range row.times {
				f.RetainNext = ms < 0
				f.StoreLatest(at(max(ms, -ms)))
				if ms < 0 {
					f.RetainLatest()
				}
			}
			var got []int
			for _, s := range f.Retained {
				got = append(got, int(s.At.UnixMilli()))
			}
			assert.Equal(t, row.want, got)
		})
	}
}

// The sample of an agent that rests, or that is on its way, is kept when it comes; one that is new is kept at once.
func TestSamplesToBeKept(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s, _ := bare(func() time.Time { return now })
	coming, fresh, enough := seriesOf(loadID), seriesOf(countID), seriesOf(binID)
	coming.Outstanding = 1
	for _, f := range []*Series{coming, fresh, enough} {
		f.OlderNeeded = 1
		f.StoreLatest(&operand.Sample{Taken: now.Add(-time.Second)})
	}
	enough.RetainLatest()
	fresh.StoreLatest(&operand.Sample{Taken: now})
	s.schedule.warmSeries = []*Series{coming, fresh, enough}
	s.retainSamples(now, 1)
	assert.Empty(t, coming.Retained)
	assert.Equal(t, operand.RetainedSamples{fresh.Latest}, fresh.Retained)
	assert.Len(t, enough.Retained, 1)
	coming.StoreLatest(&operand.Sample{Taken: now.Add(-time.Millisecond)})
	assert.Equal(t, operand.RetainedSamples{coming.Latest}, coming.Retained)
	coming.StoreLatest(&operand.Sample{Taken: now})
	enough.StoreLatest(&operand.Sample{Taken: now})
	assert.Len(t, coming.Retained, 1)
	assert.Len(t, enough.Retained, 1)
}

// An operand with more instances than can be kept has a code and no values. The others are not
// concerned, and the log says so once.
func TestTooManyInstances(t *testing.T) {
	huge, small := pdu.NewPMID(60, 0, 1), pdu.NewPMID(60, 0, 2)
	asked := operand.NewList(
		pdu.Desc{PMID: huge, Type: pdu.TypeU64, InDom: binDom}, pdu.Desc{PMID: small, Type: pdu.TypeU64, InDom: pdu.NoInDom})
	many := pdu.ValueSet{PMID: huge, Values: make([]pdu.Value, operand.MaxInstances+1)}
	for i := range many.Values {
		many.Values[i] = pdu.Uint64Value(pdu.Inst(i), 1)
	}
	one := pdu.ValueSet{PMID: small, Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 7)}}
	s, hook := bare(time.Now)
	take := func() *operand.Sample {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.makeSample(result(t, time.Unix(1, 0), many, one), time.Now(), time.Now(), asked)
	}
	for range 2 {
		made := take()
		assert.Equal(t, pdu.ErrTooBig, made.Values(huge, new(int32)).Code)
		assert.Zero(t, made.Values(huge, new(int32)).Len())
		assert.Equal(t, []uint64{7}, made.Values(small, new(int32)).Bits)
	}
	require.Len(t, hook.AllEntries(), 1)
	assert.Equal(t, logrus.Fields{"pmid": huge, "instances": operand.MaxInstances + 1, "limit": operand.MaxInstances}, hook.LastEntry().Data)

	many.Values = many.Values[:operand.MaxInstances]
	made := take()
	assert.Zero(t, made.Values(huge, new(int32)).Code)
	assert.Equal(t, operand.MaxInstances, made.Values(huge, new(int32)).Len(), "as many as may be")
}

// Nobody tells what happened to agents while there was no connection.
func TestSamplesDoNotContinueOverAReconnect(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, 2)
	f := seriesOf(loadID)
	s.SetSeries([]*Series{f}, []int{1})
	s.RetainNext(true, f)
	s.Want(time.Now(), freshness.Need{Gap: freshness.MinAge}, f)
	s.sampled(f)
	old := s.newest(f)
	assert.NotEmpty(t, s.Retained(nil, f))
	s.pool.EndSession()
	s.readers.Wait()
	assert.Empty(t, s.Retained(nil, f))
	s.join(u.Address, 5)
	s.Want(time.Now(), freshness.Need{After: time.Now()}, f)
	await.Until(t, "a sample", func() bool { return s.newest(f) != old })
	assert.False(t, s.newest(f).Continues(old))
}

// Samples that are too old to be served are let go of, and how many values there were, and when, is still known.
func TestForgetsOldSamples(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	at := func(d time.Duration) *operand.Sample { return &operand.Sample{Taken: begin.Add(d)} }
	f := &Series{descs: make([]pdu.Desc, 2), RecentSamples: operand.RecentSamples{OlderNeeded: 1}}
	assert.Equal(t, 2, f.Size(), "one for each operand, as far as anybody knows")
	for i := range 4 {
		f.StoreLatest(at(time.Duration(i) * time.Minute))
		f.RetainLatest()
	}
	f.LatestValues = 1000
	s, _ := bare(func() time.Time { return begin }, func(o *Options) { o.Interval = 40 * time.Second })
	s.series = []*Series{f, {}}
	kept := func() (all []time.Duration) {
		for _, k := range f.Retained {
			all = append(all, k.Taken.Sub(begin))
		}
		return all
	}
	reached := freshness.NeverServed + 80*time.Second // from the oldest that is served
	check(s, begin.Add(reached))
	assert.Len(t, kept(), 4)
	check(s, begin.Add(reached+time.Minute))
	assert.Equal(t, []time.Duration{3 * time.Minute, 2 * time.Minute, time.Minute}, kept())
	assert.Equal(t, at(3*time.Minute), f.Latest)
	check(s, begin.Add(reached+time.Minute+freshness.ForgetInterval-1))
	assert.Len(t, kept(), 3)
	check(s, begin.Add(3*time.Minute+freshness.NeverServed+freshness.ForgetInterval))
	assert.Nil(t, f.Latest)
	assert.NotEmpty(t, kept())
	check(s, begin.Add(time.Hour))
	assert.Empty(t, kept())
	assert.Equal(t, 1000, f.Size())
	assert.Equal(t, begin.Add(3*time.Minute), f.Taken)
}

// A series whose answer alone is too long twice has no values for some time; the others are asked for together again.
func TestAnswerThatIsTooLongAlone(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s, hook := bare(func() time.Time { return now })
	one := seriesOf(loadID, countID)
	too := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.recordOversize(one, logrus.Fields{}, now)
	}
	s.fetchSize.halve(2, now)
	too()
	assert.Nil(t, one.Latest, "once may be a lie")
	assert.True(t, one.Waiting)
	too()
	require.NotNil(t, one.Latest)
	assert.Equal(t, pdu.ErrTooBig, one.Latest.Values(countID, new(int32)).Code)
	assert.Equal(t, MaxOperands, s.fetchSize.sizeAt(now))
	assert.Len(t, hook.AllEntries(), 1)
	assert.True(t, s.pushOversize(one, now.Add(oversizeTime-1)))
	assert.False(t, s.pushOversize(one, now.Add(oversizeTime)), "it is tried again")
	too()
	too()
	assert.Len(t, hook.AllEntries(), 1, "logged once")
	s.SetSeries([]*Series{one}, []int{0})
	s.ForgetOversize()
	assert.False(t, s.pushOversize(one, now), "or after a reload")
}
