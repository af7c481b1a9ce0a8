package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

// Operands that are known are not looked up again because a file has changed.
func TestReloadAsksOnlyWhatIsNew(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.load", "b = up.bin[one]", "c = nosuch")).bound()
	var asked sync.Map
	up.OnRequest(func(_ int, f pdu.Frame) bool {
		switch f.Kind {
		case pdu.KindPMNSNames, pdu.KindDescReq, pdu.KindInstanceReq:
			m, err := pdu.Decode(f)
			if assert.NoError(t, err) {
				asked.Store(fmt.Sprintf("%v", m), true)
			}
		}
		return true
	})
	h.reload(conf("a = up.load + 1", "b = up.bin[one] + 1"))
	asked.Range(func(request, _ any) bool { return assert.Fail(t, "asked again", request) })
	h.reload(conf("a = up.load + up.count", "b = up.bin[two]", "c = nosuch"))
	var all []string
	asked.Range(func(request, _ any) bool {
		all = append(all, request.(string))
		return true
	})
	text := strings.Join(all, "\n")
	assert.Contains(t, text, "up.count")
	assert.Contains(t, text, "nosuch", "it may exist by now")
	assert.NotContains(t, text, "up.load")
}

// ReloadAll has all operands looked up again: their metadata may have changed without an announcement.
func TestRefreshLooksOperandsUpAgain(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.load", "b = delta(up.load)")).bound()
	was := h.id("derived.a")
	up.Update(func() { up.Metrics[0].Desc.Units = pdu.Units{Space: 1} })
	h.reload(conf("a = up.load"))
	assert.Equal(t, was, h.id("derived.a"), "nobody knows")
	before := h.agent.figures.Reloads.Load()
	h.agent.ReloadAll()
	await.Until(t, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
	now := h.id("derived.a")
	assert.NotEqual(t, was, now, "another metric")
	desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: now})).Desc
	assert.Equal(t, pdu.Units{Space: 1}, desc.Units)
}

// A definition whose operands change has a value at once.
func TestReloadPrimesNewOperands(t *testing.T) {
	h := start(t, newCollector(t), conf("a = up.load")).bound()
	id := h.id("derived.a")
	require.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0.5)}, h.value(id))
	h.reload(conf("a = up.load + sum(up.bin)"))
	set := require1(t, h.fetch(id))
	require.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 20.5)}, set.Values, "code %d", set.Code)
}

// While a reload looks names up, and until it is done, the instances that are selected now have their values.
func TestReloadKeepsSelectorsUntilTheSwap(t *testing.T) {
	up := newCollector(t)
	h := start(t, up, conf("a = up.bin[one]", "b = up.load")).bound()
	a, b := h.id("derived.a"), h.id("derived.b")
	require.Len(t, h.value(a), 1)
	require.Len(t, h.value(b), 1)
	gate := make(chan struct{})
	up.OnRequest(func(_ int, f pdu.Frame) bool {
		var fetch pdu.HighResFetch
		if f.Kind == pdu.KindHighResFetch && fetch.Decode(f.Body) == nil && slices.Contains(fetch.PMIDs, countID) {
			<-gate // the reload waits for the first sample of b
		}
		return true
	})
	before := h.agent.figures.Reloads.Load()
	c := conf("a = up.bin[two]", "b = up.load + instant(up.count)")
	h.config.Store(&c)
	h.agent.Reload()
	await.Until(t, "the new name is known", func() bool {
		_, ok := h.agent.names.Table(binDom).Select("two")
		return ok
	})
	set := require1(t, h.fetch(a))
	assert.Len(t, set.Values, 1, "code %d", set.Code)
	close(gate)
	await.Until(t, "configuration read again", func() bool { return h.agent.figures.Reloads.Load() > before })
	now := require1(t, h.value(a))
	assert.EqualValues(t, -20, now.TypeOr(pdu.Type32).Float64(now.Bits))
}
