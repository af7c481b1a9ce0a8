package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// The metrics of a client that fetches again before the next tick have the same results, so that what they use together
// is computed once. A client with other results before has its own.
func TestReadAgainBeforeTheNextTick(t *testing.T) {
	ws := windowsOf(newSet(t, map[string]string{"a": "max_sample(bin)", "b": "sum_sample(bin)"}))
	add := func(tick int64, bit uint64) *State {
		ws.BeginTick(tick, time.Time{})
		ws.addAll(tick, binsAt(tick, []pdu.Inst{1}, bit))
		return ws.State(tick, nil)
	}
	both := []uint32{0, 1}
	reader := NewReader(math.MaxInt)
	read := func(state *State, c *Cursor) *derived.Results {
		results, _ := reader.Read(state, c, both, time.Time{}, time.Time{})
		return results
	}
	var one, other, late Cursor
	read(add(1, 10), &one)
	read(ws.State(1, nil), &other)
	state := add(2, 20)
	read(state, &one)
	read(state, &other)
	read(state, &late)
	first := read(state, &one)
	require.Same(t, first, read(state, &other))
	assert.NotSame(t, first, read(state, &late), "it has read from the first tick on")
	reader.BeginRequest()
	assert.NotSame(t, first, read(state, &one), "what one request may read is not what another may")
}
