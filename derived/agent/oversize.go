package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/pdu"
)

// oversize is what the sampler knows of answers that are longer than Limits.Answer. Each ends its connection: nobody
// knows where the next answer would begin. So it asks for fewer operands at once, down to those of a single feed; of
// that it asks for one at a time to find those that are too long alone. A header that claims too much may be a
// lie, so what is to rest is asked for twice.
type oversize struct {
	before  int                    // operands in one fetch before an answer was too long; 0: none was
	again   bool                   // feeds wait that were on a lane
	struck  map[pdu.PMID]time.Time // when the answer for an operand alone was too long
	resting map[pdu.PMID]time.Time // since when operands rest
	told    map[pdu.PMID]struct{}  // operands of which that is logged
	hold    bool                   // nothing is asked for: the last lane is spared until there are others
	probes  []pdu.Desc             // operands to ask for one at a time
	probing int                    // probes on their way
	suspect []*feed                // those that the probes are for
}

func newOversize() oversize {
	return oversize{
		struck: make(map[pdu.PMID]time.Time), resting: make(map[pdu.PMID]time.Time), told: make(map[pdu.PMID]struct{}),
	}
}

// overflow gives a lane up whose answer is too long, and reports whether that is what err says. The other lanes
// are not concerned; if there is none, all connections are made again.
func (s *sampler) overflow(l *lane, err error) bool {
	frame, ok := errors.AsType[*pdu.FrameError](err)
	switch {
	case !ok || !l.busy || int64(frame.Length) <= int64(frame.Limit):
		return false
	case frame.Kind != pdu.KindResult && frame.Kind != pdu.KindHighResResult:
		return false
	}
	asked, now := l.asked, s.now()
	entry := s.log.WithFields(logrus.Fields{"bytes": frame.Length, "limit": frame.Limit})
	s.figures.UpstreamErrors.Add(1)
	s.end(l)
	switch {
	case len(asked.IDs) == 1:
		s.strike(asked, entry, now)
	case len(asked.feeds) == 1:
		s.suspect(asked.feeds[0], now)
	default:
		if s.over.before == 0 {
			s.over.before = s.part
			entry.WithField("metrics", len(asked.IDs)).Warn("answer of pmcd is too long, asking for fewer metrics at once")
		}
		s.part, s.shrunk = min(s.part, max(1, len(asked.IDs)/2)), now
		s.requeue(asked.feeds...)
	}
	s.convict(entry, now)
	s.over.hold = len(s.lanes) == 1
	if len(s.lanes) == 0 {
		s.lost(err)
	} else {
		s.worn()
	}
	return true
}

// strike notes that the answer for one operand is too long. The second time in a row it comes to rest.
func (s *sampler) strike(asked *operandList, entry logrus.FieldLogger, now time.Time) {
	id := asked.IDs[0]
	if first, ok := s.over.struck[id]; !ok || now.Sub(first) > laneTimeout {
		s.over.struck[id] = now
		if len(asked.feeds) == 0 {
			s.over.probes = append(s.over.probes, asked.Descs[0])
		}
		s.requeue(asked.feeds...)
		return
	}
	delete(s.over.struck, id)
	s.over.resting[id] = now
	s.condemn(id, entry, "operand has too long an answer, what is computed from it has no values")
	for _, f := range asked.feeds {
		s.excused(f, now)
	}
}

// suspect has the operands of a feed asked for one at a time, if the answer for all of them is too long twice
// in a row. Those of a slow agent are not: that would cost pmcd too much.
func (s *sampler) suspect(f *feed, now time.Time) {
	if now.Sub(f.struck) > laneTimeout {
		f.struck = now
		s.requeue(f)
		return
	}
	f.waiting = true
	s.over.suspect = append(s.over.suspect, f)
	if s.burdens.of(f.agents) != nil {
		return
	}
	for _, d := range f.descs {
		if !slices.Contains(s.over.probes, d) {
			s.over.probes = append(s.over.probes, d)
		}
	}
	s.over.again = true
}

// convict ends the suspicion when all probes are answered. Of a feed no operand of which is too long alone, all
// rest together.
func (s *sampler) convict(entry logrus.FieldLogger, now time.Time) {
	if len(s.over.suspect) == 0 || s.over.probing > 0 || len(s.over.probes) > 0 {
		return
	}
	for _, f := range s.over.suspect {
		f.waiting = false
		if !s.excused(f, now) {
			f.over = now
			s.condemn(f.descs[0].PMID, entry.WithField("metrics", len(f.descs)),
				"operands of a metric have too long an answer together, it has no values")
			s.excused(f, now)
		}
	}
	s.over.suspect = nil
}

// condemn logs, once for each operand, why something rests. What was too long has been found: the others need not be
// asked for in small parts.
func (s *sampler) condemn(id pdu.PMID, entry logrus.FieldLogger, why string) {
	if _, told := s.over.told[id]; !told {
		s.over.told[id] = struct{}{}
		entry.WithField("pmid", id).Warn(why)
	}
	if s.over.before > 0 {
		s.part, s.over.before = min(s.over.before, s.ceiling()), 0
	}
}

// excused gives a feed that rests, or has an operand that does, a sample without values, and reports whether it does.
func (s *sampler) excused(f *feed, now time.Time) bool {
	rests := !f.over.IsZero() && now.Sub(f.over) < partRetry
	if len(s.over.resting) > 0 {
		for _, d := range f.descs {
			since, ok := s.over.resting[d.PMID]
			switch {
			case !ok:
			case now.Sub(since) < partRetry:
				rests = true
			default:
				delete(s.over.resting, d.PMID)
			}
		}
	}
	if rests {
		f.push(s.maker.Refused(f.descs, pdu.ErrTooBig, now))
		f.values = 0
	}
	return rests
}

// requeue has feeds asked for again that were on a lane.
func (s *sampler) requeue(feeds ...*feed) {
	for _, f := range feeds {
		if f.waiting || f.outstanding > 0 {
			continue
		}
		f.waiting = true
		if s.burdens.of(f.agents) == nil {
			s.waiting = append(s.waiting, f)
		} else {
			s.apart = append(s.apart, f)
		}
	}
	s.over.again = true
}

// probe asks on a free lane for the next operand that is asked for alone.
func (s *sampler) probe(l *lane) {
	s.put(l, newOperandList(s.over.probes[0]), nil)
	s.over.probes = slices.Delete(s.over.probes, 0, 1)
	l.probe = true
	s.over.probing++
}

// forgive has everything asked for again: what is asked for may be something else now. Limits of pmcd's that it has
// not told are tried again, too.
func (s *sampler) forgive(feeds []*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.over.resting)
	clear(s.over.struck)
	clear(s.over.told)
	for _, f := range feeds {
		f.over, f.struck, f.doubted = time.Time{}, time.Time{}, time.Time{}
	}
	s.guessed, s.doubted = noFetchLimit(), time.Time{}
}

// connections is how many there are.
func (s *sampler) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes)
}
