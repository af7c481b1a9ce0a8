package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// table plays pmcd's table of clients: it tells the slot of every new connection, or does not.
type table struct {
	*sending
	relay *pmapitest.Relay

	dialling sync.Mutex // guards what follows

	next  []int // slots of the next connections; none left: not told
	dials int
	err   error // of the next ones

	ready <-chan struct{}
}

func (s *table) dial(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
	s.dialling.Lock()
	defer s.dialling.Unlock()
	if s.dials++; s.err != nil {
		return nil, s.err
	}
	c, err := pmapi.Dial(ctx, "unix", s.relay.Address, opts...)
	if len(s.next) > 0 {
		s.RecordSlot(s.next[0])
		s.next = s.next[1:]
	}
	return c, err
}

// free has a client go from a slot, and the next connections get other slots.
func (s *table) free(slot int, next ...int) {
	s.dialling.Lock()
	s.next = next
	s.dialling.Unlock()
	s.RecordFreedSlot(slot)
}

func (s *table) dialled() int {
	s.dialling.Lock()
	defer s.dialling.Unlock()
	return s.dials
}

func (s *table) refuse(err error) {
	s.dialling.Lock()
	defer s.dialling.Unlock()
	s.err = err
}

// connectAt runs a Pool whose connections are put into slots.
func connectAt(t *testing.T, slots ...int) *table { return connectBy(t, time.Now, slots...) }

// connectBy is connectAt with a clock.
func connectBy(t *testing.T, now func() time.Time, slots ...int) *table {
	s := &table{relay: newPMCD(t), next: slots}
	s.sending = newSending(t, func(o *Options) { o.Dial, o.Now, s.ready = s.dial, now, o.Ready })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	await.Until(t, "connections", func() bool { return s.session() == 1 })
	return s
}

func (s *table) better() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.todo.lowerSlot
}

// Connections move down whenever a slot below them falls free.
func TestConnectionsMoveDown(t *testing.T) {
	s := connectAt(t, 5, 1, 9, 3, 4, 6)
	assert.Empty(t, s.newSlots, "that of the connection for lookups is nobody else's")
	assert.Equal(t, []int{1, 3, 4, 5, 9}, s.table(false), "the lowest first")
	s.free(2, 12)
	await.Until(t, "an attempt", func() bool { return s.dialled() == connections+1+1 })
	assert.Equal(t, []int{1, 3, 4, 5, 9}, s.table(false), "somebody else was faster")
	s.free(2, 2, 0)
	await.Until(t, "the best slots", func() bool { return assert.ObjectsAreEqual([]int{0, 1, 2, 3, 4}, s.table(false)) })
	await.Until(t, "rest", func() bool { return !s.better() })
	before := s.dialled()
	s.free(7)
	s.free(4)
	assert.False(t, s.better(), "a slot above, or one of ours")
	assert.Equal(t, before, s.dialled())
	assert.NotNil(t, s.fetch(oneID).Columns)
}

// pmcd need not tell slots: it may be another one than we serve.
func TestUnknownSlots(t *testing.T) {
	s := connectAt(t)
	assert.Len(t, s.table(false), connections)
	s.free(0)
	assert.False(t, s.better())
	assert.Equal(t, connections+1, s.dialled())
}

// When pmcd goes, connections are made again, and everybody is told. Why they cannot be made is logged once.
func TestSessions(t *testing.T) {
	s := connectAt(t)
	<-s.ready
	assert.Equal(t, 1, s.happened().Session)
	s.refuse(errors.New("nobody there"))
	s.relay.HangUp()
	await.Until(t, "the end of the session", func() bool { return s.session() == 0 })
	<-s.ready
	assert.Zero(t, s.happened().Session)
	require.ErrorIs(t, s.LookUp(func(*pmapi.Conn) error { return nil }), ErrUnconnected)
	dialled := s.dialled()
	await.Until(t, "several attempts", func() bool { return s.dialled() > dialled+2 })
	s.refuse(nil)
	await.Until(t, "the next session", func() bool { return s.session() == 2 })
	<-s.ready
	assert.Equal(t, 2, s.happened().Session)
	var found *operand.Catalog
	require.NoError(t, s.LookUp(func(conn *pmapi.Conn) (err error) {
		found, err = operand.LookUp(t.Context(), conn, []string{"up.load", "no.such"})
		return err
	}))
	desc, err := found.Desc("up.load")
	require.NoError(t, err)
	assert.Equal(t, oneID, desc.PMID)
	_, err = found.Desc("no.such")
	require.ErrorIs(t, err, pdu.ErrName)
	count := 0
	for _, e := range s.log.AllEntries() {
		if cause, ok := e.Data["error"].(error); ok && cause.Error() == "nobody there" {
			count++
		}
	}
	assert.Equal(t, 1, count)
}

// Connections that pmcd ends as soon as it has greeted end the session: they are not made again before a pause.
func TestConnectionsThatEndAtOnce(t *testing.T) {
	relay := newPMCD(t)
	var dials atomic.Int64
	u := newSending(t, func(o *Options) {
		o.Dial = func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
			dials.Add(1)
			c, err := pmapi.Dial(ctx, "unix", relay.Address, opts...)
			if err == nil {
				require.NoError(t, c.Close())
			}
			return c, err
		}
	})
	ended := make(chan int64, 1)
	u.Pool.log.(*logrus.Logger).AddHook(onLog(func() {
		select {
		case ended <- dials.Load(): // the session has ended, and the next one has not begun
		default:
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { u.Run(ctx) })
	assert.LessOrEqual(t, <-ended, int64(connections+1))
	cancel()
	running.Wait()
}

// onLog is called with every message.
type onLog func()

func (f onLog) Levels() []logrus.Level     { return logrus.AllLevels }
func (f onLog) Fire(_ *logrus.Entry) error { f(); return nil }
