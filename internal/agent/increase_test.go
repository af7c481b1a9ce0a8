package agent

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi/pmapitest"
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

// Groups, selections and windows of them have all that a new instance counted, although its name is looked up later than
// its first sample is taken, and a tick is computed at once.
func TestBirthsInGroupsAndSelections(t *testing.T) {
	u := newCollector(t)
	all, names := map[pdu.Inst]uint64{}, []pdu.Instance{}
	add := func(number pdu.Inst) {
		all[number] = 100
		names = append(names, pdu.Instance{ID: number, Name: fmt.Sprintf("%d code:%d", number, number)})
		u.Update(func() { u.InDoms[procDom] = pmapitest.InDom{Instances: slices.Clone(names)} })
		u.counters(all)
	}
	add(1)
	h := start(t, u, conf(
		`groups = sum_sample(sum(increase(proc.io)) by (/code:(.)/), "10min", "1s")`,
		`selected = sum_sample(increase(matchinst(/^[3-9]/, proc.io)), "10min", "1s")`,
		`all = sum_sample(increase(proc.io), "10min", "1s")`),
		func(o *Options) { o.Interval = 10 * time.Second }).bound()
	want := []float64{0, 0, 0}
	for number := range pdu.Inst(4) {
		if number > 0 {
			add(number + 2)
			want = []float64{want[0] + 100, want[1] + 100, want[2] + 100}
		}
		await.Until(t, "all that was counted", func() bool {
			got := make([]float64, 3)
			sets := h.fetch(h.id("derived.groups"), h.id("derived.selected"), h.id("derived.all"))
			for i := range sets {
				for _, v := range sets[i].Values {
					got[i] += pdu.TypeDouble.Float64(v.Bits)
				}
			}
			return slices.Equal(got, want) && sets[2].Code >= 0 && len(sets[2].Values) > 0
		})
	}
}
