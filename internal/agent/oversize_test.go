package agent

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/await"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// smallAnswers limits answers to the agent to 2000 bytes.
func smallAnswers(o *Options) { o.maxAnswer = 2000 }

// addText gives an upstream a metric whose only value is a string.
func (u *collector) addText(name string, item, bytes int) pdu.PMID {
	id := pdu.NewPMID(60, 9, item)
	u.Update(func() {
		u.Metrics = append(u.Metrics, pmapitest.Metric{
			Name:   name,
			Desc:   pdu.Desc{PMID: id, Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
			Values: []pdu.Value{pdu.StringValue(pdu.NoInst, strings.Repeat("x", bytes))},
		})
	})
	return id
}

// newest returns the newest sample of a definition; nil: none.
func (h *harness) newest(name string) *operand.Sample {
	for _, m := range h.agent.snapshot.Load().ServedStates {
		if m.Served.Def.Name == name && m.Series != nil {
			return h.agent.upstream.Newest(nil, []*upstream.Series{m.Series})[0]
		}
	}
	return nil
}

// count is how often a message has been logged.
func (h *harness) count(message string) int {
	n := 0
	for _, e := range h.log.AllEntries() {
		if e.Message == message {
			n++
		}
	}
	return n
}

// connectedOnce checks that connections to pmcd were made, and not made again. The log hears of it when all is done.
func (h *harness) connectedOnce() {
	h.tb.Helper()
	await.Until(h.tb, "a message", func() bool { return h.count(linked) > 0 })
	assert.Equal(h.tb, 1, h.count(linked))
}

// fetchAnew fetches until one of the metrics has a new sample.
func (h *harness) fetchAnew(name string, ids ...pdu.PMID) {
	h.tb.Helper()
	before := h.newest(name)
	await.Until(h.tb, "there is a new sample", func() bool {
		h.fetch(ids...)
		return h.newest(name) != before
	})
}

const (
	tooLongTogether = "answer from pmcd is too long, asking for fewer metrics at once"
	tooLongAlone    = "answer for the operands of a metric is too long, the metric has no values"
	linked          = "connected to pmcd"
)

// Operands that do not fit into one answer are fetched with several.
func TestAnswersTooLongTogether(t *testing.T) {
	up := newCollector(t)
	var lines []string
	for i := range 40 {
		up.addText(fmt.Sprintf("up.text%d", i), i, 300)
		lines = append(lines, fmt.Sprintf("t%d = up.text%d", i, i))
	}
	h := start(t, up, conf(lines...), smallAnswers).bound()
	ids := make([]pdu.PMID, len(lines))
	for i := range ids {
		ids[i] = h.id(fmt.Sprintf("derived.t%d", i))
	}
	await.Until(t, "all values", func() bool {
		for _, set := range h.fetch(ids...) {
			if len(set.Values) != 1 {
				return false
			}
		}
		return true
	})
	assert.LessOrEqual(t, h.count(tooLongTogether), 1)
	assert.Zero(t, h.count(tooLongAlone))
	h.connectedOnce() // the connections that are left do meanwhile
	await.Until(t, "it has learnt how much it may ask for", func() bool {
		failed := h.agent.figures.UpstreamErrors.Load()
		for range 3 {
			h.fetchAnew("t0", ids...)
		}
		return failed > 0 && failed == h.agent.figures.UpstreamErrors.Load()
	})
}

// One operand among very many is found while the others are served, and no connection but the agent's is made again.
func TestOperandTooLongAmongMany(t *testing.T) {
	const all = 500
	up := newCollector(t)
	var lines []string
	for i := range all {
		up.addText(fmt.Sprintf("up.text%d", i), i, 3)
		lines = append(lines, fmt.Sprintf("t%d = up.text%d", i, i))
	}
	const wrong = 321
	up.tick(
		0,
		map[pdu.PMID][]pdu.Value{pdu.NewPMID(60, 9, wrong): {pdu.StringValue(pdu.NoInst, strings.Repeat("x", 200_000))}},
	)
	h := start(t, up, conf(lines...), func(o *Options) { o.maxAnswer = 100_000 }).bound()
	var ids []pdu.PMID
	for _, m := range h.agent.snapshot.Load().ServedStates {
		ids = append(ids, m.Served.ID)
	}
	await.Until(t, "values", func() bool {
		values := 0
		for _, set := range h.fetch(ids...) {
			values += len(set.Values)
		}
		return values == all-1 && h.newest(fmt.Sprint("t", wrong)) != nil
	})
	await.Until(t, "the message, which follows the sample", func() bool { return h.count(tooLongAlone) > 0 })
	assert.Equal(t, 1, h.count(tooLongAlone))
	assert.Equal(t, 1, h.count(tooLongTogether))
	h.connectedOnce()
}

// An operand whose answer alone is too long rests, whether it is alone or not, and the others are served.
func TestOperandTooLong(t *testing.T) {
	up := newCollector(t)
	huge := up.addText("up.huge", 1, 5000)
	h := start(t, up, conf(
		"load = up.load", "huge = up.huge", "both = defined(up.load) && up.load > 0 ? up.huge : up.name",
		"count = up.count",
	), smallAnswers).bound()
	load, count, alone, both := h.id("derived.load"), h.id("derived.count"), h.id("derived.huge"), h.id("derived.both")
	await.Until(t, "samples", func() bool {
		h.fetch(load, alone, both, count)
		return h.newest("huge") != nil && h.newest("both") != nil && h.newest("load") != nil && h.newest("count") != nil
	})
	assert.Equal(t, pdu.ErrTooBig, h.newest("huge").Values(huge, new(int32)).Code)
	assert.Equal(t, pdu.ErrTooBig, h.newest("both").Values(huge, new(int32)).Code)
	await.Until(t, "values of the others", func() bool {
		sets := h.fetch(load, alone, both, count)
		assert.Empty(t, sets[1].Values)
		assert.Empty(t, sets[2].Values)
		return len(sets[0].Values) == 1 && len(sets[3].Values) == 1
	})
	await.Until(t, "one message for each metric", func() bool { return h.count(tooLongAlone) == 2 })
	var first []any // operands, of the metrics in any order
	for _, e := range h.log.AllEntries() {
		if e.Message == tooLongAlone {
			first = append(first, e.Data["pmid"])
		}
	}
	assert.Contains(t, first, huge)
	assert.Equal(t, 2000, h.logged(tooLongAlone).Data["limit"])
	h.connectedOnce()
	failed := h.agent.figures.UpstreamErrors.Load()
	for range 5 {
		h.fetchAnew("load", load, alone, both, count)
	}
	assert.Equal(t, failed, h.agent.figures.UpstreamErrors.Load(), "it is left alone")

	up.tick(time.Second, map[pdu.PMID][]pdu.Value{huge: {pdu.StringValue(pdu.NoInst, "short")}})
	h.reload(conf("load = up.load", "huge = up.huge", "count = up.count"))
	assert.Equal(t, "short", strings.TrimRight(string(h.value(alone)[0].Bytes), "\x00"), "a reload has it asked for again")
}

// A metric whose operands fit alone and not together has no values; those that use one of them have.
func TestMetricTooLong(t *testing.T) {
	up := newCollector(t)
	x, y := up.addText("up.x", 1, 1500), up.addText("up.y", 2, 1500)
	h := start(
		t, up, conf("x = up.x", "y = up.y", "either = defined(up.load) && up.load > 0 ? up.x : up.y"), smallAnswers,
	).bound()
	ids := []pdu.PMID{h.id("derived.x"), h.id("derived.y"), h.id("derived.either")}
	await.Until(t, "values of the others", func() bool {
		sets := h.fetch(ids...)
		assert.Empty(t, sets[2].Values)
		return len(sets[0].Values) == 1 && len(sets[1].Values) == 1 && h.newest("either") != nil
	})
	assert.Equal(t, pdu.ErrTooBig, h.newest("either").Values(x, new(int32)).Code)
	assert.Equal(t, pdu.ErrTooBig, h.newest("either").Values(y, new(int32)).Code)
	await.Until(t, "the message, which follows the sample", func() bool { return h.count(tooLongAlone) > 0 })
	assert.Equal(t, 1, h.count(tooLongAlone))
	h.connectedOnce()
}

// One header that lies makes nothing rest.
func TestLieAboutLength(t *testing.T) {
	up := newCollector(t)
	var lied atomic.Bool
	up.OnAttack(func(_ int, f pdu.Frame, to net.Conn) (met, goOn bool) {
		if f.Kind != pdu.KindHighResResult || lied.Swap(true) {
			return false, true
		}
		_, _ = to.Write([]byte{0x7f, 0, 0, 0, 0, 0, byte(f.Kind >> 8), byte(f.Kind), 0, 0, 0, 0})
		return true, true
	})
	h := start(t, up, conf("load = up.load", "both = up.load * up.count")).bound()
	require.NotEmpty(t, h.value(h.id("derived.load")))
	require.NotEmpty(t, h.value(h.id("derived.both")))
	assert.True(t, lied.Load())
	for _, e := range h.log.AllEntries() {
		assert.Greater(t, e.Level, logrus.WarnLevel, e.Message)
	}
}
