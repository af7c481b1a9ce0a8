package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/served"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/derived/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

// limits fetches a metric of derived.control.limit, by the names of the instances.
func (h *harness) limits(metric string) map[string]uint64 {
	h.tb.Helper()
	reply := pmdatest.As[*pdu.InstanceReply](h.pmcd,
		h.pmcd.Request(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 3), Inst: pdu.NoInst}))
	all := make(map[string]uint64)
	for _, v := range h.fetch(h.id("derived.control.limit." + metric))[0].Values {
		i := slices.IndexFunc(reply.Instances, func(inst pdu.Instance) bool { return inst.ID == v.Inst })
		require.GreaterOrEqual(h.tb, i, 0)
		all[reply.Instances[i].Name] = v.Bits
	}
	return all
}

func TestLimitMetrics(t *testing.T) {
	own := Limits{Definitions: 10, Expression: 200, Depth: 20, Operands: 30, Instances: 40, Contexts: 50, Samples: 1 << 20, Answer: 70_000, Windows: 90, Log: 80}
	h := start(t, newCollector(t), conf("load = up.load", "both = up.count * up.load", "bin = up.bin"), func(o *Options) {
		o.Limits = own
		o.LogUsed = func() int64 { return 33 }
	}).bound()
	h.value(h.id("derived.bin"))
	h.value(h.id("derived.both"))
	assert.Equal(t, map[string]uint64{
		"definitions": 10, "expression": 200, "depth": 20, "operands": 30, "instances": 40, "contexts": 50,
		"samples": 1 << 20, "answer": 70_000, "windows": 90, "log": 80,
	}, h.limits("max"))
	used := h.limits("used")
	assert.Equal(t, 10, len(used))
	assert.Less(t, uint64(20), used["answer"], "a PDU")
	assert.Less(t, used["answer"], uint64(1000))
	assert.Positive(t, used["samples"])
	delete(used, "answer")
	delete(used, "samples")
	delete(used, "contexts") // of this test
	assert.Equal(t, map[string]uint64{
		"definitions": 3, "expression": uint64(len("up.count * up.load")), "depth": 2, "operands": 2, "instances": 3, "log": 33, "windows": 0,
	}, used)
	h.reload(conf("load = up.load"))
	assert.EqualValues(t, 1, h.limits("used")["definitions"], "as many as there are now")
	assert.EqualValues(t, 2, h.limits("used")["operands"], "the most there have been")
}

// Limits that nobody has set are the usual ones; those that the agent does not know have no value.
func TestUsualLimits(t *testing.T) {
	h := start(t, newCollector(t), conf("load = up.load")).bound()
	limits := h.limits("max")
	assert.Equal(t, map[string]uint64{
		"expression": 1 << 20, "depth": 10_000, "operands": upstream.MaxPart, "instances": operand.MaxInstances, "contexts": maxContexts,
		"samples": maxHeld, "answer": pdu.ClientLimit, "windows": window.MaxValues,
	}, limits)
	assert.NotContains(t, h.limits("used"), "log")
}

// What exceeds a limit fails alone, and everything else is served.
func TestLoweredLimits(t *testing.T) {
	t.Run("operands", func(t *testing.T) {
		h := start(t, newCollector(t), conf("load = up.load", "both = up.count * up.load", "bin = up.bin"),
			func(o *Options) { o.Limits.Operands = 1 }).bound()
		h.value(h.id("derived.load"))
		h.value(h.id("derived.bin"))
		var states []served.State
		var problems []string
		for _, m := range h.agent.snapshot.Load().Beside {
			states, problems = append(states, m.State), append(problems, m.Problem)
		}
		assert.Equal(t, []served.State{served.Bound, served.Failed, served.Bound}, states)
		assert.Equal(t, "derived metric both: 2 operands, but at most 1 can be sampled together", strings.Join(problems, ""))
		assert.EqualValues(t, 2, h.limits("used")["operands"], "it shows what would be needed")
	})
	t.Run("instances", func(t *testing.T) {
		h := start(t, newCollector(t), conf("load = up.load", "bin = up.bin", "io = proc.io"), func(o *Options) {
			o.Limits.Instances = 2
			o.Protected = nil
		}).bound()
		h.value(h.id("derived.load"))
		assert.Len(t, h.value(h.id("derived.io")), 2)
		bin := h.id("derived.bin")
		eventually(t, "a sample", func() bool { h.fetch(bin); return h.newest("bin") != nil })
		assert.Empty(t, h.fetch(bin)[0].Values)
		assert.Equal(t, 2, h.logged("operand has too many instances, definitions that use it have no values").Data["limit"])
		assert.EqualValues(t, 3, h.limits("used")["instances"])
	})
}
