package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// problems are what derived.control.definition.error says, in the order of the definitions.
func (h *harness) problems() (all []string) {
	h.tb.Helper()
	for _, v := range h.value(h.id("derived.control.definition.error")) {
		all = append(all, strings.TrimRight(string(v.Bytes), "\x00"))
	}
	return all
}

// refuse makes the agent of a metric refuse its name.
func (u *collector) refuse(name string, code pdu.Code) {
	u.Update(func() {
		for i := range u.Metrics {
			if u.Metrics[i].Name == name {
				u.Metrics[i].Refused = code
			}
		}
	})
}

// A name that its agent refuses costs the definition that uses it, which says why and recovers by itself.
func TestRefusedName(t *testing.T) {
	u := newCollector(t)
	u.refuse("up.count", pdu.ErrPermission)
	h := start(t, u, conf("a = up.load", "b = up.count", "c = up.bin")).bound()
	assert.Len(t, h.value(h.id("derived.a")), 1)
	assert.Len(t, h.value(h.id("derived.c")), 3)
	problems := h.problems()
	require.Len(t, problems, 3)
	assert.Equal(t, []string{"", ""}, []string{problems[0], problems[2]})
	assert.Contains(t, problems[1], "operand up.count")
	assert.Contains(t, problems[1], pdu.ErrPermission.Error())
	assert.NotNil(t, h.logged("operands are refused, trying again"))

	u.refuse("up.count", 0)
	assert.Len(t, h.value(h.unnamed("derived.b")), 1)
	await.Until(t, "the word that it is over", func() bool { return h.logged("no operands are refused any more") != nil })
	assert.Equal(t, []string{"", "", ""}, h.problems())
}

// An agent that cannot be asked for its names again costs nothing: the known ones stay.
func TestNameThatIsNotToldAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []pdu.Code{pdu.ErrAgain, pdu.ErrPermission, pdu.ErrTimeout} {
		u := newCollector(t)
		h := start(t, u, conf("b = up.count")).bound()
		id := h.id("derived.b")
		h.value(id)
		u.refuse("up.count", code)
		u.Announce(pdu.ChangeAddAgent)
		await.Until(t, "the look-up", func() bool {
			h.fetch(id)
			return h.logged("operands are refused, trying again") != nil
		})
		assert.Len(t, h.value(id), 1)
		assert.Equal(t, []string{""}, h.problems(), "%s", code.Name())
	}
}

// A domain whose agent refuses it costs the definitions that need it, and these say why.
func TestDomainThatCannotBeHad(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf("a = matchinst(/two/, up.bin)", "b = matchinst(/1/, proc.io)", "c = proc.io")).bound()
	assert.Len(t, h.value(h.id("derived.a")), 1)
	assert.Len(t, h.value(h.id("derived.c")), 2)
	assert.Equal(t, []string{"", "instances of domain 3.9: " + pdu.ErrInDom.Error(), ""}, h.problems())
}

// A definition whose operands have values and that has none says why, once a client has fetched it.
func TestWhyThereAreNoValues(t *testing.T) {
	h := start(t, newCollector(t), conf(
		"a = up.load / (up.load - up.load)", "b = up.load > 100 ? up.load : novalue()", "c = up.bin[nosuch] + 1",
		"d = max(matchinst(/nosuch/, up.bin))", "e = up.bin[one] + 1", "f = up.bin + matchinst(/nosuch/, up.bin)",
		"g = matchinst(/one/, up.bin) + matchinst(/two/, up.bin)", "h = sum(up.bin) by (/nosuch/)",
		"i = up.bin - avg(up.bin) by (/nosuch/)", "j = matchinst(/nosuch/, up.bin, /(.*)/)",
		"k = matchinst(/one/, up.bin) < 1000 ? matchinst(/two/, up.bin) : novalue()",
		"l = matchinst(/one/, up.bin) < 1000 ? novalue() : matchinst(/two/, up.bin)",
		"m = up.load < 1000 ? up.bin[nosuch] : novalue()", "n = max(up.bin[nosuch]) > 0 ? up.load : novalue()",
	)).bound()
	h.value(h.id("derived.e"))
	for _, name := range []string{"a", "b", "c", "d", "f", "g", "h", "i", "j", "k", "l", "m", "n"} {
		await.Until(t, name+" is computed", func() bool {
			set := h.fetch(h.id("derived." + name))[0]
			require.Empty(t, set.Values, name)
			return set.Code == 0
		})
	}
	assert.Equal(t, []string{
		"computed, not served: not finite", "novalue() was chosen", "there is no such instance",
		"the pattern matches no instance", "", "the pattern matches no instance",
		"no instance of one operand has a partner in the other", "no instance has a key", "no instance has a key",
		"the pattern matches no instance", "no instance of one operand has a partner in the other", "novalue() was chosen",
		"there is no such instance", "there is no such instance",
	}, h.problems())
}

// Values that only known users see are not told by the reason either, which everyone sees.
func TestWhyProtectedMetricsHaveNoValues(t *testing.T) {
	u := newCollector(t)
	u.InDoms[procDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "init"}, {ID: 2, Name: "login"}}}
	h := start(t, u, conf(
		"a = sum(matchinst(/init/, proc.io)) >= 0 ? novalue() : 1", "b = matchinst(/nosuch/, proc.io)", "c = proc.io",
		"d = 1 / (sum(instant(proc.io)) - sum(instant(proc.io)))",
	), protectProc).bound()
	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "1000"}, 4)
	h.pmcd.Client = 4
	h.value(h.id("derived.c"))
	for _, name := range []string{"a", "b", "d"} {
		await.Until(t, name+" is computed", func() bool {
			set := h.fetch(h.id("derived." + name))[0]
			require.Empty(t, set.Values, name)
			return set.Code == 0
		})
	}
	h.pmcd.Client = 5
	const hidden = "it has no values, for a reason that is not shown: it is protected"
	assert.Equal(t, []string{hidden, hidden, "", hidden}, h.problems())
}
