package agent

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// pmcd writes to its clients without a time limit: a client that does not read stops it for all. While the request loop
// is blocked, here by a pmcd that does not read its reply, the readers of connections still read samples of nearly half
// a megabyte as they come. No more than one for each connection is on its way at a time.
func TestAnswersAreReadWhileTheRequestLoopIsBlocked(t *testing.T) {
	const (
		instances = 20_000
		replySize = instances * 20 // bytes at least: number and index of each instance, header and body of its value
		enough    = 40             // replies; the buffers of all sockets together hold a tenth of that
	)
	var (
		bigID  = pdu.NewPMID(60, 2, 1)
		bigDom = pdu.NewInDom(60, 2)
		values = make([]pdu.Value, instances)
	)
	for i := range values {
		values[i] = pdu.Uint64Value(pdu.Inst(i), uint64(i))
	}
	up := newCollector(t)
	up.Update(func() {
		up.Metrics = append(up.Metrics, pmapitest.Metric{
			Name: "up.big", Values: values,
			Desc: pdu.Desc{PMID: bigID, Type: pdu.TypeU64, InDom: bigDom, Sem: pdu.SemCounter, Units: pdu.Units{Count: 1}},
		})
	})
	h := start(t, up, conf("big = up.big", "step = delta(up.big)"), func(o *Options) {
		o.Interval = 20 * time.Millisecond // of samples for step, whoever asks
	}).bound()
	big := h.id("derived.big")
	require.Len(t, h.value(big), instances)

	// The reply does not fit into the pipe, so the request loop stands in it. No request follows: a pmcd that goes on
	// with a reply half read is left.
	h.pmcd.Send(&pdu.Fetch{PMIDs: []pdu.PMID{big}}, 0)
	var mu sync.Mutex
	outstanding, most := map[int]int{}, 0
	replies, bytes := 0, 0
	up.OnRequest(func(conn int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			mu.Lock()
			outstanding[conn]++
			most = max(most, outstanding[conn])
			mu.Unlock()
		}
		return true
	})
	up.OnReply(func(conn int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResResult && len(f.Body) >= replySize {
			mu.Lock()
			outstanding[conn] = max(0, outstanding[conn]-1) // it may have been asked for before we looked
			replies++
			bytes += len(f.Body)
			mu.Unlock()
		}
		return true
	})
	standing := h.agent.figures.Requests.Load()
	await.Until(t, "samples come although no request is served", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return replies > enough
	})
	// A reply counts a moment after it has been read, so the one before these may count only now.
	assert.LessOrEqual(t, h.agent.figures.Requests.Load(), standing+1, "the request loop stands")
	mu.Lock()
	assert.LessOrEqual(t, most, 1, "fetches on their way over one connection")
	t.Logf("%d replies, %d MB read while the request loop stood", replies, bytes>>20)
	mu.Unlock()

	assert.Len(t, h.pmcd.Expect(pdu.KindResult).(*pdu.Result).Sets[0].Values, instances, "the reply that it stood in")
	for range 2 { // it goes on; on a busy machine a sample may come too late to be served, the next one is
		assert.Len(t, h.value(big), instances)
	}
}
