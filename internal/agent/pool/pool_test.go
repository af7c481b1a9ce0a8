package pool

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// Metrics of the pmcd, and one of ours.
var (
	oneID   = pdu.NewPMID(60, 0, 1)
	otherID = pdu.NewPMID(60, 0, 2)
	ownID   = pdu.NewPMID(510, 0, 0)

	settleID = pdu.NewPMID(2, 0, 0)
	oneDom   = pdu.NewInDom(60, 1)
	twoDom   = pdu.NewInDom(3, 9)
)

func newPMCD(tb testing.TB) *pmapitest.Relay {
	tb.Helper()
	return pmapitest.NewRelay(tb, &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		Metrics: []pmapitest.Metric{
			{
				Name: "up.load", Desc: pdu.Desc{PMID: oneID, Type: pdu.TypeDouble, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)},
			},
			{
				Name: "up.count", Desc: pdu.Desc{PMID: otherID, Type: pdu.TypeU64, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 100)},
			},
		},
	})
}

// request is for some metrics. Their agents are charged if it takes long.
type request []pdu.PMID

func (r request) PMIDs() []pdu.PMID { return r }

func (r request) AddBudgets(to *slow.Request) {
	if to.AgentTime < slow.Long {
		return
	}
	for _, id := range r {
		to.AddBudgets(slow.Budgets([]int{id.Domain()}))
	}
}

// sending sends requests through a Pool.
type sending struct {
	*Pool
	tb      testing.TB
	log     *logtest.Hook
	readers sync.WaitGroup

	// The lock of the pool guards these.
	waiting  []request
	under    int // requests under way
	answers  []Answer
	sessions int // that have ended
}

func newSending(tb testing.TB, change ...func(*Options)) *sending {
	log, hook := logtest.NewNullLogger()
	s := &sending{tb: tb, log: hook}
	o := Options{
		Limit: pdu.ClientLimit, Lock: NewLock(log), Slow: make(slow.States), Ready: make(chan struct{}, 1),
		Answered: func(_ Request, a Answer) {
			s.under--
			s.answers = append(s.answers, a)
		},
		Disconnected: func() {
			s.waiting = nil
			s.sessions++
		},
		Free: func(now time.Time) { s.Send(now, s.nextRequest) },
		Settle: func() Request {
			s.under++
			return request{settleID}
		},
		Figures: &control.Figures{}, Log: log, Now: time.Now,
	}
	for _, f := range change {
		f(&o)
	}
	s.Pool = New(o)
	return s
}

// sendingTo attaches n connections to the pmcd at an address.
func sendingTo(tb testing.TB, address string, n int) *sending {
	tb.Helper()
	s := newSending(tb)
	for slot := range n {
		s.join(address, slot)
	}
	tb.Cleanup(func() {
		s.EndSession()
		s.readers.Wait()
	})
	return s
}

// join attaches connections to the pmcd at an address, in slots of its table.
func (s *sending) join(address string, slots ...int) {
	s.tb.Helper()
	for _, slot := range slots {
		c, err := pmapi.Dial(s.tb.Context(), "unix", address)
		require.NoError(s.tb, err)
		s.Attach(context.Background(), &s.readers, c, slot)
	}
}

func (s *sending) nextRequest(time.Time, bool, bool) (Request, bool) {
	if len(s.waiting) == 0 {
		return nil, false
	}
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.under++
	return next, true
}

// send sends a request, at once or when a connection is free.
func (s *sending) send(ids ...pdu.PMID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, ids)
	s.Send(time.Now(), s.nextRequest)
}

// outcomes are the answers since it was called before, when nothing is under way any more.
func (s *sending) outcomes() (all []Answer) {
	s.tb.Helper()
	await.Until(s.tb, "nothing under way", s.idle)
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.answers = s.answers, nil
	return all
}

// fetch sends a request and returns its answer.
func (s *sending) fetch(ids ...pdu.PMID) Answer {
	s.tb.Helper()
	s.send(ids...)
	all := s.outcomes()
	require.Len(s.tb, all, 1)
	return all[0]
}

// idle reports that nothing is under way or waiting.
func (s *sending) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under == 0 && len(s.waiting) == 0
}

// lost is why the session has ended; nil: it has not.
func (s *sending) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.todo.lost
}

// happened returns the events.
func (s *sending) happened() Events {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.TakeEvents()
}

// table are the slots of the connections, in their order, but for those that end when they are free.
func (s *sending) table(leavingToo bool) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if leavingToo || !c.draining {
			all = append(all, c.slot)
		}
	}
	return all
}

func (s *sending) giveUpOverdue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.CloseOverdue(now)
}

// session is the number of the present session.
func (s *sending) session() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Pool.session
}

// metrics makes PMIDs that nobody has values of.
func metrics(n int) []pdu.PMID {
	return slices.Repeat([]pdu.PMID{pdu.NewPMID(60, 9, 1)}, n)
}
