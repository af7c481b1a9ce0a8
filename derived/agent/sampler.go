package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// lanes is how many sampler connections there are. Several, because each has one request at a
	// time: a second one behind it would be answered a round of pmcd later (pmcd-behaviour.md b.2).
	lanes = 4

	// maxPart is how many operands one upstream fetch has at most: pmcd serves nobody else while
	// it works on one.
	maxPart = 4000

	// minGap is the age below which a sample is as good as a new one.
	minGap = 2 * time.Millisecond

	// partRetry is how long shorter fetches are sent once pmcd seems to have refused a long one.
	partRetry = 10 * time.Minute

	// laneTimeout is how long a fetch may stay unanswered before its connection is given up. pmcd
	// waits 5 s for each agent that hangs, so this is long.
	laneTimeout = time.Minute
)

// sampler fetches operands through pmcd. No method waits for pmcd: want writes requests, drain takes
// the answers that are there.
type sampler struct {
	log   logrus.FieldLogger
	now   func() time.Time
	stats *stats

	// lost is told once about each lane that fails, news about state changes that pmcd announces,
	// renamed about domains whose instances are not what they were.
	lost    func(error)
	news    func(pdu.Change)
	renamed func(pdu.InDom)

	mu      sync.Mutex
	lanes   []*lane // guarded by mu, as all below; those of lower slots in pmcd's table first
	waiting []*feed // wanted, but every lane was busy
	maker   *sampleMaker
	marks   map[pdu.PMID]struct{}
	part    int       // operands in one fetch; less than maxPart when pmcd takes only shorter PDUs
	shrunk  time.Time // when part was last made less
	refused string    // the last refusal that was logged
}

// lane is one connection and what is on its way over it.
type lane struct {
	conn  *pmapi.Conn
	busy  bool
	feeds []*feed
	ids   []pdu.PMID
	descs map[pdu.PMID]pdu.Desc
	sent  time.Time
	dead  bool
	echo  pdu.Change // changes that we have announced and that pmcd has yet to repeat here
}

func newSampler(log logrus.FieldLogger, now func() time.Time, st *stats, names *nameStore) *sampler {
	return &sampler{
		log: log, now: now, stats: st,
		lost: func(error) {}, news: func(pdu.Change) {}, renamed: func(pdu.InDom) {},
		maker: newSampleMaker(names), marks: make(map[pdu.PMID]struct{}), part: maxPart,
	}
}

// attach gives the sampler its connections, closes ready when they can be used, and reads from them
// until ctx ends, a connection fails or detach is called. It returns when all readers have.
func (s *sampler) attach(ctx context.Context, conns []*pmapi.Conn, ready chan<- struct{}) {
	var readers sync.WaitGroup
	s.mu.Lock()
	s.lanes = nil
	for _, c := range conns {
		l := &lane{conn: c, descs: make(map[pdu.PMID]pdu.Desc)}
		s.lanes = append(s.lanes, l)
		readers.Go(func() { s.read(ctx, l) })
	}
	s.mu.Unlock()
	close(ready)
	readers.Wait()
}

// detach gives all connections up. What they had under way is forgotten.
func (s *sampler) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		s.end(l)
	}
	s.lanes = nil
	for _, f := range s.waiting {
		f.waiting = false
	}
	s.waiting = nil
	s.maker.forget()
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
			s.poll(l)
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

// want asks for a new sample of each feed that has no fresh one and none on its way. What cannot be
// sent now, because all lanes are busy, goes out when one is free.
func (s *sampler) want(now time.Time, gap time.Duration, feeds ...*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lanes) == 0 {
		return
	}
	added := false
	for _, f := range feeds {
		if f == nil || f.waiting || f.outstanding > 0 || len(f.descs) == 0 || f.age(now) < max(gap, f.rest()) {
			continue
		}
		f.waiting = true
		s.waiting = append(s.waiting, f)
		added = true
	}
	if added {
		s.send(now)
	}
}

// send puts what is waiting on free lanes.
func (s *sampler) send(now time.Time) {
	for _, l := range s.lanes {
		if len(s.waiting) == 0 {
			return
		}
		if l.dead || l.busy {
			continue
		}
		s.load(l)
		s.start(l, now)
	}
}

// load moves waiting feeds onto a free lane until it has as many operands as one fetch may have. The
// operands of one feed are never parted: they have one time stamp.
func (s *sampler) load(l *lane) {
	l.feeds, l.ids = l.feeds[:0], l.ids[:0]
	clear(l.descs)
	clear(s.marks)
	if s.part < maxPart && s.now().Sub(s.shrunk) > partRetry {
		s.part = maxPart // a pmcd that was ended looks like one that takes no long requests
	}
	n := 0
	for _, f := range s.waiting {
		if len(l.ids) > 0 && len(l.ids)+len(f.descs) > s.part {
			break
		}
		for _, d := range f.descs {
			if _, ok := s.marks[d.PMID]; !ok {
				s.marks[d.PMID] = struct{}{}
				l.ids = append(l.ids, d.PMID)
				l.descs[d.PMID] = d
			}
		}
		f.waiting = false
		f.outstanding++
		l.feeds = append(l.feeds, f)
		n++
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
}

func (s *sampler) start(l *lane, now time.Time) {
	l.busy, l.sent = true, now
	s.stats.upstreamFetches.Add(1)
	s.stats.upstreamMetrics.Add(uint64(len(l.ids)))
	if err := l.conn.StartFetch(l.ids); err != nil {
		s.fail(l, err)
	}
}

// announce fetches one of our own metrics, if a lane is free, so that its RESULT carries what has
// changed to every client of pmcd. It reports whether the request is out.
func (s *sampler) announce(own pdu.PMID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if l.dead || l.busy {
			continue
		}
		l.feeds, l.ids = l.feeds[:0], append(l.ids[:0], own)
		clear(l.descs)
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
	for _, l := range s.lanes {
		if l.busy && !l.dead {
			s.poll(l)
		}
	}
}

// poll takes a lane's answer, if it is there, and makes it a sample.
func (s *sampler) poll(l *lane) {
	if l.dead {
		return
	}
	res, done, err := l.conn.PollFetch()
	switch {
	case !done:
		return
	case err != nil && l.conn.Err() != nil:
		s.fail(l, err)
		return
	}
	now := s.now()
	took := now.Sub(l.sent)
	if err != nil { // pmcd refuses, but the connection is good
		if text := err.Error(); text != s.refused {
			s.refused = text
			s.log.WithError(err).WithField("metrics", len(l.ids)).Warn("upstream fetch refused")
		}
		s.stats.upstreamErrors.Add(1)
		s.drop(l)
		s.send(now)
		return
	}
	s.refused = ""
	s.stats.upstreamTook(took)
	if len(l.feeds) > 0 {
		made := s.maker.make(res, l.sent, l.descs, s.renamed)
		for _, f := range l.feeds {
			f.took = took
			f.push(made)
		}
	}
	if news := res.Changes &^ l.echo; news != 0 {
		s.news(news)
	}
	l.echo &^= res.Changes
	s.drop(l)
	s.send(now)
}

// drop forgets what a lane had under way.
func (s *sampler) drop(l *lane) {
	for _, f := range l.feeds {
		f.outstanding--
	}
	l.feeds, l.busy = l.feeds[:0], false
}

// fail gives a lane up because of an error. Its connection is closed at once: nobody would read what
// pmcd still writes.
func (s *sampler) fail(l *lane, err error) {
	if errors.Is(err, pmapi.ErrTooLarge) {
		s.part = min(s.part, max(1, len(l.ids)/2))
		s.shrunk = s.now()
		s.log.WithField("metrics", s.part).Warn("pmcd takes no long requests, sending shorter ones")
	}
	s.end(l)
	s.stats.upstreamErrors.Add(1)
	s.lost(err)
}

func (s *sampler) end(l *lane) {
	s.drop(l)
	l.dead = true
	if err := l.conn.Close(); err != nil {
		s.log.WithError(err).Debug("sampler connection does not close")
	}
}

// errOverdue says that pmcd has not answered a fetch for laneTimeout.
var errOverdue = errors.New("no answer from pmcd")

// check gives up lanes whose answer is long overdue.
func (s *sampler) check(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if l.busy && !l.dead && now.Sub(l.sent) > laneTimeout {
			s.fail(l, errOverdue)
		}
	}
}
