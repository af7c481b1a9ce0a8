package agent

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// Another name or label of an instance that keeps its number is known after a while.
func TestInstanceWithAnotherNameOrLabel(t *testing.T) {
	t.Parallel()
	u := newCollector(t)
	u.labelled("disk", "disk", "disk")
	h := start(t, u, conf("k = sum(up.bin) by (label(kind))", "m = matchinst(/^new/, up.bin)", "n = up.bin[new]")).bound()
	label, match, selected := h.id("derived.k"), h.id("derived.m"), h.id("derived.n")
	h.value(label)
	for _, row := range []struct { // the agent looks instances up when it sees them first: that may be the first row
		name, label string
		groups      map[string]int64
		matches     int
	}{
		{"new", "tape", map[string]int64{"disk": -10, "tape": 30}, 1},
		{"three", "disk", map[string]int64{"disk": 20}, 0},
	} {
		u.labelled("disk", "disk", row.label)
		u.Update(func() {
			u.InDoms[binDom] = pmapitest.InDom{
				Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}, {ID: 3, Name: row.name}},
			}
		})
		await.Until(t, "the new name and label", func() bool {
			sets := h.fetch(match, selected)
			return maps.Equal(h.byName(label), row.groups) && len(sets[0].Values) == row.matches &&
				len(sets[1].Values) == row.matches
		})
	}
}

// A descriptor that was told wrong, or that changes without a word, is known rightly after a while: a value that does
// not fit it is one reason to look it up again, and without such a value its turn comes.
func TestDescriptorThatWasWrong(t *testing.T) {
	t.Parallel()
	u := newCollector(t)
	describe := func(change func(*pdu.Desc)) {
		u.Update(func() { change(&u.Metrics[1].Desc) })
	}
	describe(func(d *pdu.Desc) { d.Type = pdu.TypeString })
	h := start(t, u, conf("plain = up.count", "twice = 2 * up.count")).bound()
	plain := h.id("derived.plain")
	await.Until(t, "an error", func() bool { return h.fetch(plain)[0].Code == pdu.ErrType })
	assert.Contains(t, h.problems()[1], "type")
	describe(func(d *pdu.Desc) { d.Type = pdu.TypeU64 })
	values := func(name string, want uint64) func() bool {
		return func() bool {
			v := h.fetch(h.id(name))[0].Values
			return len(v) == 1 && v[0].Bits == want
		}
	}
	await.Until(t, "values", values("derived.plain", 100))
	await.Until(t, "a definition that was refused", values("derived.twice", 200))

	id := h.id("derived.plain")
	describe(func(d *pdu.Desc) { d.Units = pdu.Units{Space: 1} })
	await.Until(t, "another metric", func() bool { return h.id("derived.plain") != id })
	desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: h.id("derived.plain")})).Desc
	assert.Equal(t, pdu.Units{Space: 1}, desc.Units)
	await.Until(t, "its values", values("derived.plain", 100))
	describe(func(d *pdu.Desc) { d.Units = pdu.Units{Count: 1} })
	await.Until(t, "the former metric", func() bool { return h.id("derived.plain") == id })
}
