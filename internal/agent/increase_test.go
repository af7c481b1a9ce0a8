package agent

import (
	"maps"
	"testing"
	"time"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// counters sets the values of proc.io by number, at the present time.
func (u *collector) counters(all map[pdu.Inst]uint64) {
	var values []pdu.Value
	for id := range pdu.Inst(10) {
		if n, ok := all[id]; ok {
			values = append(values, pdu.Uint64Value(id, n))
		}
	}
	u.Update(func() { u.Time = time.Time{} }) // that of each answer
	u.tick(0, map[pdu.PMID][]pdu.Value{procID: values})
}

// sums has what clients have got of a metric, by client and number.
type sums map[pmda.Client]map[pdu.Inst]float64

// await has the clients fetch until each sum is as wanted. A sum that exceeds it stays so.
func (s sums) await(h *harness, id pdu.PMID, want map[pdu.Inst]float64) {
	h.tb.Helper()
	for c, sum := range s {
		h.pmcd.Client = c
		await.Until(h.tb, "all that was counted", func() bool {
			for _, v := range h.fetch(id)[0].Values {
				sum[v.Inst] += pdu.TypeDouble.Float64(v.Bits)
			}
			return maps.Equal(sum, want)
		})
	}
}

// The values of each client add up to what was counted since it began to look, also of instances that came since.
func TestIncrease(t *testing.T) {
	u := newCollector(t)
	all := map[pdu.Inst]uint64{1: 7, 2: 8}
	u.counters(all)
	h := start(t, u, conf("i = increase(proc.io)"), func(o *Options) { o.Interval = time.Hour }).bound()
	id, got := h.id("derived.i"), sums{1: {}, 2: {}}
	want := map[pdu.Inst]float64{1: 0, 2: 0}
	got.await(h, id, want)
	set := func(number pdu.Inst, value uint64, counted float64) {
		t.Helper()
		all[number] = value
		u.counters(all)
		want[number] += counted
		got.await(h, id, want)
	}
	set(1, 9, 2)
	set(3, 5, 5) // it is born
	set(3, 6, 1)
	delete(all, 2)
	set(1, 10, 1)
	all[2] = 3 // it comes back
	set(1, 11, 1)
	set(2, 7, 4)
	set(1, 2, 2)                                                                          // it is reset
	for _, doubt := range []func(){u.HangUp, func() { u.Announce(pdu.ChangeAddAgent) }} { // it may have been there before
		await.Until(t, "no fetch on its way", func() bool { return !h.agent.upstream.Awaiting(h.agent.snapshot.Load().Series) })
		doubt()
		number := pdu.Inst(len(all) + 1)
		set(number, 1000, 0)
		set(number, 1001, 1)
	}
	set(6, 3, 3)
}
