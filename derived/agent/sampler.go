package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// lanes is how many sampler connections there are. Several, because each has one request at a
	// time: a second one behind it would be answered a round of pmcd later (docs/pmcd.md b.2). The
	// last one is for slow agents.
	lanes = 5

	// maxPart is how many operands one upstream fetch has at most: pmcd serves nobody else while
	// it works on one.
	maxPart = 4000

	// maxPartValues is likewise for their values, as far as those of one metric need not be parted. No more than that are
	// on their way over all connections together: pmcd serves them one after the other before anybody else.
	maxPartValues = 10000

	// fewValues need not wait for that: they are what somebody asks for who is about to fetch.
	fewValues = 1000

	// minGap is the age below which a sample is as good as a new one.
	minGap = 2 * time.Millisecond

	// partRetry is how long shorter fetches are sent once pmcd has closed a connection over a long one: it may have
	// ended just then.
	partRetry = 10 * time.Minute

	// doubtful is within what time pmcd closes another connection if it was not by chance: longer fetches are
	// sent again in between.
	doubtful = 2 * partRetry

	// forgetGap is how often samples are forgotten.
	forgetGap = 30 * time.Second

	// laneTimeout is how long a fetch may stay unanswered before its connection is given up. pmcd
	// waits 5 s for each agent that hangs, so this is long.
	laneTimeout = time.Minute
)

// sampler fetches operands through pmcd. No method waits for pmcd: want writes requests, drain takes
// the answers that are there.
type sampler struct {
	log     logrus.FieldLogger
	now     func() time.Time
	figures *control.Figures

	// lost is told once about each lane that fails, news about state changes that pmcd announces,
	// echoed when it repeats one that we have announced, renamed about domains whose instances are not what they were,
	// stood when it served nobody for some time, worn when a lane was given up that the others do without,
	// narrowed when pmcd takes fewer operands in a fetch than a metric has.
	lost    func(error)
	news    func(pdu.Change)
	echoed  func()
	renamed func(pdu.InDom)
	stood   func(standstill)
	worn    func()

	narrowed func()

	window time.Duration // that a first rate or delta covers at least; see entry.warm

	mu      sync.Mutex
	lanes   []*lane // guarded by mu, as all below; those of lower slots in pmcd's table first
	few     []*feed // wanted, but every lane was busy; with few values
	waiting []*feed // likewise, with more values
	apart   []*feed // likewise, with operands of slow agents
	under   int     // values on their way that were not few
	burdens burdens
	lulls   lulls     // has a lock of its own
	answers []answer  // scratch space
	stamped time.Time // by pmcd, the last answer
	maker   *operand.Maker
	longest int // bytes of an answer, so far
	lists   operandLists
	feeds   []*feed    // of the definitions that are served
	cleared time.Time  // when samples were last forgotten
	part    int        // operands in one fetch; less than maxPart when pmcd takes only shorter ones
	shrunk  time.Time  // when part was last made less
	told    fetchLimit // by pmcd's refusals
	guessed fetchLimit // from connections that pmcd has closed
	doubted time.Time  // when it last closed one over a fetch for several feeds
	proven  int        // operands in the longest fetch that it has answered since all were made
	over    oversize
	refused string                // the last refusal that was logged
	huge    map[pdu.PMID]struct{} // operands of which is logged that they have too many instances
}

func newSampler(log logrus.FieldLogger, now func() time.Time, figures *control.Figures, names *operand.Names) *sampler {
	s := &sampler{
		log: log, now: now, figures: figures,
		lost: func(error) {}, news: func(pdu.Change) {}, echoed: func() {}, renamed: func(pdu.InDom) {}, stood: func(standstill) {},
		worn: func() {}, narrowed: func() {}, over: newOversize(),
		maker: operand.NewMaker(names, now()), part: maxPart, told: noFetchLimit(), guessed: noFetchLimit(), burdens: make(burdens),
		huge: make(map[pdu.PMID]struct{}),
	}
	return s
}

// onTooBig logs, once for each, that an operand has too many instances.
func (s *sampler) onTooBig(id pdu.PMID, values int) {
	if _, told := s.huge[id]; told {
		return
	}
	s.huge[id] = struct{}{}
	s.log.WithFields(logrus.Fields{"pmid": id, "instances": values, "limit": s.maker.Most}).
		Warn("operand has too many instances, what is computed from it has no values")
}

// met is how many instances an operand has had at most, and how many bytes an answer.
func (s *sampler) met() (instances, answer int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maker.Met, s.longest
}

// link is a connection to pmcd and its place in pmcd's table of clients: unknownSlot if that is not known.
type link struct {
	conn *pmapi.Conn
	slot int
}

const unknownSlot = 1 << 30

// attach gives the sampler connections. readers read from them until ctx ends, a connection fails or
// detach is called.
func (s *sampler) attach(ctx context.Context, readers *sync.WaitGroup, links ...link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range links {
		l := &lane{link: c, made: s.now()}
		s.lanes = append(s.lanes, l)
		readers.Go(func() { s.read(ctx, l) })
	}
	slices.SortStableFunc(s.lanes, func(x, y *lane) int { return x.slot - y.slot })
	s.over.hold = false
	s.send(s.now()) // what waits for one that was given up
}

// retire gives up the connection in a slot as soon as nothing is under way on it, if there is another one.
func (s *sampler) retire(slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.slot == slot && !l.leaving })
	if i < 0 || len(s.lanes) == 1 { // others have failed meanwhile
		return
	}
	l := s.lanes[i]
	l.leaving = true
	if !l.busy {
		s.end(l)
	}
}

// deepen has the feeds of a snapshot keep as many samples as its metrics need, and returns those that keep
// older ones.
func (s *sampler) deepen(snap *snapshot) []*feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists.forget()
	s.feeds = snap.feeds
	for _, f := range snap.feeds {
		f.history = 0
	}
	for _, m := range snap.metrics {
		if m.feed != nil {
			m.feed.history = max(m.feed.history, m.History)
		}
	}
	var deep []*feed
	agents := make(map[int]bool)
	for _, f := range snap.feeds {
		if f.history > 0 {
			deep = append(deep, f)
		} else {
			f.keep = false
			f.trim(0)
		}
		for _, domain := range f.agents {
			agents[domain] = true
		}
	}
	s.burdens.keep(agents)
	s.figures.SlowAgents.Store(int64(s.burdens.slow()))
	return deep
}

// worst returns the highest slot of a connection, 0 if none is known.
func (s *sampler) worst() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.lanes); n > 0 && s.lanes[n-1].slot != unknownSlot {
		return s.lanes[n-1].slot
	}
	return 0
}

// detach gives all connections up. What they had under way is forgotten.
func (s *sampler) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lanes) > 0 {
		s.end(s.lanes[0])
	}
	for _, f := range slices.Concat(s.few, s.waiting, s.apart, s.over.suspect) {
		f.waiting = false
	}
	s.over.hold, s.proven = false, 0
	s.few, s.waiting, s.apart, s.over.suspect, s.over.probes = nil, nil, nil, nil, nil
	s.maker.Forget()
}

// read empties a lane's socket, waiting for nothing else: what pmcd writes and nobody reads stops
// pmcd for everybody.
func (s *sampler) read(ctx context.Context, l *lane) {
	for {
		err := l.conn.WaitReadable(ctx)
		s.mu.Lock()
		switch {
		case l.dead:
		case err == nil:
			s.collect(l)
		case ctx.Err() == nil:
			s.fail(l, err)
		}
		dead := l.dead
		s.mu.Unlock()
		if dead || err != nil {
			return
		}
	}
}

// need is how new a sample has to be.
type need struct {
	gap   time.Duration // it is new enough if it is younger than that
	after time.Time     // it is not if it was taken before
	burst bool          // it is also if its answer is as young: one who asks for names asks several times in a row
}

// want asks for a new sample of each feed that has none that is new enough and none on its way. What
// cannot be sent now, because all lanes are busy, goes out when one is free.
func (s *sampler) want(now time.Time, n need, feeds ...*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask(now, n, feeds...)
}

// keep asks for a new sample, to be kept, of each feed that has fewer than some kept ones. That of an agent that rests
// is the next one, whoever asks for it.
func (s *sampler) keep(now time.Time, fewer int, feeds ...*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := make([]*feed, 0, len(feeds))
	n := need{gap: minGap}
	for _, f := range feeds {
		switch {
		case f.keptIn(s.maker.Epoch()) >= fewer:
		case f.fresh(now, n):
			f.retain()
		default:
			f.keep = true
			wanted = append(wanted, f)
		}
	}
	s.ask(now, n, wanted...)
}

// ask is want for who has the lock.
func (s *sampler) ask(now time.Time, n need, feeds ...*feed) {
	if len(s.lanes) == 0 {
		return
	}
	added, values, before := false, 0, len(s.waiting)
	for _, f := range feeds {
		if f == nil || f.waiting || f.outstanding > 0 || len(f.descs) == 0 || f.fresh(now, n) ||
			s.burdens.resting(f.agents, now) || s.excused(f, now) {
			continue
		}
		f.waiting = true
		if s.burdens.of(f.agents) == nil {
			s.waiting = append(s.waiting, f)
			values += f.size()
		} else {
			s.apart = append(s.apart, f)
		}
		added = true
	}
	if values <= fewValues {
		s.few = append(s.few, s.waiting[before:]...)
		s.waiting = slices.Delete(s.waiting, before, len(s.waiting))
	}
	if added {
		s.send(now)
	}
}

// stale reports whether a feed has no sample that is new enough.
func (s *sampler) stale(now time.Time, n need, f *feed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !f.fresh(now, n)
}

// awaiting reports whether a first sample of any feed is still on its way.
func (s *sampler) awaiting(feeds []*feed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(feeds, func(f *feed) bool {
		return f.latest == nil && (f.waiting || f.outstanding > 0)
	})
}

// send puts what is waiting on free lanes. The last lane is for slow agents alone, unless there is no
// other.
func (s *sampler) send(now time.Time) {
	if s.over.hold {
		return
	}
	s.apart = slices.DeleteFunc(s.apart, func(f *feed) bool { // it has turned out to be slow meanwhile
		if !s.burdens.resting(f.agents, now) {
			return false
		}
		f.waiting = false
		return true
	})
	full := false
	for i := 0; i < len(s.lanes); i++ {
		l := s.lanes[i]
		if l.busy || l.leaving {
			continue
		}
		last := i == len(s.lanes)-1
		switch forAll := !last || i == 0; {
		case last && len(s.apart) > 0:
			s.apart = s.loadApart(l, s.apart)
			s.burdens.begin(l.agents)
		case len(s.over.probes) > 0 && forAll:
			s.probe(l)
		case len(s.few) > 0 && forAll:
			s.few = s.load(l, s.few)
		case len(s.waiting) > 0 && forAll && !full:
			if full = !s.loadPart(l); full {
				continue
			}
		default:
			continue
		}
		s.start(l, now)
		if l.dead {
			i-- // it is not among the lanes any more
		}
	}
}

// load moves feeds with few values onto a free lane until it has as much as one fetch may have, and returns
// the rest.
func (s *sampler) load(l *lane, few []*feed) []*feed {
	s.put(l, s.fill(few), nil)
	return slices.Delete(few, 0, len(l.feeds))
}

// loadPart is load for those with more values, unless too many are on their way.
func (s *sampler) loadPart(l *lane) bool {
	asked := s.fill(s.waiting)
	values := asked.size()
	if s.under > 0 && s.under+values > maxPartValues {
		return false
	}
	s.put(l, asked, nil)
	s.waiting = slices.Delete(s.waiting, 0, len(l.feeds))
	l.values = values
	s.under += values
	return true
}

// fill returns the list of what of the waiting feeds one fetch may be for.
func (s *sampler) fill(waiting []*feed) *operandList {
	if ceiling := s.ceiling(); s.part < ceiling && s.now().Sub(s.shrunk) > partRetry {
		s.part, s.over.before = ceiling, 0
	}
	return s.lists.fill(waiting, s.part)
}

// loadApart is load for feeds of slow agents: one fetch has those of the same agents, so that it shows
// which are slow.
func (s *sampler) loadApart(l *lane, waiting []*feed) []*feed {
	slow := s.burdens.of(waiting[0].agents)
	var taken []*feed
	metrics := 0
	waiting = slices.DeleteFunc(waiting, func(f *feed) bool {
		if len(taken) > 0 && (metrics+len(f.descs) > s.part || !slices.Equal(slow, s.burdens.of(f.agents))) {
			return false
		}
		metrics += len(f.descs)
		taken = append(taken, f)
		return true
	})
	s.put(l, s.lists.all(taken), slow)
	return waiting
}

// put loads operands onto a free lane.
func (s *sampler) put(l *lane, asked *operandList, slow []int) {
	l.asked, l.feeds, l.agents = asked, asked.feeds, slow
	for _, f := range l.feeds {
		f.waiting = false
		f.outstanding++
	}
}

func (s *sampler) start(l *lane, now time.Time) {
	l.busy, l.sent = true, now
	s.figures.UpstreamFetches.Add(1)
	s.figures.UpstreamMetrics.Add(uint64(len(l.asked.IDs)))
	if err := l.conn.StartFetch(l.asked.IDs); err != nil {
		s.fail(l, err)
	}
}

// announce fetches one of our own metrics, if a lane is free, so that its RESULT carries what has
// changed to every client of pmcd. It reports whether the request is out.
func (s *sampler) announce(own pdu.PMID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if l.busy || l.leaving {
			continue
		}
		s.put(l, newOperandList(pdu.Desc{PMID: own}), nil)
		s.start(l, s.now())
		return !l.dead
	}
	return false
}

// expect is told what is being announced to all clients of pmcd, of which we are one.
func (s *sampler) expect(change pdu.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		l.echo |= change
	}
}

// drain takes all answers that are there. When pmcd has forwarded a FETCH to us, the answers to what
// it served before are complete in our sockets, so a handler that drains sees them all.
func (s *sampler) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect(nil)
}

// answer is what pmcd says to the fetch of a lane.
type answer struct {
	lane *lane
	res  *pmapi.Columns
	err  error // pmcd refuses, but the connection is good
}

// collect takes all answers that are there, in the order in which pmcd has given them, and makes them
// samples. It looks at readable, too, which nothing need be under way on; nil: no such lane.
func (s *sampler) collect(readable *lane) {
	s.answers = s.answers[:0]
	for i := 0; i < len(s.lanes); i++ {
		l := s.lanes[i]
		if !l.busy && l != readable {
			continue
		}
		res, done, err := l.conn.PollColumns()
		switch {
		case !done:
		case err != nil && l.conn.Err() != nil:
			s.fail(l, err)
			i-- // it is not among the lanes any more
		default:
			s.answers = append(s.answers, answer{l, res, err})
		}
	}
	if len(s.answers) == 0 && !s.over.again {
		return
	}
	s.over.again = false
	slices.SortFunc(s.answers, answer.before)
	now := s.now()
	for _, a := range s.answers {
		s.settle(a, now)
	}
	clear(s.answers)
	s.send(now)
}

// before compares when pmcd has given answers. Refusals have no time and come first.
func (a answer) before(b answer) int { return a.time().Compare(b.time()) }

func (a answer) time() time.Time {
	if a.res == nil {
		return time.Time{}
	}
	return a.res.Time
}

// settle ends what a lane had under way.
func (s *sampler) settle(a answer, now time.Time) {
	l, asked := a.lane, a.lane.asked
	if a.err == nil {
		s.take(l, a.res, now)
	}
	s.drop(l)
	if a.err != nil {
		s.deny(asked, a.err, now)
	}
	s.convict(s.log, now)
	if l.leaving {
		s.end(l)
	}
}

// deny is told that pmcd refuses a fetch.
func (s *sampler) deny(asked *operandList, err error, now time.Time) {
	s.figures.UpstreamErrors.Add(1)
	if errors.Is(err, pdu.ErrTooBig) && len(asked.IDs) > 1 {
		s.shorten(asked, &s.told, now)
		if len(asked.feeds) > 1 {
			s.requeue(asked.feeds...)
		}
		return
	}
	if text := err.Error(); text != s.refused {
		s.refused = text
		s.log.WithError(err).WithField("metrics", len(asked.IDs)).Warn("upstream fetch refused")
	}
}

// take makes a lane's answer a sample.
func (s *sampler) take(l *lane, res *pmapi.Columns, now time.Time) {
	s.refused = ""
	s.longest = max(s.longest, res.Size)
	s.proven = max(s.proven, len(l.asked.IDs))
	s.figures.UpstreamTime.Record(now.Sub(l.sent), 1)
	s.charge(l, res, now)
	fresh := s.fresh(l, res.Changes)
	if len(l.feeds) > 0 {
		l.asked.give(s.make(res, l.sent, now, l.asked))
	}
	if fresh != 0 {
		s.news(fresh)
	}
}

// make makes a sample of an answer and tells what is noticed.
func (s *sampler) make(res *pmapi.Columns, taken, arrived time.Time, asked *operandList) *operand.Sample {
	made, noticed := s.maker.Make(res, taken, arrived, asked.List)
	for _, d := range noticed.Changed {
		s.renamed(d)
	}
	for _, set := range noticed.Excess {
		s.onTooBig(set.PMID, len(set.Insts))
	}
	return made
}

// fresh returns which changes a lane's answer tells that no other has told before: pmcd tells each of
// its clients once, with its next answer. Nor are those news that are our own.
func (s *sampler) fresh(l *lane, change pdu.Change) pdu.Change {
	if change&l.echo != 0 {
		s.echoed() // somebody else's may hide behind ours
	}
	fresh := change &^ l.echo &^ l.told
	l.echo &^= change
	l.told &^= change
	for _, other := range s.lanes {
		if other != l {
			other.told |= fresh
		}
	}
	if fresh&(pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0 {
		s.maker.BeginEpoch() // what was counted before says nothing about what is counted now
	}
	return fresh
}

// charge puts down to the agents of a fetch what time of pmcd it took. pmcd does one thing at a time and
// stamps each answer when it is complete, so the time before the answer before was for that. Nor does it
// ask us for anything while it works on a fetch.
func (s *sampler) charge(l *lane, res *pmapi.Columns, now time.Time) {
	took := now.Sub(l.sent)
	if since := res.Time.Sub(s.stamped); since >= 0 {
		took = min(took, since)
	}
	s.stamped = res.Time
	s.figures.UpstreamBusy.Add(int64(took))
	if took >= burdensome {
		s.stood(standstill{now.Add(-took), now})
		took = min(took, s.lulls.most(l.sent, now))
	}
	if took < burdensome && len(s.burdens) == 0 || len(l.feeds) == 0 {
		return
	}
	agents := l.agents
	if agents == nil {
		for i := range res.Sets {
			agents = append(agents, res.Sets[i].PMID.Domain())
		}
		slices.Sort(agents)
		agents = slices.Compact(agents)
	}
	silent := func(domain int) bool {
		return !slices.ContainsFunc(res.Sets, func(set pdu.Column) bool {
			return set.PMID.Domain() == domain && set.Code >= 0
		})
	}
	s.burdens.end(agents, took, now, silent, func(domain int, slow bool) {
		entry := s.log.WithFields(logrus.Fields{"domain": domain, "duration": took})
		if slow {
			entry.Warn("agent is slow, sampled seldom")
		} else {
			entry.Info("agent is no longer slow")
		}
	})
	s.figures.SlowAgents.Store(int64(s.burdens.slow()))
}

// drop forgets what a lane had under way.
func (s *sampler) drop(l *lane) {
	for _, f := range l.feeds {
		f.outstanding--
	}
	s.under -= l.values
	s.burdens.answered(l.agents)
	if l.probe {
		s.over.probing--
		l.probe = false
	}
	l.feeds, l.agents, l.values, l.busy = nil, nil, 0, false
}

// fail gives a lane up because of an error. Its connection is closed at once: nobody would read what
// pmcd still writes.
func (s *sampler) fail(l *lane, err error) {
	if s.overflow(l, err) {
		return
	}
	if errors.Is(err, pmapi.ErrTooLarge) {
		s.suspectLong(l, s.now())
	}
	s.end(l)
	s.figures.UpstreamErrors.Add(1)
	s.lost(err)
}

// suspectLong is told that pmcd has closed a connection over a long fetch. It may have ended just then, with all its
// connections; it has not if that happens on a later one, too, and it has answered no fetch as long since. What was
// under way is not sent again: all connections are made again.
func (s *sampler) suspectLong(l *lane, now time.Time) {
	doubted := &s.doubted
	if len(l.asked.feeds) == 1 {
		doubted = &l.asked.feeds[0].doubted
	}
	var limit *fetchLimit
	if l.made.After(*doubted) && now.Sub(*doubted) <= doubtful && len(l.asked.IDs) > s.proven {
		limit = &s.guessed
	}
	*doubted = now
	s.shorten(l.asked, limit, now)
}

// fetchLimit is how many operands a fetch has at most because pmcd takes no more, or maxPart.
type fetchLimit struct {
	together int // of several feeds
	alone    int // of one metric: they cannot be parted
}

func noFetchLimit() fetchLimit { return fetchLimit{maxPart, maxPart} }

// ceiling is what part grows back to.
func (s *sampler) ceiling() int { return min(s.told.together, s.guessed.together) }

// most is how many operands of one metric pmcd takes in a fetch, as far as it has refused any.
func (s *sampler) most() int { return min(s.told.alone, s.guessed.alone) }

// shorten has shorter fetches sent than one that pmcd has refused: how many operands it takes (pmcd -M), or how
// many bytes (-L), it does not tell. limit is what that changes for as long as this pmcd runs, and we do; nil: there
// may have been another reason.
func (s *sampler) shorten(asked *operandList, limit *fetchLimit, now time.Time) {
	n := len(asked.IDs)
	switch {
	case len(asked.feeds) != 1:
		s.part, s.shrunk = min(s.part, max(1, n/2)), now
		entry := s.log.WithField("metrics", s.part)
		if limit == nil {
			entry.Debug("pmcd may take no long requests, sending shorter ones")
			return
		}
		limit.together = s.part
		entry.Warn("pmcd takes no long requests, sending shorter ones")
	case limit != nil && n <= s.most():
		limit.alone = n - 1
		s.log.WithField("metrics", n).Warn("pmcd takes fewer metrics in a request than a definition has")
		s.narrowed()
	}
}

// takes is how many operands of one metric pmcd takes at most, as far as is known.
func (s *sampler) takes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most()
}

// end closes a lane and takes it away.
func (s *sampler) end(l *lane) {
	s.drop(l)
	l.dead = true
	s.lanes = slices.DeleteFunc(s.lanes, func(x *lane) bool { return x == l })
	for _, other := range s.lanes {
		other.told = 0 // what it would have told next, others tell
	}
	if err := l.conn.Close(); err != nil {
		s.log.WithError(err).Debug("sampler connection does not close")
	}
}

// errOverdue says that pmcd has not answered a fetch for laneTimeout.
var errOverdue = errors.New("no answer from pmcd")

// check gives up lanes whose answer is long overdue, and now and then samples that are too old to be served. Each
// of these keeps the values of all metrics that were fetched with it.
func (s *sampler) check(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.cleared) >= forgetGap {
		s.cleared = now
		for _, f := range s.feeds {
			f.forget(now.Add(-oldEnough), now.Add(-oldEnough-time.Duration(f.history)*reach(s.window)))
		}
	}
	for _, l := range slices.Clone(s.lanes) {
		if l.busy && now.Sub(l.sent) > laneTimeout {
			s.fail(l, errOverdue)
		}
	}
}
