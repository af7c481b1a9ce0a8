package agent

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
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
