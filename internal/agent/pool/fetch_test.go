package pool

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

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
			p.Send(&pdu.HighResResult{Sec: 5, Sets: []pdu.ValueSet{{PMID: oneID}}})
		}
		p.WaitClosed()
	})
	s := sendingTo(t, address, 1)
	for i := range uint64(3) {
		assert.Nil(t, s.fetch(oneID).Columns)
		assert.Equal(t, i+1, s.figures.UpstreamErrors.Load())
	}
	require.Len(t, s.log.AllEntries(), 1, "the same refusal is logged once")
	assert.Equal(t, "pmcd has refused a fetch", s.log.LastEntry().Message)
	assert.Equal(t, time.Unix(5, 0), s.fetch(oneID).Columns.Time, "the connection was good all the time")
	assert.NoError(t, s.lost())
}

func TestConnectionThatFails(t *testing.T) {
	u := newPMCD(t)
	u.OnRequest(func(_ int, f pdu.Frame) bool { return f.Kind != pdu.KindHighResFetch })
	s := sendingTo(t, u.Address, 1)
	assert.Nil(t, s.fetch(oneID).Columns)
	await.Until(t, "lost", func() bool { return s.lost() != nil })
	assert.True(t, errors.Is(s.lost(), io.EOF) || errors.Is(s.lost(), pdu.ErrEOF), s.lost())
	s.readers.Wait() // the reader has gone too
	s.send(oneID)
	assert.False(t, s.idle(), "no connection is left to send it on")
	s.EndSession()
	assert.True(t, s.idle())
	assert.Equal(t, 1, s.sessions)
}

// pmcd may end a connection while nothing is asked of it.
func TestConnectionThatFailsWhileIdle(t *testing.T) {
	u := newPMCD(t)
	s := sendingTo(t, u.Address, connections)
	u.HangUp()
	await.Until(t, "all lost", func() bool { return len(s.table(true)) == 0 })
	assert.Error(t, s.lost())
	s.readers.Wait()
}

func TestDetachEndsRequests(t *testing.T) {
	u := newPMCD(t)
	release := u.HoldFetches()
	defer release()
	s := sendingTo(t, u.Address, 1)
	s.send(oneID)
	s.EndSession()
	assert.Equal(t, []Answer{{}}, s.outcomes())
	s.readers.Wait()
	assert.NoError(t, s.lost(), "on purpose")
	assert.Zero(t, s.figures.UpstreamErrors.Load())
}

func TestOverdueConnectionIsGivenUp(t *testing.T) {
	u := newPMCD(t)
	release := u.HoldFetches()
	defer release()
	s := sendingTo(t, u.Address, 2)
	both := slices.Clone(s.conns)
	s.send(oneID)
	s.giveUpOverdue(time.Now().Add(fetchTimeout - time.Second))
	assert.NoError(t, s.lost())
	s.giveUpOverdue(time.Now().Add(fetchTimeout + time.Second))
	require.ErrorIs(t, s.lost(), errOverdue)
	assert.True(t, s.idle())
	assert.Error(t, both[0].conn.Err(), "nobody would read what pmcd writes")
	assert.NoError(t, both[1].conn.Err(), "it has nothing under way")
	s.giveUpOverdue(time.Now().Add(2 * fetchTimeout))
	assert.Len(t, s.table(true), 1)
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

// A pmcd that takes only PDUs that are shorter than usual closes the connection: the error says what may be the reason.
func TestPMCDThatTakesShortRequests(t *testing.T) {
	address := listenWithLimit(t, 2500, func(*pmapitest.Peer) bool { return false })
	s := sendingTo(t, address, connections)
	assert.Nil(t, s.fetch(metrics(2501)...).Columns)
	await.Until(t, "an end", func() bool { return s.lost() != nil })
	require.ErrorIs(t, s.lost(), pmapi.ErrTooLarge)
}

// A pmcd that takes fetches of fewer metrics than usual says so with an error, which is logged once; shorter fetches
// have answers.
func TestPMCDThatTakesFewMetrics(t *testing.T) {
	const limit = 250
	address := listenWithLimit(t, limit, func(p *pmapitest.Peer) bool {
		p.Fail(pdu.ErrTooBig)
		return true
	})
	s := sendingTo(t, address, 1)
	for range 3 {
		assert.Nil(t, s.fetch(metrics(limit+1)...).Columns)
	}
	assert.NotNil(t, s.fetch(metrics(limit)...).Columns)
	assert.NoError(t, s.lost())
	require.Len(t, s.log.AllEntries(), 1)
	assert.Contains(t, s.log.LastEntry().Message, "its option -M must be at least 4000")
	assert.Equal(t, limit+1, s.log.LastEntry().Data["metrics"])
}

// A connection whose answer is too long ends alone, and the last one is spared until there are others.
func TestAnswerThatIsTooLong(t *testing.T) {
	u := newPMCD(t)
	s := newSending(t)
	for slot := range 2 {
		c, err := pmapi.Dial(t.Context(), "unix", u.Address, pmapi.WithLimit(1000))
		require.NoError(t, err)
		s.Attach(t.Context(), &s.readers, c, slot)
	}
	outcome := s.fetch(metrics(1000)...)
	assert.Nil(t, outcome.Columns)
	require.NotNil(t, outcome.Oversize)
	assert.EqualValues(t, 1000, outcome.Oversize.Limit)
	assert.Len(t, s.table(true), 1)
	assert.NoError(t, s.lost())
	s.send(oneID)
	assert.False(t, s.idle(), "it waits")
	s.join(u.Address, 5)
	assert.Len(t, s.outcomes(), 1)
	s.EndSession()
	s.readers.Wait()
}

// A connection is taken out of use for a better one, what is under way on it first.
func TestConnectionInALowerSlot(t *testing.T) {
	u := newPMCD(t)
	release := u.HoldFetches()
	defer release()
	s := sendingTo(t, u.Address, 0)
	s.join(u.Address, 7, unknownSlot)
	assert.Zero(t, s.highestSlot(), "one is not known")
	s.send(oneID)
	s.retireSlot(unknownSlot)
	assert.Equal(t, 7, s.highestSlot(), "it was idle and has ended")
	s.retireSlot(7)
	s.retireSlot(8)
	assert.Equal(t, []int{7}, s.table(true), "the last one stays")
	s.join(u.Address, 3)
	s.retireSlot(7)
	assert.Equal(t, []int{3, 7}, s.table(true), "in the order of slots; the answer of one has yet to come")
	release()
	assert.NotNil(t, s.outcomes()[0].Columns)
	await.Until(t, "ended", func() bool { return slices.Equal([]int{3}, s.table(true)) })
	assert.NoError(t, s.lost(), "on purpose")
	assert.NotNil(t, s.fetch(otherID).Columns)
	s.EndSession()
	s.retireSlot(3) // nothing is left
}

func TestStateChangesAreToldOnce(t *testing.T) {
	u := newPMCD(t)
	s := sendingTo(t, u.Address, 1)
	fetch := func() bool {
		t.Helper()
		s.fetch(oneID)
		return s.happened().Names
	}
	assert.False(t, fetch())
	u.Announce(pdu.ChangeAddAgent | pdu.ChangeNames)
	assert.True(t, fetch())
	assert.False(t, fetch())

	s.ExpectChange(pdu.ChangeNames) // we announce it ourselves, and hear of it like all clients
	u.Announce(pdu.ChangeNames)
	assert.False(t, fetch())
	u.Announce(pdu.ChangeNames)
	assert.True(t, fetch(), "somebody else's")

	s.ExpectChange(pdu.ChangeNames)
	u.Announce(pdu.ChangeNames | pdu.ChangeDropAgent)
	assert.True(t, fetch())
}

// pmcd tells each connection that agents have restarted. Those that have nothing to fetch are asked at once, and once: much
// later the report could be about another restart.
func TestRestartsAreToldOnAllConnectionsAtOnce(t *testing.T) {
	u := newPMCD(t)
	s := sendingTo(t, u.Address, 3)
	u.Announce(pdu.ChangeRestartAgent)
	s.join(u.Address, 3) // pmcd tells it nothing
	s.send(oneID)
	changes := 0
	for _, a := range s.outcomes() {
		if a.Columns.Changes != 0 {
			changes++
		}
	}
	assert.Equal(t, 3, changes)
	assert.ElementsMatch(t, [][]pdu.PMID{{oneID}, {settleID}, {settleID}, {settleID}}, u.Fetched())
	u.Announce(pdu.ChangeNames)
	s.fetch(oneID)
	assert.Len(t, u.Fetched(), 5)
}

func TestSendAnywhereNeedsAFreeConnection(t *testing.T) {
	u := newPMCD(t)
	release := u.HoldFetches()
	defer release()
	s := sendingTo(t, u.Address, 1)
	announce := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.under++
		sent := s.SendAnywhere(request{ownID}, time.Now())
		if !sent {
			s.under--
		}
		return sent
	}
	assert.True(t, announce())
	assert.False(t, announce(), "the connection is busy")
	release()
	assert.Len(t, s.outcomes(), 1)
	assert.Equal(t, [][]pdu.PMID{{ownID}}, u.Fetched())
	assert.True(t, announce())
}

// A connection that was moved to a lower slot is told what happens like any other.
func TestMovedConnectionTellsChanges(t *testing.T) {
	u := newPMCD(t)
	s := sendingTo(t, u.Address, 0)
	s.join(u.Address, 5, 6)
	s.join(u.Address, 1)
	s.retireSlot(6)
	fetch := func() bool {
		t.Helper()
		s.send(oneID)
		s.outcomes() // of all connections
		return s.happened().Names
	}
	assert.False(t, fetch())
	u.Announce(pdu.ChangeRestartAgent)
	assert.True(t, fetch())
}

// Answers are taken in the order in which pmcd has given them, after those that refuse.
func TestAnswersInTheOrderOfTime(t *testing.T) {
	at := func(n int) reply { return reply{at: time.Unix(int64(n), 0)} }
	refusal := reply{err: pdu.ErrAgain}
	answers := []reply{at(3), at(1), refusal, at(2)}
	slices.SortFunc(answers, reply.before)
	assert.Equal(t, []reply{refusal, at(1), at(2), at(3)}, answers)
}
