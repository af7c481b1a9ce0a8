package agent

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// problemOf is what derived.control.definition.error says about a definition.
func (h *harness) problemOf(name string) (text string) {
	h.pmcd.Request(&pdu.PMNSNames{Names: []string{"derived.control.version"}}) // the request loop is idle after a reply
	h.agent.controlDefinitions(func(d *control.Definition) bool {
		if d.Name == name {
			text = d.Problem()
		}
		return true
	})
	return text
}

// bounded gives bins labels as buckets.
func (u *collector) bounded(t *testing.T, bounds ...any) {
	u.Update(func() {
		key := pmapitest.LabelKey{Type: pdu.LabelInstances, Ident: uint32(binDom)}
		u.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{}
		for i, le := range bounds {
			set, err := pdu.NewLabelSet(pdu.Inst(i+1), pdu.LabelInstances, map[string]any{"le": le, "kind": "k"})
			require.NoError(t, err)
			u.Labels[key] = append(u.Labels[key], set)
		}
	})
}

// The agent looks up the labels of buckets, and gives the percentile of each group.
func TestBucketsWithLabels(t *testing.T) {
	u := newCollector(t)
	u.bounded(t, 4, "8", "+Inf")
	h := start(t, u, conf("p = nth_percentile_bucket(abs(up.bin), 50)",
		"s = share_bucket(abs(up.bin), 6) by (label(kind))")).bound()
	p := require1(t, h.value(h.id("derived.p")))
	assert.InDelta(t, 6, math.Float64frombits(p.Bits), 1e-12, "10 up to 4, 20 up to 8, 30 in all")
	s := require1(t, h.value(h.id("derived.s")))
	assert.InDelta(t, 0.5, math.Float64frombits(s.Bits), 1e-12)
	assert.Equal(t, []string{"k"}, h.indom(groupDom))
	assert.Empty(t, h.problemOf("p"))
}

// An agent that refuses labels for a time, and whose instances have numbers for names, has no value meanwhile: the
// numbers are not the bounds.
func TestBucketsWhoseLabelsAreRefused(t *testing.T) {
	u := newCollector(t)
	instances := []pdu.Instance{{ID: 1, Name: "1"}, {ID: 2, Name: "2"}, {ID: 3, Name: "3"}}
	u.InDoms[binDom] = pmapitest.InDom{Instances: instances, Unlabelled: pdu.ErrPermission}
	u.bounded(t, 0.5, 1, "+Inf")
	h := start(t, u, conf("p = nth_percentile_bucket(abs(up.bin), 50)", "g = sum(up.bin) by (label(le))",
		"w = max_sample(share_bucket(abs(up.bin), 1), \"10s\")")).bound()
	id := h.id("derived.p")
	for _, name := range []string{"p", "g", "w"} {
		id := h.id("derived." + name)
		await.Until(t, "the error", func() bool { return h.fetch(id)[0].Code == pdu.ErrPermission })
		assert.Equal(t, "instances of domain 60.1: labels: "+pdu.ErrPermission.Error(), h.problemOf(name))
	}
	u.Update(func() { u.InDoms[binDom] = pmapitest.InDom{Instances: instances} })
	await.Until(t, "a value", func() bool { return len(h.fetch(id)[0].Values) == 1 })
	assert.InDelta(t, 0.75, math.Float64frombits(h.fetch(id)[0].Values[0].Bits), 1e-12, "of 10, 20 and 30")
	assert.Empty(t, h.problemOf("p"))
}

// Histograms without a value say why. Groups of buckets with a key have another reason than instances without one.
func TestWhyHistogramsHaveNoValues(t *testing.T) {
	u := newCollector(t)
	u.bounded(t, 4, "8", "+Inf")
	h := start(t, u, conf("a = share_bucket(0 * up.bin, 6) by (label(kind))",
		"b = share_bucket(50 - abs(up.bin), 6) by (label(kind))",
		"c = nth_percentile_bucket(matchinst(/one/, abs(up.bin)), 50) by (label(kind))",
		"d = share_bucket(abs(up.bin), 6) by (/nosuch/)", "e = share_bucket(0 * up.bin, 6)",
		"f = nth_percentile_bucket(matchinst(/nosuch/, abs(up.bin)), 50)")).bound()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		id := h.id("derived." + name)
		await.Until(t, name+" is computed", func() bool {
			set := h.fetch(id)[0]
			require.Empty(t, set.Values, name)
			return set.Code == 0
		})
	}
	const single = "a bucket is missing, a count falls, or nothing was counted"
	const why = "in each group " + single
	assert.Equal(t, []string{why, why, why, "no instance has a key", single, "the pattern matches no instance"}, h.problems())
}

// A pmcd without labels lacks nothing if the names have the bounds.
func TestBucketsWithoutLabels(t *testing.T) {
	u := newCollectorWith(t, pmapitest.AllFeatures&^pdu.FeatureLabels)
	u.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{
		{ID: 1, Name: "0-9"}, {ID: 2, Name: "10-19"}, {ID: 3, Name: "20-29"},
	}}
	h := start(t, u, conf("p = nth_percentile_bucket(abs(up.bin), 50)")).bound()
	p := require1(t, h.value(h.id("derived.p")))
	assert.InDelta(t, 20, math.Float64frombits(p.Bits), 1e-12)
	assert.Empty(t, h.problemOf("p"))
}

// An instance that is no bucket is an error, which names it until the next fetch with values.
func TestInstanceWithoutBound(t *testing.T) {
	u := newCollector(t)
	u.InDoms[procDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "init"}, {ID: 2, Name: "login"}}}
	h := start(t, u, conf("p = nth_percentile_bucket(up.bin + 30, 50)",
		"w = max_sample(share_bucket(up.bin + 30, 5), \"10s\")", "hidden = share_bucket(instant(proc.io), 3)"),
		protectProc).bound()
	id := h.id("derived.p")
	await.Until(t, "the error", func() bool { return h.fetch(id)[0].Code == pdu.ErrInst })
	assert.Equal(t, `instance "one" has no bound`, h.problemOf("p"))
	windowed := h.id("derived.w")
	await.Until(t, "the error of the window", func() bool { return h.fetch(windowed)[0].Code == pdu.ErrInst })
	assert.Equal(t, `instance "one" has no bound`, h.problemOf("w"))

	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "1000"}, 4)
	h.pmcd.Client = 4
	hidden := h.id("derived.hidden")
	await.Until(t, "the error of protected instances", func() bool { return h.fetch(hidden)[0].Code == pdu.ErrInst })
	assert.Equal(t, "it has no values, for a reason that is not shown: it is protected", h.problemOf("hidden"))

	// Other definitions of these names have nothing to do with the error, and may be public.
	served := *h.config.Load()
	h.reload(conf("p = up.bin + 30", "hidden = up.load"))
	assert.Empty(t, h.problemOf("p"))
	assert.Empty(t, h.problemOf("hidden"))
	h.reload(served)

	u.Update(func() {
		u.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 4, Name: "0-9"}, {ID: 5, Name: "10-19"}}}
	})
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{binID: {pdu.Int32Value(4, 1), pdu.Int32Value(5, 1)}})
	h.value(id)
	assert.Empty(t, h.problemOf("p"))
}
