package agent

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// Groups by two keys, and what a key selects, follow the labels of the instances; each group has a label for each key.
func TestKeysFollowLabels(t *testing.T) {
	u := newCollector(t)
	u.labelled("disk", "a:b", "disk")
	h := start(t, u, conf(
		"two = sum(up.bin) by (label(kind), name=/^(t)|o/)", "again = sum(two) by (label(kind))",
		"some = sum(matchinst(/^disk$/, up.bin, label(kind))) by (name=/^(t)|o/)",
		"rest = sum(matchinst(!/^disk$/, two, label(kind))) by (label(name))",
	)).bound()
	two := h.id("derived.two")
	assert.Equal(t, map[string]int64{"disk:o": 10, "disk:t": 30, "a%3Ab:t": -20}, h.byName(two))
	reply := pmdatest.As[*pdu.Labels](
		h.pmcd, h.pmcd.Request(&pdu.LabelReq{Ident: uint32(groupDom), Type: pdu.LabelInstances}),
	)
	var labels []string
	for _, set := range reply.Sets {
		labels = append(labels, set.JSON)
	}
	assert.ElementsMatch(t, []string{
		`{"kind":"disk","name":"o"}`, `{"kind":"disk","name":"t"}`, `{"kind":"a:b","name":"t"}`,
	}, labels)

	u.labelled("tape", "disk", "disk")
	u.Update(func() {
		in := u.InDoms[binDom]
		in.Instances = append([]pdu.Instance{{ID: 4, Name: "other"}}, in.Instances...)
		u.InDoms[binDom] = in
	})
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{
		binID: {pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30), pdu.Int32Value(4, 5)},
	})
	await.Until(t, "other groups", func() bool {
		return maps.Equal(h.byName(two), map[string]int64{"tape:o": 10, "disk:t": 10})
	})
	h.fetch(h.id("derived.some"))
	assert.Len(t, h.value(h.id("derived.some")), 1)
	assert.Len(t, h.value(h.id("derived.rest")), 1)
	assert.Len(t, h.value(h.id("derived.again")), 2)
}

// A look-up follows values and names of the other domain. While its metric is missing, has an error or refuses
// its names, only the definitions that look it up have no values.
func TestLookupsFollow(t *testing.T) {
	u := newCollector(t)
	name := func(names ...string) { // of the processes
		u.Update(func() {
			in := pmapitest.InDom{}
			for i, name := range names {
				in.Instances = append(in.Instances, pdu.Instance{ID: pdu.Inst(i + 1), Name: name})
			}
			u.InDoms[procDom] = in
		})
	}
	io := func(values ...uint64) {
		var all []pdu.Value
		for i, v := range values {
			all = append(all, pdu.Uint64Value(pdu.Inst(i+1), v))
		}
		u.tick(time.Second, map[pdu.PMID][]pdu.Value{procID: all})
	}
	last := len(u.Metrics) - 1
	metric := u.Metrics[last]
	u.Metrics = u.Metrics[:last]
	name("o 1", "t")
	h := start(t, u, conf(
		"by = sum(up.bin) by (io=/^(.)/ -> proc.io)", "plain = sum(up.bin)", "named = sum(up.bin) by (io=/^(.)/)",
		"some = sum(matchinst(/^8$/, up.bin, /^(.)/ -> proc.io))",
	), func(o *Options) { o.retryInterval = 5 * time.Millisecond }).bound()
	others := func() {
		t.Helper()
		h.value(h.id("derived.plain"))
		h.value(h.id("derived.named"))
	}
	others()
	by := h.unnamed("by")
	assert.Negative(t, h.fetch(by)[0].Code)

	u.Update(func() { u.Metrics = append(u.Metrics, metric) }) // it comes late
	u.Announce(pdu.ChangeAddAgent)
	is := func(want map[string]int64) {
		t.Helper()
		await.Until(t, "groups", func() bool { return maps.Equal(h.byName(by), want) })
	}
	is(map[string]int64{"7": 10, "8": 10})
	await.Until(t, "a selection", func() bool {
		values := h.fetch(h.id("derived.some"))[0].Values
		return len(values) == 1 && int32(values[0].Bits) == 10
	})
	io(7, 7) // another value
	is(map[string]int64{"7": 20})
	name("o 1", "t", "o 3") // another instance, with another value
	io(7, 9, 5)
	is(map[string]int64{"9": 10})
	name("o 1", "t", "x")
	io(7, 9)
	is(map[string]int64{"7": 10, "9": 10})

	failed := func(code pdu.Code) {
		t.Helper()
		await.Until(t, "an error", func() bool { return h.fetch(by)[0].Code == code })
		others()
	}
	u.Update(func() { u.Metrics[last].Code = pdu.ErrPermission })
	u.tick(time.Second, nil)
	failed(pdu.ErrPermission)
	u.Update(func() { u.Metrics[last].Code = 0 })
	u.tick(time.Second, nil)
	is(map[string]int64{"7": 10, "9": 10})
	u.Update(func() { u.InDoms[procDom] = pmapitest.InDom{Code: pdu.ErrTimeout} })
	io(7, 9, 5, 6) // the name of the last one is not told
	failed(pdu.ErrTimeout)
	name("o", "t", "x", "y")
	is(map[string]int64{"7": 10, "9": 10})
	u.Update(func() { u.Metrics = u.Metrics[:last] }) // it goes
	u.Announce(pdu.ChangeDropAgent)
	await.Until(t, "an error", func() bool { return h.fetch(by)[0].Code < 0 })
	others()
}

// A new instance counts from 0 without waiting for an instance of another domain that never comes, or for a name there
// that is never told; in a group, from the sample in which its key is found on.
func TestBirthsDoNotWaitForLookups(t *testing.T) {
	u := newCollector(t)
	all := map[pdu.Inst]uint64{1: 10, 2: 20}
	names := []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "never"}}
	u.Update(func() { u.InDoms[procDom] = pmapitest.InDom{Instances: names} })
	u.counters(all)
	u.tick(0, map[pdu.PMID][]pdu.Value{binID: { // the name of the last one is not told
		pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30), pdu.Int32Value(4, 40),
	}})
	h := start(t, u, conf(
		"all = increase(matchinst(/./, proc.io))", "by = sum(increase(proc.io)) by (/^(.*)$/ -> up.bin)",
	), func(o *Options) { o.Interval = time.Hour }).bound()
	each, groups := sums{1: {}}, sums{1: {}}
	each.await(h, h.id("derived.all"), map[pdu.Inst]float64{1: 0, 2: 0})
	groups.await(h, h.id("derived.by"), map[pdu.Inst]float64{h.number(groupDom, "10"): 0})
	for id, name := range map[pdu.Inst]string{3: "three", 4: "nor this"} {
		all[id] = 100
		names = append(names, pdu.Instance{ID: id, Name: name})
	}
	u.Update(func() { u.InDoms[procDom] = pmapitest.InDom{Instances: names} })
	u.counters(all)
	each.await(h, h.id("derived.all"), map[pdu.Inst]float64{1: 0, 2: 0, 3: 100, 4: 100})
	h.pmcd.Client = 2
	await.Until(t, "a group", func() bool {
		_, ok := h.byName(h.id("derived.by"))["30"]
		return ok
	})
	groups.await(h, h.id("derived.by"), map[pdu.Inst]float64{h.number(groupDom, "10"): 0, h.number(groupDom, "30"): 100})
}
