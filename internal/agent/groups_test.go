package agent

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// groupDom is the first instance domain of groups that is given out.
var groupDom = pdu.NewInDom(testDomain, 64)

// indom are the names of a domain's instances, in order.
func (h *harness) indom(d pdu.InDom) (names []string) {
	h.tb.Helper()
	reply := pmdatest.As[*pdu.InstanceReply](h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}))
	for _, in := range reply.Instances {
		names = append(names, in.Name)
	}
	return names
}

// number is the number of an instance.
func (h *harness) number(d pdu.InDom, name string) pdu.Inst {
	h.tb.Helper()
	reply := pmdatest.As[*pdu.InstanceReply](
		h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: d, Inst: pdu.NoInst, Name: name}),
	)
	return require1(h.tb, reply.Instances).ID
}

// byName are the values of a metric over groups.
func (h *harness) byName(id pdu.PMID) map[string]int64 {
	h.tb.Helper()
	all := make(map[string]int64)
	for _, v := range h.value(id) {
		reply := pmdatest.As[*pdu.InstanceReply](h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: groupDom, Inst: v.Inst}))
		all[require1(h.tb, reply.Instances).Name] = int64(int32(v.Bits))
	}
	return all
}

// texts are values of up.text.
func texts(values ...string) map[pdu.PMID][]pdu.Value {
	var all []pdu.Value
	for i, v := range values {
		all = append(all, pdu.StringValue(pdu.Inst(i+1), v))
	}
	return map[pdu.PMID][]pdu.Value{binTextID: all}
}

func TestGroups(t *testing.T) {
	h := start(
		t, newCollector(t), conf("kind = sum(up.bin) by (kind=/^(t)|o/)", "text = max(up.bin) by (up.text)"),
	).bound()
	id := h.id("derived.kind")
	desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: id})).Desc
	assert.Equal(t, pdu.Desc{PMID: id, Type: pdu.Type32, InDom: groupDom, Sem: pdu.SemInstant}, desc)
	assert.Equal(t, map[string]int64{"t": 10, "o": 10}, h.byName(id))
	assert.Equal(t, []string{"o", "t"}, h.indom(groupDom))
	other := pdu.NewInDom(testDomain, 65)
	h.id("derived.text")
	await.Until(t, "groups before values", func() bool { return slices.Equal(h.indom(other), []string{"a", "b", "c"}) })
	assert.Equal(t, h.value(h.id("derived.text"))[1].Inst, h.number(other, "b"))

	for _, req := range []pdu.InstanceReq{
		{InDom: groupDom, Inst: pdu.NoInst, Name: "x"}, {InDom: groupDom, Inst: 1}, {InDom: groupDom, Inst: 1, Name: "t"},
	} {
		assert.Equal(t, pdu.ErrInst, h.pmcd.Refused(&req), "%v", req)
	}
	assert.Equal(t, pdu.ErrInDom, h.pmcd.Refused(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 66), Inst: pdu.NoInst}))
	assert.Equal(t, pdu.ErrInDom, h.pmcd.Refused(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 66), Inst: 1}))

	text := func(kind pdu.TextType) string {
		return pmdatest.As[*pdu.Text](
			h.pmcd, h.pmcd.Request(&pdu.TextReq{Ident: uint32(groupDom), Type: kind | pdu.TextInDom}),
		).Text
	}
	assert.Equal(t, "groups of the instances of 60.1, by kind", text(pdu.TextOneLine))
	assert.Equal(t, text(pdu.TextOneLine), text(pdu.TextHelp))
}

func TestLabelsOfGroups(t *testing.T) {
	h := start(t, newCollector(t), conf("kind = sum(up.bin) by (kind=/^(t)|o/)")).bound()
	h.value(h.id("derived.kind"))
	labels := func() (all []string) {
		reply := pmdatest.As[*pdu.Labels](
			h.pmcd, h.pmcd.Request(&pdu.LabelReq{Ident: uint32(groupDom), Type: pdu.LabelInstances}),
		)
		for _, set := range reply.Sets {
			assert.Equal(t, h.number(groupDom, map[string]string{`{"kind":"o"}`: "o", `{"kind":"t"}`: "t"}[set.JSON]), set.Inst)
			all = append(all, set.JSON)
		}
		return all
	}
	assert.Equal(t, []string{`{"kind":"o"}`, `{"kind":"t"}`}, labels())
	only := pdu.ProfileInDom{InDom: groupDom, State: pdu.Exclude, Insts: []pdu.Inst{h.number(groupDom, "t")}}
	h.pmcd.Send(&pdu.Profile{InDoms: []pdu.ProfileInDom{only}}, 0)
	assert.Equal(t, []string{`{"kind":"t"}`}, labels())
	reply := pmdatest.As[*pdu.Labels](
		h.pmcd, h.pmcd.Request(&pdu.LabelReq{Ident: uint32(binDom), Type: pdu.LabelInstances}),
	)
	assert.Empty(t, reply.Sets, "they are its agent's")
}

// A profile of groups chooses among them; one of the operand's instances is about another domain.
func TestProfilesOfGroups(t *testing.T) {
	h := start(t, newCollector(t), conf("kind = sum(up.bin) by (kind=/^(t)|o/)")).bound()
	id := h.id("derived.kind")
	all := h.value(id)
	require.Len(t, all, 2)
	only := func(d pdu.InDom, insts ...pdu.Inst) []pdu.Value {
		h.pmcd.Send(&pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: d, State: pdu.Exclude, Insts: insts}}}, 0)
		return h.fetch(id)[0].Values
	}
	assert.Equal(t, all, only(binDom, 1))
	assert.Equal(t, all[1:], only(groupDom, all[1].Inst))
	assert.Empty(t, only(groupDom))
}

// Names that no tool could show are made fit, and the same key has the same number whatever makes it.
func TestNamesOfGroups(t *testing.T) {
	u := newCollector(t)
	u.tick(time.Second, texts("www data", "www\tdata", "\x1b[31m\xff"))
	h := start(t, u, conf("text = count(up.bin) by (up.text)")).bound()
	assert.Equal(t, map[string]int64{"www_data": 2, "?[31m?": 1}, h.byName(h.id("derived.text")))
}

// A group that has gone is listed for as long as a sample with it may still be served, and found for longer.
func TestGroupsThatComeAndGo(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf("text = sum(up.bin) by (up.text)")).bound()
	id := h.id("derived.text")
	assert.Equal(t, map[string]int64{"a": 10, "b": -20, "c": 30}, h.byName(id))
	b := h.number(groupDom, "b")
	u.tick(time.Minute, texts("a", "d", "a"))
	await.Until(t, "the new values", func() bool { return len(h.value(id)) == 2 })
	assert.Equal(t, map[string]int64{"a": 40, "d": -20}, h.byName(id))
	assert.Equal(t, []string{"a", "b", "c", "d"}, h.indom(groupDom))
	assert.Equal(t, b, h.number(groupDom, "b"))
	u.tick(time.Minute, texts("b", "b", "b"))
	await.Until(t, "the new values", func() bool { return len(h.value(id)) == 1 })
	assert.Equal(t, b, h.value(id)[0].Inst, "it is the same again")
}

// Domains and numbers stay the same, whatever becomes of the definitions.
func TestGroupsAfterAReload(t *testing.T) {
	state := func(o *Options) { o.StateFile = filepath.Join(t.TempDir(), "state") }
	h := start(t, newCollector(t), conf("k = sum(up.bin) by (kind=/^(t)|o/)"), state).bound()
	id := h.id("derived.k")
	before := h.value(id)
	h.reload(conf("k = sum(up.bin) by (kind=/^t|o/)", "l = max(up.bin) by (kind=/^th/)", "m = max(up.bin) by (new=/^th/)"))
	assert.Equal(t, id, h.id("derived.k"), "another pattern is the same metric")
	assert.Equal(t, before, h.value(id))
	assert.Equal(t, map[string]int64{"th": 30}, h.byName(h.id("derived.l")))
	h.value(h.id("derived.m"))
	assert.Equal(t, []string{"th"}, h.indom(pdu.NewInDom(testDomain, 65)))

	h.reload(conf("m = max(up.bin) by (new=/^th/)"))
	assert.Equal(t, []string{"o", "t", "th"}, h.indom(groupDom), "a pmlogger may ask for the domain of what has gone")
}

func TestGroupsAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	state := func(o *Options) { o.StateFile = path }
	u := newCollector(t)
	u.tick(time.Second, texts("costarring", "x", ""))
	one := start(t, u, conf("t = sum(up.bin) by (up.text)"), state).bound()
	before := one.value(one.id("derived.t"))
	require.Len(t, before, 2)
	number := one.number(groupDom, "x")
	one.stop()

	u.tick(time.Second, texts("", "x", "new"))
	two := start(t, u, conf("t = sum(up.bin) by (up.text)"), state).bound()
	require.Len(t, two.value(two.id("derived.t")), 2)
	assert.Equal(t, number, two.number(groupDom, "x"), "it is made from the name")
	assert.Equal(t, []string{"new", "x"}, two.indom(groupDom), "what is not there is not remembered")
}

// Protected values are not shown as names of groups either, whichever definition made these.
func TestProtectedGroups(t *testing.T) {
	u := newCollector(t)
	path := filepath.Join(t.TempDir(), "state")
	protect, state := func(o *Options) { o.Protected = []string{"up.text"} }, func(o *Options) { o.StateFile = path }
	h := start(
		t, u, conf("t = sum(up.bin) by (up.text)", "n = scalar(max(up.bin) by (text=/^(t)|o/))", "open = up.bin"),
		protect, state,
	).bound()
	ids := []pdu.PMID{h.id("derived.t"), h.id("derived.n")}
	h.pmcd.Client = 4
	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "1000"}, 4)
	h.value(ids[1])
	a := h.value(ids[0])[0].Inst
	assert.Equal(t, []string{"a", "b", "c", "o", "t"}, h.indom(groupDom))
	unknown := func() {
		h.pmcd.Client = 5
		for _, req := range []pdu.Message{
			&pdu.InstanceReq{InDom: groupDom, Inst: pdu.NoInst}, &pdu.InstanceReq{InDom: groupDom, Inst: a},
			&pdu.InstanceReq{InDom: groupDom, Inst: pdu.NoInst, Name: "a"},
			&pdu.LabelReq{Ident: uint32(groupDom), Type: pdu.LabelInstances},
		} {
			assert.Equal(t, pdu.ErrPermission, h.pmcd.Refused(req), "%T", req)
		}
	}
	unknown()
	for _, set := range h.fetch(ids...) {
		assert.Equal(t, pdu.ErrPermission, set.Code)
	}
	h.reload(conf("open = max(up.bin) by (text=/^(t)|o/)"))
	unknown()
	assert.Equal(t, pdu.ErrPermission, h.fetch(h.id("derived.open"))[0].Code, "the names of before are still there")
	h.pmcd.Client = 4
	assert.True(t, slices.Contains(h.indom(groupDom), "a"))
	h.stop()

	h = start(t, u, conf("open = up.bin"), protect, state).bound()
	h.pmcd.Client = 5
	assert.Empty(t, h.indom(groupDom), "nothing says whether they were protected")
	assert.Equal(t, pdu.ErrInst, h.pmcd.Refused(&pdu.InstanceReq{InDom: groupDom, Inst: a}))
}

// A key that changes with each sample costs other definitions nothing. All groups that may still be served are listed.
func TestKeyThatChangesAllTheTime(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf("t = sum(up.bin) by (up.text)", "b = up.bin")).bound()
	id := h.id("derived.t")
	var names []string
	for i := range 10 {
		now := []string{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)}
		u.tick(time.Second, texts(now...))
		await.Until(t, "the new groups", func() bool { return slices.Equal(slices.Sorted(maps.Keys(h.byName(id))), now) })
		names = append(names, now...)
	}
	slices.Sort(names)
	assert.Subset(t, h.indom(groupDom), names)
	assert.Len(t, h.value(h.id("derived.b")), 3)
}

// labelled gives bins a label each.
func (u *collector) labelled(values ...any) {
	var sets []pdu.LabelSet
	for i, v := range values {
		set, err := pdu.NewLabelSet(pdu.Inst(i+1), pdu.LabelInstances, map[string]any{"kind": v, "other": i})
		if err == nil {
			sets = append(sets, set)
		}
	}
	u.Update(func() {
		u.Labels = map[pmapitest.LabelKey][]pdu.LabelSet{{Type: pdu.LabelInstances, Ident: uint32(binDom)}: sets}
	})
}

// Labels are requested again when the instances change.
func TestGroupsByLabel(t *testing.T) {
	u := newCollector(t)
	u.labelled("disk", 7, "disk")
	h := start(t, u, conf("k = sum(up.bin) by (label(kind))", "n = sum(up.bin) by (label(nobody))")).bound()
	id := h.id("derived.k")
	assert.Equal(t, map[string]int64{"disk": 40, "7": -20}, h.byName(id))
	assert.Empty(t, h.fetch(h.id("derived.n"))[0].Values)

	u.labelled("disk", true, "tape", "tape")
	u.Update(func() {
		in := u.InDoms[binDom]
		in.Instances = append(slices.Clip(in.Instances), pdu.Instance{ID: 4, Name: "four"})
		u.InDoms[binDom] = in
	})
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{
		binID: {pdu.Int32Value(1, 10), pdu.Int32Value(2, -20), pdu.Int32Value(3, 30), pdu.Int32Value(4, 5)},
	})
	await.Until(
		t, "other groups",
		func() bool { return maps.Equal(h.byName(id), map[string]int64{"disk": 10, "true": -20, "tape": 35}) },
	)

	h.reload(conf("k = sum(up.bin) by (label(other))"))
	assert.Equal(t, 4, len(h.value(h.id("derived.k"))), "another label is looked up")
	assert.Equal(t, []string{""}, h.problems())
}

// An agent without labels costs the definitions that need them, and these say why.
func TestLabelsThatCannotBeHad(t *testing.T) {
	u := newCollectorWith(t, pmapitest.AllFeatures&^pdu.FeatureLabels)
	h := start(t, u, conf("k = sum(up.bin) by (label(kind))", "b = sum(up.bin) by (/o/)", "s = up.bin[two]")).bound()
	assert.Len(t, h.value(h.id("derived.b")), 1)
	assert.Len(t, h.value(h.id("derived.s")), 1)
	assert.Empty(t, h.fetch(h.id("derived.k"))[0].Values)
	assert.Equal(t, []string{"", "instances of domain 60.1: labels: " + pdu.ErrNoLabels.Error(), ""}, h.problems())
}

// instanceNames answers look-ups of the instances of binDom.
type instanceNames struct {
	operand.MetadataSource
	all []pdu.Instance
}

func (n *instanceNames) Instances(context.Context, pdu.InDom) ([]pdu.Instance, error) {
	return n.all, nil
}
func (*instanceNames) Err() error { return nil }

// learn sets the names of the instances of binDom, as if they had been looked up.
func (b *bench) learn(names ...string) {
	b.tb.Helper()
	source := &instanceNames{}
	for i, name := range names {
		source.all = append(source.all, pdu.Instance{ID: pdu.Inst(i + 1), Name: name})
	}
	needed := operand.InDomNeeds{}
	needed.Add(binDom)
	require.NoError(b.tb, b.agent.names.LookUp(b.tb.Context(), source, needed, []pdu.InDom{binDom}, nil))
}

// store gives all series, and the tick that is due, a sample of up.text and up.bin, which is 1 for each instance.
func (b *bench) store(texts ...string) {
	b.tb.Helper()
	b.agent.sampler.RunDue(b.now)
	number, text := pdu.ValueSet{PMID: binID}, pdu.ValueSet{PMID: binTextID, Format: pdu.Block}
	for i, s := range texts {
		number.Values = append(number.Values, pdu.Int32Value(pdu.Inst(i+1), 1))
		text.Values = append(text.Values, pdu.StringValue(pdu.Inst(i+1), s))
	}
	b.agent.upstream.RetainNext(true, b.site.before.Series...)
	for _, s := range b.site.before.Series {
		var sets []pdu.ValueSet
		for _, d := range s.Operands() {
			sets = append(sets, map[pdu.PMID]pdu.ValueSet{binID: number, binTextID: text}[d.PMID])
		}
		asked := operand.NewList(s.Operands()...)
		b.agent.upstream.Store(sampleOf(b.maker, result(b.tb, b.now, sets...), b.now, b.now, asked), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
}

// list returns the groups that a client is told.
func (b *bench) list(c pmda.Client) (names []string) {
	b.tb.Helper()
	all, err := b.agent.Instances(c, groupDom)
	require.NoError(b.tb, err)
	for _, in := range all {
		names = append(names, in.Name)
	}
	return names
}

// groups returns the groups with values that a fetch of the metric g returns.
func (b *bench) groups(c pmda.Client) (names []string) {
	b.tb.Helper()
	for _, v := range b.fetch(c, 0, "g")[0].Values {
		in, ok := b.agent.groups.Find(groupDom, v.Inst, "")
		require.True(b.tb, ok)
		names = append(names, in.Name)
	}
	return names
}

// A client that lists groups and then fetches gets no group that it was not told, whatever comes in between: a sample,
// the name of an instance, or a tick of a function over time. Each list has the newest groups.
func TestFirstFetchHasTheListedGroups(t *testing.T) {
	for name, row := range map[string]struct {
		definition string
		more       func(*bench)
	}{
		"sample":           {"count(up.bin) by (up.text)", func(b *bench) { b.store("one", "two") }},
		"sample of a rate": {"count(rate(instant(up.bin))) by (up.text)", func(b *bench) { b.store("one", "two") }},
		"name":             {"count(up.bin) by (/(.*)/)", func(b *bench) { b.learn("one", "two") }},
		"tick": {`count(max_sample(up.bin, "5s", "500ms")) by (/(.*)/)`, func(b *bench) {
			b.learn("one", "two")
			b.store("", "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, conf())
			b.site.catalog["up.text"] = pdu.Desc{PMID: binTextID, Type: pdu.TypeString, InDom: binDom, Sem: pdu.SemInstant}
			b.serve(conf("g = "+row.definition, "all = up.bin"))
			b.learn("one")
			b.store("one", "one")
			b.pass(500 * ms)
			b.store("one", "one")
			old, all := []string{"one"}, []string{"one", "two"}
			assert.Equal(t, old, b.groups(1), "a client that goes on")
			for c := range pmda.Client(4) {
				assert.Equal(t, old, b.list(c))
			}
			b.pass(500 * ms)
			row.more(b)
			assert.Equal(t, all, b.list(5), "no list is kept")

			assert.Equal(t, old, b.groups(0))
			assert.Equal(t, all, b.groups(0), "the second fetch")
			assert.Equal(t, all, b.groups(1))
			assert.Equal(t, all, b.list(2))
			assert.Equal(t, old, b.groups(2), "the first list counts")
			b.pass(freshness.AlwaysServed + 1)
			b.store("one", "two")
			assert.Equal(t, all, b.groups(3), "the list is too old")
			assert.Equal(t, all, b.groups(4))

			b.agent.EndContext(5)
			assert.Empty(t, b.agent.groupListings)
			bytes := b.agent.contexts.sampleBytes
			b.list(6)
			b.agent.Before(7, pdu.KindFetch, b.now.Add(freshness.LookupTime+1))
			assert.Empty(t, b.agent.groupListings)
			assert.Equal(t, bytes, b.agent.contexts.sampleBytes)
		})
	}
}

// A list has the groups of new instances, although their rates come later.
func TestListHasGroupsWithoutRates(t *testing.T) {
	b := newBench(t, conf())
	b.site.catalog["up.text"] = pdu.Desc{PMID: binTextID, Type: pdu.TypeString, InDom: binDom, Sem: pdu.SemInstant}
	b.serve(conf("g = sum(rate(instant(up.bin)) + rate(delta(instant(up.bin)))) by (up.text)"))
	var values []string
	for _, texts := range [][]string{{"one"}, {"one"}, {"one"}, {"one", "two"}} {
		b.pass(time.Second)
		b.store(texts...)
		values = b.groups(1)
	}
	assert.Equal(t, []string{"one"}, values)
	assert.Equal(t, []string{"one", "two"}, b.list(2))
	for range 2 {
		b.pass(time.Second)
		b.store("one", "two")
		values = b.groups(1)
	}
	assert.Equal(t, []string{"one", "two"}, values)
}
