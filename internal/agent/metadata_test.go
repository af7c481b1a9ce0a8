package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

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
