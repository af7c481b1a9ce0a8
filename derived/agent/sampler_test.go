package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// sampling is a sampler with its connections.
type sampling struct {
	*sampler
	tb      testing.TB
	figures control.Figures
	names   operand.Names
	log     *logtest.Hook

	noted   sync.Mutex // guards the next three; mu is the sampler's
	errs    []error
	changes []pdu.Change
	domains []pdu.InDom
	readers sync.WaitGroup
	ended   chan struct{} // all readers have
}

// newSampling attaches n connections to the pmcd at an address.
func newSampling(tb testing.TB, address string, n int) *sampling {
	tb.Helper()
	log, hook := logtest.NewNullLogger()
	s := &sampling{tb: tb, log: hook, ended: make(chan struct{})}
	s.sampler = newSampler(log, time.Now, &s.figures, &s.names)
	s.lost = func(err error) { s.note(func() { s.errs = append(s.errs, err) }) }
	s.news = func(c pdu.Change) { s.note(func() { s.changes = append(s.changes, c) }) }
	s.renamed = func(d pdu.InDom) { s.note(func() { s.domains = append(s.domains, d) }) }
	for slot := range n {
		s.attach(context.Background(), &s.readers, link{dialUnix(tb, address), slot})
	}
	go func() {
		s.readers.Wait()
		close(s.ended)
	}()
	tb.Cleanup(func() {
		s.detach()
		<-s.ended
	})
	return s
}

func dialUnix(tb testing.TB, address string) *pmapi.Conn {
	tb.Helper()
	c, err := pmapi.Dial(tb.Context(), "unix", address)
	require.NoError(tb, err)
	return c
}

func (s *sampling) note(f func()) {
	s.noted.Lock()
	defer s.noted.Unlock()
	f()
}

func (s *sampling) lostErrors() (errs []error) {
	s.note(func() { errs = slices.Clone(s.errs) })
	return errs
}

// newest returns the latest sample of a feed.
func (s *sampling) newest(f *feed) *operand.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.latest
}

// slots are those of the lanes, in their order.
func (s *sampling) slots() (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		all = append(all, l.slot)
	}
	return all
}

// longest is how many operands a fetch has at most.
func (s *sampling) longest() (part int, shrunk time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part, s.shrunk
}

// sampled waits for the first sample of each feed.
func (s *sampling) sampled(feeds ...*feed) {
	s.tb.Helper()
	for _, f := range feeds {
		eventually(s.tb, fmt.Sprint("sample of ", f.descs), func() bool { return s.newest(f) != nil })
	}
}

// idle reports that nothing is under way or waiting.
func (s *sampling) idle(feeds ...*feed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(feeds, func(f *feed) bool { return f.outstanding != 0 || f.waiting }) &&
		len(s.few)+len(s.waiting)+len(s.apart)+s.under == 0
}

// feedOf makes a feed of metrics without instances.
func feedOf(ids ...pdu.PMID) *feed {
	descs := make([]pdu.Desc, len(ids))
	for i, id := range ids {
		descs[i] = pdu.Desc{PMID: id, Type: pdu.TypeDouble, InDom: pdu.NoInDom}
	}
	return newFeed(descs, nil)
}

// many makes PMIDs that nobody has values of.
func many(cluster, n int) []pdu.PMID {
	ids := make([]pdu.PMID, n)
	for i := range ids {
		ids[i] = pdu.NewPMID(60, cluster+i/1024, i%1024)
	}
	return ids
}

// hold makes fetches wait until release is called.
func hold(u *upstream) (release func()) {
	gate := make(chan struct{})
	u.onRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			<-gate
		}
		return true
	})
	var once sync.Once
	release = func() { once.Do(func() { close(gate) }) }
	return release
}

func TestOneRequestPerLane(t *testing.T) {
	u := newUpstream(t)
	release := hold(u)
	defer release()
	s := newSampling(t, u.address, lanes)
	const lanes = lanes - 1 // the last is for slow agents
	var feeds []*feed
	for i := range 2 * lanes {
		f := feedOf(pdu.NewPMID(60, 9, i))
		feeds = append(feeds, f)
		s.want(time.Now(), need{gap: minGap}, f)
		s.want(time.Now(), need{gap: minGap}, f) // it is on its way, or waits already
	}
	eventually(t, "a fetch on every lane", func() bool { return len(u.fetched()) == lanes })
	assert.EqualValues(t, lanes, s.figures.UpstreamFetches.Load())
	s.mu.Lock()
	assert.Len(t, s.few, lanes, "the others wait")
	for i, f := range feeds {
		assert.Equal(t, i >= lanes, f.waiting)
		assert.Equal(t, i < lanes, f.outstanding == 1)
	}
	s.mu.Unlock()
	release()
	s.sampled(feeds...)
	eventually(t, "nothing under way", func() bool { return s.idle(feeds...) })
	assert.Len(t, u.fetched(), lanes+1, "those that waited go out together on the first lane that is free")
	assert.Len(t, u.fetched()[lanes], lanes)
}

func TestOnlyStaleFeedsAreSampled(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 1)
	f, constant := feedOf(loadID), feedOf()
	s.want(time.Now(), need{gap: minGap}, nil, f, constant)
	s.sampled(f)
	s.want(time.Now(), need{gap: time.Hour}, f)
	assert.Len(t, u.fetched(), 1, "fresh enough")
	s.want(time.Now().Add(2*time.Hour), need{gap: time.Hour}, f)
	eventually(t, "a second fetch", func() bool { return len(u.fetched()) == 2 })
	assert.Nil(t, constant.latest)
}

func TestWantWithoutConnections(t *testing.T) {
	log, _ := logtest.NewNullLogger()
	s := newSampler(log, time.Now, &control.Figures{}, &operand.Names{})
	f := feedOf(loadID)
	s.want(time.Now(), need{gap: minGap}, f)
	assert.False(t, f.waiting, "nothing would ever send it")
	assert.False(t, s.announce(loadID))
	s.drain()
	s.check(time.Now())
}

// Fetches have maxPart operands at most, and all of one metric.
func TestPartsOfAFetch(t *testing.T) {
	a, b, c := many(100, 2500), many(200, 2500), many(300, 1000)
	for _, row := range []struct {
		name  string
		feeds [][]pdu.PMID
		want  []int // number of operands of each fetch
	}{
		{"all in one", [][]pdu.PMID{c, {loadID}, {countID, loadID}}, []int{1002}},
		{"two parts", [][]pdu.PMID{a, b, c}, []int{2500, 3500}},
		{"as many as can be", [][]pdu.PMID{many(100, maxPart), {loadID}}, []int{maxPart, 1}},
		{"a metric with too many", [][]pdu.PMID{{loadID}, many(100, maxPart+1), {countID}}, []int{1, maxPart + 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUpstream(t)
			s := newSampling(t, u.address, lanes)
			var feeds []*feed
			for _, ids := range row.feeds {
				feeds = append(feeds, feedOf(ids...))
			}
			s.want(time.Now(), need{gap: minGap}, feeds...)
			s.sampled(feeds...)
			var sizes []int
			for _, ids := range u.fetched() {
				sizes = append(sizes, len(ids))
			}
			assert.ElementsMatch(t, row.want, sizes)
			for i, f := range feeds {
				got := s.newest(f)
				missing := slices.IndexFunc(row.feeds[i], func(id pdu.PMID) bool {
					return got.Values(id).Code == pdu.ErrAgain
				})
				assert.Negative(t, missing, "operand without values in the sample of feed %d", i)
			}
			assert.EqualValues(t, len(row.want), s.figures.UpstreamFetches.Load())
		})
	}
}

func TestFetchThatIsRefused(t *testing.T) {
	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
		p.Greet(pmapitest.AllFeatures)
		for range 3 {
			if _, ok := p.Next(); !ok {
				return
			}
			p.Fail(pdu.ErrAgain)
		}
		if _, ok := p.Next(); ok {
			p.Send(&pdu.HighResResult{Sec: 5, Sets: []pdu.ValueSet{{PMID: loadID}}})
		}
		p.WaitClosed()
	})
	s := newSampling(t, address, 1)
	f := feedOf(loadID)
	for i := range uint64(3) {
		s.want(time.Now(), need{gap: minGap}, f)
		eventually(t, "refused", func() bool { return s.figures.UpstreamErrors.Load() == i+1 })
		eventually(t, "forgotten", func() bool { return s.idle(f) })
		assert.Nil(t, s.newest(f))
	}
	require.Len(t, s.log.AllEntries(), 1, "the same refusal is logged once")
	assert.Equal(t, "upstream fetch refused", s.log.LastEntry().Message)
	s.want(time.Now(), need{gap: minGap}, f)
	s.sampled(f) // the connection was good all the time
	assert.Empty(t, s.lostErrors())
	assert.Equal(t, time.Unix(5, 0), s.newest(f).Time())
}

func TestLaneThatFails(t *testing.T) {
	u := newUpstream(t)
	u.onRequest(func(_ int, f pdu.Frame) bool { return f.Kind != pdu.KindHighResFetch })
	s := newSampling(t, u.address, 1)
	f, next := feedOf(loadID), feedOf(countID)
	s.want(time.Now(), need{gap: minGap}, f, next)
	eventually(t, "lost", func() bool { return len(s.lostErrors()) == 1 })
	assert.True(t, gone(s.lostErrors()[0]), s.lostErrors()[0])
	assert.True(t, s.idle(f, next))
	<-s.ended // the reader has gone too
	s.want(time.Now(), need{gap: minGap}, f)
	assert.Zero(t, f.outstanding, "no lane is left to send it on")
	s.detach()
	assert.Len(t, s.lostErrors(), 1, "told once")
	assert.False(t, f.waiting)
}

// pmcd may end a connection while nothing is asked of it.
func TestLaneThatFailsWhileIdle(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, lanes)
	u.hangUp()
	eventually(t, "all lost", func() bool { return len(s.lostErrors()) == lanes })
	<-s.ended
}

func TestDetachForgetsWhatIsUnderWay(t *testing.T) {
	u := newUpstream(t)
	release := hold(u)
	defer release()
	s := newSampling(t, u.address, 1)
	f, waiting := feedOf(loadID), feedOf(countID)
	s.want(time.Now(), need{gap: minGap}, f)
	s.want(time.Now(), need{gap: minGap}, waiting)
	assert.False(t, s.idle(f, waiting))
	s.detach()
	assert.True(t, s.idle(f, waiting))
	<-s.ended
	assert.Empty(t, s.lostErrors(), "on purpose")
	assert.Zero(t, s.figures.UpstreamErrors.Load())
}

func TestOverdueLaneIsGivenUp(t *testing.T) {
	u := newUpstream(t)
	release := hold(u)
	defer release()
	s := newSampling(t, u.address, 2)
	both := slices.Clone(s.lanes)
	f := feedOf(loadID)
	s.want(time.Now(), need{gap: minGap}, f)
	s.check(time.Now().Add(laneTimeout - time.Second))
	assert.Empty(t, s.lostErrors())
	s.check(time.Now().Add(laneTimeout + time.Second))
	require.ErrorIs(t, require1(t, s.lostErrors()), errOverdue)
	assert.True(t, s.idle(f))
	assert.Error(t, both[0].conn.Err(), "nobody would read what pmcd writes")
	assert.NoError(t, both[1].conn.Err(), "it has nothing under way")
	s.check(time.Now().Add(2 * laneTimeout))
	assert.Len(t, s.lostErrors(), 1)
}

// listenWithLimit is a pmcd that answers fetches of so many metrics and refuses longer ones; after that it may go on.
func listenWithLimit(t *testing.T, limit int, refuse func(*pmapitest.Peer) (goOn bool)) (address string) {
	t.Helper()
	return pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
		p.Greet(pmapitest.AllFeatures)
		for {
			m, ok := p.Next()
			if !ok {
				return
			}
			ids := m.(*pdu.HighResFetch).PMIDs
			if len(ids) > limit {
				if !refuse(p) {
					return
				}
				continue
			}
			sets := make([]pdu.ValueSet, len(ids))
			for i, id := range ids {
				sets[i].PMID = id
			}
			p.Send(&pdu.HighResResult{Sets: sets})
		}
	})
}

// A pmcd may take only PDUs that are shorter than usual, and says so by closing the connection.
func TestPMCDThatTakesShortRequests(t *testing.T) {
	const limit = 2500
	address := listenWithLimit(t, limit, func(*pmapitest.Peer) bool { return false })
	var feeds []*feed
	for i := range 6 {
		feeds = append(feeds, feedOf(many(100*(i+1), 1000)...))
	}
	s := newSampling(t, address, lanes)
	s.want(time.Now(), need{gap: minGap}, feeds...)
	eventually(t, "an end", func() bool { return s.idle(feeds...) })
	require.NotEmpty(t, s.lostErrors())
	part, shrunk := s.longest()
	assert.LessOrEqual(t, part, limit)

	again := newSampling(t, address, lanes) // as the binder does
	again.part, again.shrunk = part, shrunk
	again.want(time.Now(), need{gap: minGap}, feeds...)
	again.sampled(feeds...)
	assert.Empty(t, again.lostErrors())
}

// One ended pmcd is not taken for many that refuse, and not for ever.
func TestFetchesGrowAgain(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	log, _ := logtest.NewNullLogger()
	s := newSampler(log, clock, &control.Figures{}, &operand.Names{})
	for range lanes {
		conn := dialUnix(t, newUpstream(t).address)
		s.fail(&lane{link: link{conn: conn}, asked: &operandList{List: &operand.List{IDs: make([]pdu.PMID, maxPart)}}}, fmt.Errorf("fetch: %w", pmapi.ErrTooLarge))
	}
	assert.Equal(t, maxPart/2, s.part)
	now.Add(int64(partRetry + time.Second))
	s.load(&lane{}, nil)
	assert.Equal(t, maxPart, s.part)

	again := &lane{link: link{conn: dialUnix(t, newUpstream(t).address)}, made: clock(), asked: &operandList{List: &operand.List{IDs: make([]pdu.PMID, maxPart)}}}
	s.fail(again, fmt.Errorf("fetch: %w", pmapi.ErrTooLarge))
	now.Add(int64(partRetry + time.Second))
	s.load(&lane{}, nil)
	assert.Equal(t, maxPart/2, s.part, "the second time it had not ended just then")
}

// A pmcd may take fetches of fewer metrics than usual, and says so with an error: other fetches are shorter, and
// what cannot be parted is reported.
func TestPMCDThatTakesFewMetrics(t *testing.T) {
	const limit = 250
	address := listenWithLimit(t, limit, func(p *pmapitest.Peer) bool {
		p.Fail(pdu.ErrTooBig)
		return true
	})
	var fitting []*feed
	for i := range 5 {
		fitting = append(fitting, feedOf(many(i+1, 50*(i+1))...))
	}
	long, longer := feedOf(many(6, limit+1)...), feedOf(many(7, 2*limit)...)
	s := newSampling(t, address, lanes)
	narrowed := make(chan int, 8)
	s.narrowed = func() { narrowed <- s.most() } // under the lock
	s.want(time.Now(), need{gap: minGap}, append(fitting, longer, long)...)
	s.sampled(fitting...)
	eventually(t, "both are refused alone", func() bool { return s.takes() == limit })
	assert.Contains(t, []int{limit, 2*limit - 1}, <-narrowed)
	assert.Empty(t, s.lostErrors())
	part, _ := s.longest()
	assert.LessOrEqual(t, part, limit)
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
		need   need
		fresh  bool
	}{
		{"none", nil, 0, need{gap: time.Hour}, false},
		{"young", quick, 0, need{gap: minGap}, true},
		{"as old as the gap", quick, ms, need{gap: minGap}, false},
		{"within a burst", quick, ms, need{gap: minGap, burst: true}, true},
		{"after a burst", quick, 2 * ms, need{gap: minGap, burst: true}, false},
		{"took long", long, 0, need{gap: minGap}, false},
		{"took long, within a burst", long, 99 * ms, need{gap: minGap, burst: true}, true},
		{"took long, after a burst", long, 100 * ms, need{gap: minGap, burst: true}, false},
		{"taken when the client was there", quick, 0, need{gap: minGap, after: at, burst: true}, true},
		{"taken before the client came", quick, 0, need{gap: time.Hour, after: at.Add(1), burst: true}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := feedOf(loadID)
			now := at
			if row.sample != nil {
				f.push(row.sample)
				now = row.sample.Arrived.Add(row.after)
			}
			assert.Equal(t, row.fresh, f.fresh(now, row.need))
		})
	}
}

// One fetch has no more values than pmcd can serve without making others wait.
func TestPartsByValues(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, lanes)
	sampled := func(name string, id pdu.PMID, values int) *feed {
		f := feedOf(id)
		f.taken, f.values = time.Unix(1, 0), values
		return f
	}
	a := sampled("a", pdu.NewPMID(60, 1, 1), maxPartValues/2)
	b := sampled("b", pdu.NewPMID(60, 1, 2), maxPartValues/2)
	c := sampled("c", pdu.NewPMID(60, 1, 3), 1)
	s.want(time.Now(), need{}, a, b, c)
	eventually(t, "both parts", func() bool { return len(u.fetched()) == 2 })
	assert.ElementsMatch(t, [][]pdu.PMID{{a.descs[0].PMID, b.descs[0].PMID}, {c.descs[0].PMID}}, u.fetched())
}

// Fetches with many values wait for each other, those with few for none of them.
func TestPartsFollowEachOther(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, lanes)
	sampled := func(item, values int) *feed {
		f := feedOf(pdu.NewPMID(60, 1, item))
		f.taken, f.values = time.Unix(1, 0), values
		return f
	}
	var big []*feed
	for i := range 3 {
		big = append(big, sampled(i, maxPartValues-1))
	}
	one, half, few := sampled(10, fewValues), sampled(11, fewValues+1), sampled(12, 1)
	release := hold(u)
	s.want(time.Now(), need{}, big...)
	s.want(time.Now(), need{}, one)
	s.want(time.Now(), need{}, half)
	s.want(time.Now(), need{}, few)
	eventually(t, "what need not wait", func() bool { return len(u.fetched()) == 3 })
	asked := func(feeds ...*feed) (all [][]pdu.PMID) {
		for _, f := range feeds {
			all = append(all, []pdu.PMID{f.descs[0].PMID})
		}
		return all
	}
	assert.ElementsMatch(t, asked(big[0], one, few), u.fetched())
	s.mu.Lock()
	assert.Equal(t, []*feed{big[1], big[2], half}, s.waiting)
	assert.Equal(t, maxPartValues-1, s.under)
	s.mu.Unlock()
	release()
	eventually(t, "the rest", func() bool { return s.idle(append(big, one, half, few)...) })
	assert.ElementsMatch(t, asked(big[0], big[1], big[2], one, half, few), u.fetched())
}

// A lane is taken out of use for a better one, what is under way on it first.
func TestLaneInALowerSlot(t *testing.T) {
	u := newUpstream(t)
	release := hold(u)
	defer release()
	s := newSampling(t, u.address, 0)
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 7}, link{dialUnix(t, u.address), unknownSlot})
	assert.Zero(t, s.worst(), "one is not known")
	f := feedOf(loadID)
	s.want(time.Now(), need{gap: minGap}, f)
	s.retire(unknownSlot)
	assert.Equal(t, 7, s.worst(), "it was idle and has ended")
	s.retire(7)
	s.retire(8)
	assert.Equal(t, []int{7}, s.slots(), "the last one stays")
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 3})
	s.retire(7)
	assert.Equal(t, []int{3, 7}, s.slots(), "in the order of slots; the answer of one has yet to come")
	release()
	s.sampled(f)
	eventually(t, "ended", func() bool { return s.worst() == 3 })
	assert.Empty(t, s.lostErrors(), "on purpose")
	g := feedOf(countID)
	s.want(time.Now(), need{gap: minGap}, g)
	s.sampled(g)
}

func TestStateChangesAreToldOnce(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 1)
	f := feedOf(loadID)
	fetch := func() (told []pdu.Change) {
		t.Helper()
		old := s.newest(f)
		s.want(time.Now().Add(time.Hour), need{gap: 0}, f)
		eventually(t, "a sample", func() bool { return s.newest(f) != old })
		s.note(func() { told, s.changes = s.changes, nil })
		return told
	}
	assert.Empty(t, fetch())
	u.Announce(pdu.ChangeAddAgent | pdu.ChangeNames)
	assert.Equal(t, []pdu.Change{pdu.ChangeAddAgent | pdu.ChangeNames}, fetch())
	assert.Empty(t, fetch())

	s.expect(pdu.ChangeNames) // we announce it ourselves, and hear of it like all clients
	u.Announce(pdu.ChangeNames)
	assert.Empty(t, fetch())
	u.Announce(pdu.ChangeNames)
	assert.Equal(t, []pdu.Change{pdu.ChangeNames}, fetch(), "somebody else's")

	s.expect(pdu.ChangeNames)
	u.Announce(pdu.ChangeNames | pdu.ChangeDropAgent)
	assert.Equal(t, []pdu.Change{pdu.ChangeDropAgent}, fetch())
}

func TestAnnounceNeedsAFreeLane(t *testing.T) {
	u := newUpstream(t)
	release := hold(u)
	defer release()
	own := pdu.NewPMID(testDomain, 0, 0)
	s := newSampling(t, u.address, 1)
	assert.True(t, s.announce(own))
	assert.False(t, s.announce(own), "the lane is busy")
	release()
	eventually(t, "the answer", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.lanes[0].busy
	})
	assert.Equal(t, [][]pdu.PMID{{own}}, u.fetched())
	assert.True(t, s.announce(own))
}

// Handlers drain and want, readers poll, the scheduler checks, all at once.
func TestSamplerIsSafeForAll(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, lanes)
	var feeds []*feed
	for i := range 20 {
		feeds = append(feeds, feedOf(loadID, pdu.NewPMID(60, 5, i)))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				s.want(time.Now().Add(time.Hour), need{gap: 0}, feeds[(5*i+n)%20], feeds[n%20])
				s.drain()
				s.check(time.Now())
				_ = s.newest(feeds[n%20])
			}
		})
	}
	all.Wait()
	s.sampled(feeds...)
	eventually(t, "nothing under way", func() bool { return s.idle(feeds...) })
}

// result is an upstream answer with the given values.
func result(tb testing.TB, at time.Time, sets ...pdu.ValueSet) *pmapi.Columns {
	tb.Helper()
	message := pdu.HighResResult{Sec: at.Unix(), Nsec: int64(at.Nanosecond()), Sets: sets}
	var c pdu.Columns
	require.NoError(tb, c.Decode(pdu.Frame{Kind: message.Kind(), Body: message.Append(nil, 0)[pdu.HeaderSize:]}))
	return &pmapi.Columns{Time: c.Time, Sets: c.Sets}
}

func valuesOf(id pdu.PMID, insts ...pdu.Inst) pdu.ValueSet {
	set := pdu.ValueSet{PMID: id, Format: pdu.Block}
	for _, inst := range insts {
		set.Values = append(set.Values, pdu.Uint64Value(inst, uint64(inst)*10))
	}
	return set
}

// A sample owns all that it holds: the answer it was made from is overwritten by the next.
func TestSampleIsACopy(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 1)
	f := newFeed([]pdu.Desc{
		{PMID: binID, Type: pdu.Type32, InDom: binDom}, {PMID: binTextID, Type: pdu.TypeString, InDom: binDom},
	}, nil)
	s.want(time.Now(), need{gap: 0}, f)
	s.sampled(f)
	old := s.newest(f)
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{
		binID:     {pdu.Int32Value(4, 1), pdu.Int32Value(5, 2), pdu.Int32Value(6, 3)},
		binTextID: {pdu.StringValue(4, "x"), pdu.StringValue(5, "y"), pdu.StringValue(6, "z")},
	})
	s.want(time.Now().Add(time.Hour), need{gap: 0}, f)
	eventually(t, "a new sample", func() bool { return s.newest(f) != old })
	assert.Equal(t, []pdu.Inst{1, 2, 3}, old.Values(binID).Insts.IDs())
	assert.Equal(t, []uint64{10, 1<<32 - 20, 30}, old.Values(binID).Bits)
	assert.Equal(t, [][]byte{[]byte("a"), []byte("b"), []byte("c")}, old.Values(binTextID).Blobs)
	assert.Equal(t, time.Second, s.newest(f).Time().Sub(old.Time()))
	s.note(func() { assert.Equal(t, []pdu.InDom{binDom, binDom}, s.domains) })
}

// Samples for first fetches are kept when somebody wants that, each once, and no more of them than are needed.
func TestFeedKeepsSamples(t *testing.T) {
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
			f := newFeed(nil, nil)
			f.history = row.history
			for _, ms := range row.times {
				f.keep = ms < 0
				f.push(at(max(ms, -ms)))
				if ms < 0 {
					f.retain()
				}
			}
			var got []int
			for _, s := range f.kept {
				got = append(got, int(s.At.UnixMilli()))
			}
			assert.Equal(t, row.want, got)
		})
	}
}

// The sample of an agent that rests, or that is on its way, is kept when it comes; one that is new is kept at once.
func TestSamplesToBeKept(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newSampler(logrus.New(), func() time.Time { return now }, &control.Figures{}, nil)
	coming, fresh, enough := feedOf(loadID), feedOf(countID), feedOf(binID)
	coming.outstanding = 1
	for _, f := range []*feed{coming, fresh, enough} {
		f.history = 1
		f.push(&operand.Sample{Taken: now.Add(-time.Second)})
	}
	enough.retain()
	fresh.push(&operand.Sample{Taken: now})
	s.keep(now, 1, coming, fresh, enough)
	assert.Empty(t, coming.kept)
	assert.Equal(t, []*operand.Sample{fresh.latest}, fresh.kept)
	assert.Len(t, enough.kept, 1)
	coming.push(&operand.Sample{Taken: now.Add(-time.Millisecond)})
	assert.Equal(t, []*operand.Sample{coming.latest}, coming.kept)
	coming.push(&operand.Sample{Taken: now})
	enough.push(&operand.Sample{Taken: now})
	assert.Len(t, coming.kept, 1)
	assert.Len(t, enough.kept, 1)
}

// Samples from before and after the restart of an agent differ in their epoch. pmcd tells each connection;
// that is still one restart.
func TestRestartOfAnAgentBeginsAnEpoch(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 3)
	// both takes two samples at a time, on two connections, and returns their epochs, which are the same
	// but for the first that is told.
	both := func() [2]int {
		t.Helper()
		release := hold(u)
		feeds := []*feed{feedOf(loadID), feedOf(countID)}
		before := len(u.fetched())
		for i, f := range feeds {
			s.want(time.Now(), need{gap: minGap}, f)
			eventually(t, "a fetch", func() bool { return len(u.fetched()) == before+i+1 })
		}
		release()
		s.sampled(feeds...)
		return [2]int{s.newest(feeds[0]).Epoch(), s.newest(feeds[1]).Epoch()}
	}
	assert.Equal(t, [2]int{0, 0}, both())
	u.Announce(pdu.ChangeNames | pdu.ChangeLabels | pdu.ChangeAddAgent)
	assert.Equal(t, [2]int{0, 0}, both())
	for epoch := 1; epoch < 4; epoch++ {
		u.Announce(pdu.ChangeDropAgent | pdu.ChangeRestartAgent)
		assert.Contains(t, both(), epoch)
		assert.Equal(t, [2]int{epoch, epoch}, both())
		assert.Equal(t, [2]int{epoch, epoch}, both())
	}
}

// What one fetch asks for is found out once for the same feeds, and again when they have become another
// fetch's worth.
func TestOperandLists(t *testing.T) {
	a, b, c := pdu.NewPMID(60, 1, 1), pdu.NewPMID(60, 1, 2), pdu.NewPMID(60, 1, 3)
	ab, bc := feedOf(a, b), feedOf(b, c)
	feeds := []*feed{ab, bc}
	var lists operandLists
	both := lists.fill(feeds, maxPart)
	assert.Equal(t, feeds, both.feeds)
	assert.Equal(t, []pdu.PMID{a, b, c}, both.IDs, "each once")
	assert.Equal(t, []int32{0, 1, 1, 2}, both.places)
	assert.Same(t, both, lists.fill(feeds, maxPart))

	one := lists.fill(feeds, 2)
	assert.Equal(t, feeds[:1], one.feeds, "three operands are too many")
	assert.Same(t, one, lists.fill(feeds, 2))
	assert.Same(t, one, lists.fill(feeds[:1], maxPart))
	assert.Same(t, both, lists.fill(feeds, maxPart), "room for another one")

	many := pdu.ValueSet{PMID: b, Format: pdu.Block}
	for i := range maxPartValues {
		many.Values = append(many.Values, pdu.DoubleValue(pdu.Inst(i), 1))
	}
	now := time.Unix(1, 0)
	large, _ := operand.NewMaker(nil, now).Make(result(t, now, pdu.ValueSet{PMID: a}, many, pdu.ValueSet{PMID: c}), now, now, both.List)
	both.give(large)
	assert.Same(t, large, bc.latest)
	assert.Equal(t, maxPartValues, bc.size())
	assert.Equal(t, []*feed{ab}, lists.fill(feeds, maxPart).feeds, "too many values for one fetch")
	assert.Same(t, both, lists.all(feeds), "unless they belong together")

	lists.forget()
	assert.NotSame(t, both, lists.all(feeds))
	for i := range 3 * maxLists {
		lists.all([]*feed{feedOf(pdu.NewPMID(60, 2, i))})
	}
	assert.Len(t, lists.known, maxLists)
}

// An operand with more instances than can be kept has a code and no values. The others are not
// concerned, and the log says so once.
func TestTooManyInstances(t *testing.T) {
	huge, small := pdu.NewPMID(60, 0, 1), pdu.NewPMID(60, 0, 2)
	asked := newOperandList(
		pdu.Desc{PMID: huge, Type: pdu.TypeU64, InDom: binDom}, pdu.Desc{PMID: small, Type: pdu.TypeU64, InDom: pdu.NoInDom})
	many := pdu.ValueSet{PMID: huge, Values: make([]pdu.Value, operand.MaxInstances+1)}
	for i := range many.Values {
		many.Values[i] = pdu.Uint64Value(pdu.Inst(i), 1)
	}
	one := pdu.ValueSet{PMID: small, Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 7)}}
	log, hook := logtest.NewNullLogger()
	s := newSampler(log, time.Now, &control.Figures{}, &operand.Names{})
	take := func() *operand.Sample {
		return s.make(result(t, time.Unix(1, 0), many, one), time.Now(), time.Now(), asked)
	}
	for range 2 {
		made := take()
		assert.Equal(t, pdu.ErrTooBig, made.Values(huge).Code)
		assert.Zero(t, made.Values(huge).Len())
		assert.Equal(t, []uint64{7}, made.Values(small).Bits)
	}
	require.Len(t, hook.AllEntries(), 1)
	assert.Equal(t, logrus.Fields{"pmid": huge, "instances": operand.MaxInstances + 1, "limit": operand.MaxInstances}, hook.LastEntry().Data)

	many.Values = many.Values[:operand.MaxInstances]
	made := take()
	assert.Zero(t, made.Values(huge).Code)
	assert.Equal(t, operand.MaxInstances, made.Values(huge).Len(), "as many as may be")
}

// A connection that was moved to a lower slot is told what happens like any other.
func TestMovedLaneTellsChanges(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 0)
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 5}, link{dialUnix(t, u.address), 6})
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 1})
	s.retire(6)
	f := feedOf(loadID)
	fetch := func() (told []pdu.Change) {
		t.Helper()
		old := s.newest(f)
		s.want(time.Now().Add(time.Hour), need{gap: 0}, f)
		eventually(t, "a sample", func() bool { return s.newest(f) != old })
		s.note(func() { told, s.changes = s.changes, nil })
		return told
	}
	assert.Empty(t, fetch())
	u.Announce(pdu.ChangeRestartAgent)
	assert.Equal(t, []pdu.Change{pdu.ChangeRestartAgent}, fetch())
	assert.Equal(t, 1, s.newest(f).Epoch())
}

// Nobody tells what happened to agents while there was no connection.
func TestSamplesDoNotContinueOverAReconnect(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 2)
	f := feedOf(loadID)
	s.want(time.Now(), need{gap: minGap}, f)
	s.sampled(f)
	old := s.newest(f)
	s.detach()
	<-s.ended
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 5})
	s.want(time.Now(), need{after: time.Now()}, f)
	eventually(t, "a sample", func() bool { return s.newest(f) != old })
	assert.False(t, s.newest(f).Continues(old))
	s.retire(5)
	assert.Len(t, s.slots(), 1)
	s.detach()
	s.retire(5) // nothing is left
	s.readers.Wait()
}

// Samples that are too old to be served are let go of, and how many values there were, and when, is still known.
func TestForgetsOldSamples(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	at := func(d time.Duration) *operand.Sample { return &operand.Sample{Taken: begin.Add(d)} }
	f := &feed{descs: make([]pdu.Desc, 2), history: 1}
	assert.Equal(t, 2, f.size(), "one for each operand, as far as anybody knows")
	for i := range 4 {
		f.push(at(time.Duration(i) * time.Minute))
		f.retain()
	}
	f.values = 1000
	s := newSampler(logrus.New(), func() time.Time { return begin }, &control.Figures{}, nil)
	s.window = 40 * time.Second
	s.feeds = []*feed{f, {}}
	kept := func() (all []time.Duration) {
		for _, k := range f.kept {
			all = append(all, k.Taken.Sub(begin))
		}
		return all
	}
	reached := oldEnough + 80*time.Second // from the oldest that is served
	s.check(begin.Add(reached))
	assert.Len(t, kept(), 4)
	s.check(begin.Add(reached + time.Minute))
	assert.Equal(t, []time.Duration{3 * time.Minute, 2 * time.Minute, time.Minute}, kept())
	assert.Equal(t, at(3*time.Minute), f.latest)
	s.check(begin.Add(reached + time.Minute + forgetGap - 1))
	assert.Len(t, kept(), 3)
	s.check(begin.Add(3*time.Minute + oldEnough + forgetGap))
	assert.Nil(t, f.latest)
	assert.NotEmpty(t, kept())
	s.check(begin.Add(time.Hour))
	assert.Empty(t, kept())
	assert.Equal(t, 1000, f.size())
	assert.Equal(t, begin.Add(3*time.Minute), f.taken)
}

// losing is a sampler whose connections pmcd closes over fetches.
type losing struct {
	*sampling
	address string
	passed  atomic.Int64
}

func newLosing(t *testing.T) *losing {
	s := &losing{address: listenWithLimit(t, maxPart, func(*pmapitest.Peer) bool { return false })}
	s.sampling = newSampling(t, s.address, 0)
	<-s.ended
	t.Cleanup(func() {
		s.detach()
		s.readers.Wait()
	})
	begin := time.Now()
	s.now = func() time.Time { return begin.Add(time.Duration(s.passed.Add(1))) }
	s.connect()
	return s
}

func (s *losing) pass(d time.Duration) { s.passed.Add(int64(d)) }

// connect makes new connections instead of those that are left, as the binder does.
func (s *losing) connect() {
	s.detach()
	for slot := range lanes {
		s.attach(context.Background(), &s.readers, link{dialUnix(s.tb, s.address), slot})
	}
}

// lose has pmcd close connections at once, each over a fetch of some feeds.
func (s *losing) lose(fetches ...[]*feed) {
	defer s.connect()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, feeds := range fetches {
		l := s.lanes[0]
		s.put(l, s.lists.all(feeds), nil)
		l.busy, l.sent = true, s.now()
		s.fail(l, fmt.Errorf("fetch: %w", pmapi.ErrTooLarge))
	}
}

// answered has pmcd answer a fetch.
func (s *losing) answered(f *feed) {
	s.want(s.now(), need{gap: minGap}, f)
	s.sampled(f)
}

// recovered returns how many operands a fetch has at most when nothing has failed for some time.
func (s *losing) recovered() int {
	s.pass(partRetry + time.Second)
	s.load(&lane{}, nil)
	part, _ := s.longest()
	return part
}

// pmcd may have ended just then: that is no limit of its, whatever it ended in.
func TestLossesThatAreNoLimit(t *testing.T) {
	long := []*feed{feedOf(many(1, 1000)...), feedOf(many(2, 1000)...)}
	short := []*feed{feedOf(many(3, 200)...), feedOf(many(4, 200)...)}
	for name, happens := range map[string]func(s *losing, one *feed){
		"several at once": func(s *losing, one *feed) {
			s.lose(long, short, []*feed{one}, []*feed{one})
		},
		"a short one follows days later": func(s *losing, _ *feed) {
			s.lose(long)
			s.pass(3 * 24 * time.Hour)
			s.lose(short)
		},
		"pmcd has answered as long a one": func(s *losing, one *feed) {
			s.lose([]*feed{one}, short)
			s.answered(one)
			s.lose([]*feed{one}, short)
		},
		"the answer for it was too long": func(s *losing, one *feed) {
			s.suspect(one, s.now())
			s.lose([]*feed{one})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLosing(t)
			happens(s, feedOf(many(5, 500)...))
			assert.Equal(t, maxPart, s.takes())
			assert.Equal(t, maxPart, s.recovered())
			for _, e := range s.log.AllEntries() {
				assert.Greater(t, e.Level, logrus.WarnLevel, e.Message)
			}
		})
	}
}

// What pmcd has not said, but was taken for its limit, is tried again when the configuration is read again.
func TestReloadForgivesSuspectedLimits(t *testing.T) {
	s := newLosing(t)
	one, several := feedOf(many(5, 500)...), []*feed{feedOf(many(1, 1000)...), feedOf(many(2, 1000)...)}
	s.lose([]*feed{one})
	s.lose([]*feed{one})
	assert.Equal(t, 499, s.takes())
	s.lose(several)
	s.lose(several)
	assert.Equal(t, 1000, s.recovered())

	s.forgive(append(several, one))
	assert.Equal(t, maxPart, s.takes())
	assert.Equal(t, maxPart, s.recovered())
	s.lose([]*feed{one})
	s.lose(several)
	assert.Equal(t, maxPart, s.takes(), "it is as if it were the first time")
	assert.Equal(t, maxPart, s.recovered(), "likewise")

	s.mu.Lock()
	s.deny(s.lists.all([]*feed{one}), pdu.ErrTooBig, s.now())
	s.deny(s.lists.all(several), pdu.ErrTooBig, s.now())
	s.mu.Unlock()
	s.forgive(append(several, one))
	assert.Equal(t, 499, s.takes(), "pmcd has said so")
	assert.Equal(t, 1000, s.recovered(), "likewise")
}
