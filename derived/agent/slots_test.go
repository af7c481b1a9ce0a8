package agent

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// table plays pmcd's table of clients: it tells the slot of every new connection, or does not.
type table struct {
	up    *upstream
	agent chan *Agent

	mu    sync.Mutex
	next  []int // slots of the next connections; none left: not told
	dials int
}

func (s *table) dial(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error) {
	a := <-s.agent
	s.agent <- a
	c, err := s.up.dial(ctx, opts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials++
	if len(s.next) > 0 {
		a.binder.place(s.next[0])
		s.next = s.next[1:]
	}
	return c, err
}

// free has a client go from a slot, and the next connections get other slots.
func (s *table) free(slot int, next ...int) {
	s.mu.Lock()
	s.next = next
	s.mu.Unlock()
	a := <-s.agent
	s.agent <- a
	a.binder.freed(slot)
}

func (s *table) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

func startAtSlots(t *testing.T, slots ...int) (*harness, *table) {
	s := &table{up: newUpstream(t), agent: make(chan *Agent, 1), next: slots}
	h := start(t, s.up, conf("load = up.load"), func(o *Options) { o.Dial = s.dial })
	s.agent <- h.agent
	return h.bound(), s
}

func slotsOf(a *Agent) (slots []int) {
	a.sampler.mu.Lock()
	defer a.sampler.mu.Unlock()
	for _, l := range a.sampler.lanes {
		if !l.leaving {
			slots = append(slots, l.slot)
		}
	}
	return slots
}

// Connections move down whenever a slot below them falls free.
func TestConnectionsMoveDown(t *testing.T) {
	h, s := startAtSlots(t, 5, 1, 9, 3, 4, 6)
	assert.Equal(t, []int{1, 3, 4, 5, 9}, slotsOf(h.agent), "the lowest first; the last one dialled is the binder's")
	s.free(2, 12)
	eventually(t, "an attempt", func() bool { return s.dialled() == lanes+1+1 })
	assert.Equal(t, []int{1, 3, 4, 5, 9}, slotsOf(h.agent), "somebody else was faster")
	s.free(2, 2, 0)
	eventually(t, "the best slots", func() bool { return assert.ObjectsAreEqual([]int{0, 1, 2, 3, 4}, slotsOf(h.agent)) })
	before := s.dialled()
	s.free(7)
	s.free(2)
	assert.Empty(t, h.agent.binder.better, "a slot above, or one of ours")
	assert.Equal(t, before, s.dialled())
	h.value(h.id("derived.load"))
}

// pmcd need not tell slots: it may be another one than we serve.
func TestUnknownSlots(t *testing.T) {
	h, s := startAtSlots(t)
	assert.Len(t, slotsOf(h.agent), lanes)
	s.free(0)
	assert.Empty(t, h.agent.binder.better)
	assert.Equal(t, lanes+1, s.dialled())
}

// pmcd tells process identifiers of its clients; ours shows the slot.
func TestOwnSlotFromAttribute(t *testing.T) {
	a := newBench(t, conf("load = up.load")).agent
	a.Attribute(4, pdu.AttrProcessID, "1")
	a.Attribute(5, pdu.AttrUserID, strconv.Itoa(os.Getpid()))
	assert.Empty(t, a.binder.slots)
	a.Attribute(6, pdu.AttrProcessID, strconv.Itoa(os.Getpid()))
	assert.Equal(t, 6, <-a.binder.slots)
}
