package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/await"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// site1 is a configuration with one metric of each kind.
func site1() served.Config {
	return conf("load.percent = up.load * 100", "bins = up.bin + up.bin", "who = up.name", "texts = up.text",
		"sum = sum(up.bin)", "missing = nosuch + 1", "wrong = -up.name", "answer = 42", "speed = rate(up.count)",
		"secret = sum(proc.io)", `even = matchinst(/^t/, up.bin)`, "two = up.bin[two]")
}

// noUpstream makes all attempts to connect fail.
func noUpstream(o *Options) {
	o.Dial = func(context.Context, ...pmapi.Option) (*pmapi.Conn, error) { return nil, errors.New("no pmcd") }
}

func protectProc(o *Options) { o.Protected = []string{"proc"} }

func TestAgentServesDerivedMetrics(t *testing.T) {
	h := start(t, newCollector(t), site1()).bound()
	for _, row := range []struct {
		name string
		want string // instance:value …
	}{
		{"load.percent", "-1:50"},
		{"bins", "1:20 2:-40 3:60"},
		{"who", "-1:moss"},
		{"texts", "1:a 2:b 3:c"},
		{"sum", "-1:20"},
		{"answer", "-1:42"},
		{"even", "2:-20 3:30"},
		{"two", "2:-20"},
	} {
		t.Run(row.name, func(t *testing.T) {
			id := h.id("derived." + row.name)
			desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: id})).Desc
			var got []string
			for _, v := range h.value(id) {
				text := string(v.Bytes)
				if desc.Type.Numeric() {
					text = fmt.Sprint(desc.Type.Float64(v.Bits))
				}
				got = append(got, fmt.Sprintf("%d:%s", v.Inst, text))
			}
			assert.Equal(t, row.want, strings.Join(got, " "))
		})
	}
}

func TestDescriptors(t *testing.T) {
	h := start(t, newCollector(t), site1()).bound()
	for _, row := range []struct {
		name string
		want pdu.Desc
	}{
		{"bins", pdu.Desc{Type: pdu.Type32, InDom: binDom, Sem: pdu.SemInstant}},
		{"who", pdu.Desc{Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}},
		{"speed", pdu.Desc{
			Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant,
			Units: pdu.Units{Count: 1, Time: -1, TimeScale: pdu.TimeSec},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.PMID = h.id("derived." + row.name)
			assert.Equal(
				t, row.want, pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: row.want.PMID})).Desc,
			)
		})
	}
	for _, m := range control.Table(h.agent.controlSource()) {
		id := h.id(m.FullName())
		desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: id})).Desc
		assert.Equal(t, m.Desc(testDomain), desc)
	}
	assert.Equal(t, pdu.ErrBadDerive, h.pmcd.Refused(&pdu.DescReq{PMID: h.unnamed("derived.missing")}))
	assert.Equal(t, pdu.ErrBadDerive, h.pmcd.Refused(&pdu.DescReq{PMID: h.unnamed("derived.wrong")}))
	for _, id := range []pdu.PMID{
		pdu.NewPMID(testDomain, 0, 1023), pdu.NewPMID(testDomain, 9, 0), pdu.NewPMID(60, 0, 0),
	} {
		assert.Equal(t, pdu.ErrPMID, h.pmcd.Refused(&pdu.DescReq{PMID: id}), id)
	}
}

func TestNameSpace(t *testing.T) {
	h := start(t, newCollector(t), site1()).bound()
	names := func(m pdu.Message) []string {
		return pmdatest.As[*pdu.PMNSNames](h.pmcd, h.pmcd.Request(m)).Names
	}
	all := names(&pdu.PMNSTraverse{Name: "derived"})
	assert.Len(t, all, len(control.Entries(testDomain))+10)
	assert.Contains(t, all, "derived.load.percent")
	assert.NotContains(t, all, "derived.missing")
	assert.NotContains(t, all, "derived.wrong")
	assert.Equal(t, []string{"derived.load.percent"}, names(&pdu.PMNSTraverse{Name: "derived.load"}))
	assert.Equal(t, []string{"percent"}, names(&pdu.PMNSChild{Name: "derived.load"}))
	assert.Contains(t, names(&pdu.PMNSChild{Name: "derived", WithStatus: true}), "control")
	assert.Empty(t, names(&pdu.PMNSChild{Name: "derived.who"}))
	assert.Equal(t, []string{"derived.who"}, names(&pdu.PMNSIDs{PMIDs: []pdu.PMID{h.id("derived.who")}}))

	assert.Equal(t, pdu.ErrNonLeaf, h.pmcd.Refused(&pdu.PMNSNames{Names: []string{"derived"}}))
	assert.Equal(t, pdu.ErrNonLeaf, h.pmcd.Refused(&pdu.PMNSNames{Names: []string{"derived.load"}}))
	for _, name := range []string{"derived.nosuch", "derived.missing", "derived.wrong"} {
		assert.Equal(t, pdu.ErrName, h.pmcd.Refused(&pdu.PMNSNames{Names: []string{name}}), name)
	}
	assert.Equal(t, pdu.ErrName, h.pmcd.Refused(&pdu.PMNSTraverse{Name: "derived.nosuch"}))
	assert.Equal(t, pdu.ErrName, h.pmcd.Refused(&pdu.PMNSChild{Name: "derived.nosuch"}))
	assert.Equal(t, pdu.ErrPMID, h.pmcd.Refused(&pdu.PMNSIDs{PMIDs: []pdu.PMID{pdu.NewPMID(testDomain, 9, 9)}}))
}

func TestTexts(t *testing.T) {
	c := conf("plain = up.load  ", "short = up.load", "long = up.load", "both = up.load",
		"pattern = matchinst(/t\\.\t\xffo$/, up.bin)")
	one, more := "the load", "All about the load."
	c.Definitions[1].OneLine = &one
	c.Definitions[2].Help = &more
	c.Definitions[3].OneLine, c.Definitions[3].Help = &one, &more
	h := start(t, newCollector(t), c).bound()
	text := func(ident uint32, typ pdu.TextType) string {
		return pmdatest.As[*pdu.Text](h.pmcd, h.pmcd.Request(&pdu.TextReq{Ident: ident, Type: typ})).Text
	}
	for _, row := range []struct{ name, oneLine, help string }{
		{"plain", "plain = up.load", "plain = up.load\n\nDefined in test.conf, line 1."},
		{"short", "the load", "the load\n\nshort = up.load\n\nDefined in test.conf, line 2."},
		{"long", "long = up.load", "All about the load."},
		{"both", "the load", "All about the load."},
		{
			"pattern", "pattern = matchinst(/t<backslash>. ?o$/, up.bin)", // what pmproxy writes for Prometheus as it is
			"pattern = matchinst(/t<backslash>. ?o$/, up.bin)\n\nDefined in test.conf, line 5.",
		},
		{"control.version", "version of the agent", "version of the agent"},
	} {
		id := uint32(h.id("derived." + row.name))
		assert.Equal(t, row.oneLine, text(id, pdu.TextPMID|pdu.TextOneLine))
		assert.Equal(t, row.help, text(id, pdu.TextPMID|pdu.TextHelp))
	}
	assert.NotEqual(t, text(uint32(h.id("derived.control.reload")), pdu.TextPMID|pdu.TextOneLine),
		text(uint32(h.id("derived.control.reload")), pdu.TextPMID|pdu.TextHelp))
	own := uint32(pdu.NewInDom(testDomain, 0))
	assert.NotEmpty(t, text(own, pdu.TextInDom|pdu.TextOneLine))
	assert.NotEmpty(t, text(own, pdu.TextInDom|pdu.TextHelp))
	assert.Equal(t, pdu.ErrText, h.pmcd.Refused(&pdu.TextReq{Ident: uint32(binDom), Type: pdu.TextInDom | pdu.TextHelp}))
	assert.Equal(
		t, pdu.ErrPMID,
		h.pmcd.Refused(&pdu.TextReq{Ident: uint32(pdu.NewPMID(testDomain, 9, 9)), Type: pdu.TextPMID | pdu.TextHelp}),
	)
}

func TestInstances(t *testing.T) {
	h := start(t, newCollector(t), conf("a = up.load", "b = nosuch")).bound()
	reply := pmdatest.As[*pdu.InstanceReply](
		h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 0), Inst: pdu.NoInst}),
	)
	assert.Equal(t, []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}}, reply.Instances)
	assert.Equal(
		t, pdu.ErrInDom, h.pmcd.Refused(&pdu.InstanceReq{InDom: binDom, Inst: pdu.NoInst}), "its owner's business",
	)
}

func TestControlMetrics(t *testing.T) {
	h := start(t, newCollector(t), site1()).bound()
	await.Until(t, "connected, which is told once all is bound", h.agent.figures.Connected.Load)
	h.value(h.id("derived.load.percent"))
	h.pmcd.Client = 7
	h.fetch(h.id("derived.load.percent"))
	number := func(name string) float64 {
		id := h.id("derived.control." + name)
		v := require1(t, h.fetch(id)[0].Values)
		desc, _ := h.agent.control.Desc(id)
		return desc.Type.Float64(v.Bits)
	}
	for name, want := range map[string]float64{
		"definitions": 12, "bound": 10, "failed": 1, "reload": 0, "upstream.connected": 1, "upstream.errors": 0,
		"contexts_dropped": 0, "upstream.slow_agents": 0,
	} {
		assert.InDelta(t, want, number(name), 0, name)
	}
	for _, name := range []string{
		"requests", "request_longest", "values", "contexts", "upstream.fetches", "upstream.metrics", "upstream.busy",
	} {
		assert.Positive(t, number(name), name)
	}
	assert.GreaterOrEqual(t, number("sample.stale"), 0.0)
	for _, name := range []string{"request_time", "sample.age"} {
		values := h.fetch(h.id("derived.control." + name))[0].Values
		require.Len(t, values, len(control.Buckets{}), name)
		total := uint64(0)
		for _, v := range values {
			total += v.Bits
		}
		assert.Positive(t, total, name)
	}
	assert.Equal(t, "1.2.3", string(h.fetch(h.id("derived.control.version"))[0].Values[0].Bytes))

	each := func(name string) map[string]string {
		texts := map[string]string{}
		own, _ := h.agent.control.Instances(pdu.NewInDom(testDomain, 0))
		for _, v := range h.fetch(h.id("derived.control.definition." + name))[0].Values {
			i := slices.IndexFunc(own, func(in pdu.Instance) bool { return in.ID == v.Inst })
			texts[own[i].Name] = string(v.Bytes)
		}
		return texts
	}
	assert.Equal(t, "bound", each("state")["who"])
	assert.Equal(t, "unbound", each("state")["missing"])
	assert.Equal(t, "failed", each("state")["wrong"])
	assert.Len(t, each("state"), 12)
	assert.Empty(t, each("error")["who"])
	assert.Contains(t, each("error")["wrong"], "Semantic error: derived metric wrong")
	assert.Equal(t, "-up.name", each("expression")["wrong"])
	assert.Equal(t, h.id("derived.who").String(), each("pmid")["who"])
	assert.Contains(t, each("age"), "load.percent")
	assert.NotContains(t, each("age"), "missing", "it has no sample")
	assert.Contains(t, each("evaluated"), "load.percent")
	assert.Contains(t, each("values"), "load.percent")
	assert.NotContains(t, each("values"), "who", "nobody has fetched it")
}

func TestProfiles(t *testing.T) {
	h := start(t, newCollector(t), conf("bins = up.bin + up.bin", "texts = up.text", "sum = sum(up.bin)")).bound()
	bins, texts, sum := h.id("derived.bins"), h.id("derived.texts"), h.id("derived.sum")
	h.value(bins)
	h.value(texts)
	h.value(sum)
	state := h.id("derived.control.definition.state")
	for _, row := range []struct {
		name    string
		profile pdu.Profile
		insts   []pdu.Inst
		states  int
	}{
		{"all", pdu.Profile{}, []pdu.Inst{1, 2, 3}, 3},
		{
			"some",
			pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: binDom, State: pdu.Exclude, Insts: []pdu.Inst{3, 1}}}},
			[]pdu.Inst{1, 3},
			3,
		},
		{
			"all but one",
			pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: binDom, State: pdu.Include, Insts: []pdu.Inst{2}}}},
			[]pdu.Inst{1, 3},
			3,
		},
		{"none", pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: binDom, State: pdu.Exclude}}}, nil, 3},
		{"nothing anywhere", pdu.Profile{Default: pdu.Exclude}, nil, 0},
		{"our own", pdu.Profile{Default: pdu.Exclude, InDoms: []pdu.ProfileInDom{
			{InDom: pdu.NewInDom(testDomain, 0), State: pdu.Exclude, Insts: []pdu.Inst{1}},
		}}, nil, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.pmcd.Send(&row.profile, int32(h.pmcd.Client))
			sets := h.fetch(bins, texts, sum, state)
			for _, set := range sets[:2] {
				var insts []pdu.Inst
				for _, v := range set.Values {
					insts = append(insts, v.Inst)
				}
				assert.Equal(t, row.insts, insts)
				assert.Zero(t, set.Code)
			}
			assert.EqualValues(t, 20, require1(t, sets[2].Values).Bits, "aggregates are over all instances")
			assert.Len(t, sets[3].Values, row.states)
		})
	}
}

func TestStores(t *testing.T) {
	const owner = 4321
	h := start(t, newCollector(t), conf("a = up.load"), func(o *Options) { o.StoreUser = owner }).bound()
	reload := h.id("derived.control.reload")
	value := []pdu.Value{pdu.Uint32Value(pdu.NoInst, 1)}
	store := func(id pdu.PMID, values ...pdu.Value) pdu.Code {
		return h.pmcd.Refused(&pdu.Result{Sets: []pdu.ValueSet{{PMID: id, Values: values}}})
	}
	for i, row := range []struct {
		name string
		uid  string // "": the client has none
		id   pdu.PMID
		with []pdu.Value
		code pdu.Code
	}{
		{"root", "0", reload, value, 0},
		{"the user who started the agent", strconv.Itoa(owner), reload, value, 0},
		{"a text", "0", reload, []pdu.Value{pdu.StringValue(pdu.NoInst, "now")}, 0},
		{"somebody else", "54321", reload, value, pdu.ErrPermission},
		{"nobody in particular", "", reload, value, pdu.ErrPermission},
		{"nonsense for a user", "root", reload, value, pdu.ErrPermission},
		{"negative user", "-1", reload, value, pdu.ErrPermission},
		{"another control", "0", h.id("derived.control.bound"), value, pdu.ErrPermission},
		{"a derived metric", "0", h.id("derived.a"), value, pdu.ErrPermission},
		{"no metric of ours", "0", pdu.NewPMID(testDomain, 9, 9), value, pdu.ErrPMID},
		{"another agent's metric", "0", pdu.NewPMID(60, control.Cluster, control.Reload), value, pdu.ErrPMID},
		{"no value", "0", reload, nil, pdu.ErrBadStore},
		{"two values", "0", reload, append(value, value...), pdu.ErrBadStore},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.pmcd.Client = pmda.Client(i)
			if row.uid != "" {
				h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: row.uid}, int32(i))
				h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrProcessID, Value: "0"}, int32(i))
			}
			before := h.agent.figures.Reloads.Load()
			assert.Equal(t, row.code, store(row.id, row.with...))
			if row.code == 0 {
				await.Until(t, "reload", func() bool { return h.agent.figures.Reloads.Load() == before+1 })
			}
		})
	}
	h.pmcd.Client = 0 // root
	h.pmcd.EndContext(0)
	assert.Equal(t, pdu.ErrPermission, store(reload, value...), "rights end with the client")
	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "0"}, 0)
	before := h.agent.figures.Reloads.Load()
	assert.Zero(t, h.pmcd.Refused(&pdu.Result{}))
	assert.Equal(t, before, h.agent.figures.Reloads.Load(), "nothing was stored")
}

// A client that may store may also have debug messages logged.
func TestDebugIsStored(t *testing.T) {
	var debug []bool
	h := start(
		t, nil, conf("c = 1"), noUpstream, func(o *Options) { o.Debug = func(on bool) { debug = append(debug, on) } },
	)
	id := h.id("derived.control.debug")
	store := func(v uint32) pdu.Code {
		return h.pmcd.Refused(
			&pdu.Result{Sets: []pdu.ValueSet{{PMID: id, Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, v)}}}},
		)
	}
	assert.Equal(t, pdu.ErrPermission, store(1), "nobody knows who that is")
	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "0"}, 0)
	assert.Equal(t, pdu.ErrBadStore, store(2))
	for _, v := range []uint32{1, 0} {
		assert.Zero(t, store(v))
		assert.EqualValues(t, v, h.fetch(id)[0].Values[0].Bits)
	}
	assert.Equal(t, []bool{true, false}, debug)
}

// A metric has a label with the file that defines it, and the labels of its definition. A change is announced.
func TestLabels(t *testing.T) {
	h := start(t, newCollector(t), confFile("/etc/one.conf", "a = up.load", "b = up.load")).bound()
	a := h.id("derived.a")
	labels := func(ident uint32, kind pdu.LabelType) []pdu.LabelSet {
		return labelSets(h, ident, kind)
	}
	set := require1(t, labels(uint32(a), pdu.LabelItem))
	assert.JSONEq(t, `{"derived_file":"/etc/one.conf"}`, set.JSON)
	assert.Equal(t, pdu.LabelFlags(pdu.LabelItem)|pdu.LabelOptional, set.Labels[0].Flags,
		"it does not identify the metric")
	assert.JSONEq(t, `{"agent":"derived"}`, require1(t, labels(testDomain, pdu.LabelDomain)).JSON)
	for _, kind := range []pdu.LabelType{pdu.LabelCluster, pdu.LabelInDom, pdu.LabelInstances} {
		assert.Empty(t, labels(uint32(a), kind))
	}
	assert.Empty(t, labels(uint32(h.id("derived.control.reload")), pdu.LabelItem))

	await.Until(t, "what the first look-up of operands has changed", func() bool { return h.agent.changes.Load() != 0 })
	h.fetch(a) // takes it along
	h.reload(confFile("/etc/one.conf", "a = up.load", "b = 2 * up.load"))
	assert.Zero(t, pdu.Change(h.agent.changes.Load())&pdu.ChangeLabels, "nothing that clients know has changed")
	h.reload(served.Config{
		Definitions: append(confFile("/etc/two.conf", "a = up.load").Definitions, conf("b = up.load").Definitions...),
	})
	assert.JSONEq(t, `{"derived_file":"/etc/two.conf"}`, require1(t, labels(uint32(a), pdu.LabelItem)).JSON)
	assert.Equal(t, a, h.id("derived.a"))
	announced := func() pdu.Change { // the names of the start are announced again, at some time
		r := pmdatest.As[*pdu.Result](h.pmcd, h.pmcd.Request(&pdu.Fetch{PMIDs: []pdu.PMID{a}}))
		return pdu.Change(r.Sec) & pdu.ChangeLabels
	}
	assert.Equal(t, pdu.ChangeLabels, announced())

	// Labels of the definition are served beside the agent's, or in their place. A change is announced, once.
	own := confFile("/etc/two.conf", "a = up.load", "b = up.load")
	serve := func(labels string, secret bool) pdu.LabelSet {
		c := own
		c.Definitions = slices.Clone(own.Definitions)
		c.Definitions[0].Labels, c.Definitions[0].Secret = &labels, secret
		h.reload(c)
		return require1(t, labelSets(h, uint32(a), pdu.LabelItem))
	}
	set = serve(`{"team":"d\"b","tier":1.50,"tuned":null}`, false)
	assert.Equal(t, `{"derived_file":"/etc/two.conf","team":"d\"b","tier":1.50,"tuned":null}`, set.JSON)
	assert.Equal(t, []pdu.LabelFlags{
		pdu.LabelFlags(pdu.LabelItem) | pdu.LabelOptional, pdu.LabelFlags(pdu.LabelItem),
		pdu.LabelFlags(pdu.LabelItem), pdu.LabelFlags(pdu.LabelItem),
	}, []pdu.LabelFlags{set.Labels[0].Flags, set.Labels[1].Flags, set.Labels[2].Flags, set.Labels[3].Flags})
	assert.Equal(t, pdu.ChangeLabels, announced())
	serve(`{"team":"d\"b","tier":1.50,"tuned":null}`, false)
	assert.Zero(t, announced())
	assert.Equal(t, `{"derived_file":"mine"}`, serve(`{"derived_file":"mine"}`, false).JSON)
	assert.Equal(t, pdu.ChangeLabels, announced())
	assert.Equal(t, `{"derived_file":"/etc/two.conf"}`, serve(`{"team":"db"}`, true).JSON, "not everyone can read the file")
	assert.Equal(t, pdu.ChangeLabels, announced())
	assert.JSONEq(t, `{"derived_file":"/etc/two.conf"}`, require1(t, labels(uint32(h.id("derived.b")), pdu.LabelItem)).JSON)
}

func labelSets(h *harness, ident uint32, kind pdu.LabelType) []pdu.LabelSet {
	h.tb.Helper()
	return pmdatest.As[*pdu.Labels](h.pmcd, h.pmcd.Request(&pdu.LabelReq{Ident: ident, Type: kind})).Sets
}

// derived.control.file has the state of each file.
func TestFileStatus(t *testing.T) {
	good := served.File{Path: "/etc/a.conf", Definitions: 2}
	bad := served.File{Path: "/etc/b.conf", Definitions: 1, Failed: 1}
	gone := served.File{Path: "/etc/c.conf", Error: "open /etc/c.conf: permission denied"}
	c := confFile(good.Path, "a = up.load", "b = no.such")
	c.Files = []served.File{good, bad, gone}
	h := start(t, newCollector(t), c).bound()
	dom := pdu.NewInDom(testDomain, 2)
	reply := pmdatest.As[*pdu.InstanceReply](h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: dom, Inst: pdu.NoInst}))
	require.Len(t, reply.Instances, 3)
	assert.Equal(
		t, []string{good.Path, bad.Path, gone.Path},
		[]string{reply.Instances[0].Name, reply.Instances[1].Name, reply.Instances[2].Name},
	)
	goneInst := reply.Instances[2].ID
	values := func(name string) (all []any) {
		for _, v := range h.fetch(h.id("derived.control.file." + name))[0].Values {
			if v.Type.Numeric() || v.Bytes == nil {
				all = append(all, v.Bits)
			} else {
				all = append(all, string(v.Bytes))
			}
		}
		return all
	}
	assert.Equal(t, []any{"read", "failed", "unread"}, values("state"))
	assert.Equal(t, []any{"", "", gone.Error}, values("error"))
	assert.Equal(t, []any{uint64(2), uint64(1), uint64(0)}, values("definitions"))
	assert.Equal(t, []any{uint64(1), uint64(0), uint64(0)}, values("bound"))
	c.Files = []served.File{gone, {Path: "/etc/new.conf"}}
	h.reload(c)
	reply = pmdatest.As[*pdu.InstanceReply](h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: dom, Inst: pdu.NoInst}))
	require.Len(t, reply.Instances, 2)
	assert.Equal(t, pdu.Instance{ID: goneInst, Name: gone.Path}, reply.Instances[0], "a number stays a file's")
}

func TestProtectedMetrics(t *testing.T) {
	h := start(
		t, newCollector(t), conf("io = proc.io", "total = sum(proc.io)", "hidden = derived.total", "open = up.count"),
		protectProc,
	).bound()
	ids := []pdu.PMID{h.id("derived.io"), h.id("derived.total"), h.id("derived.hidden"), h.id("derived.open")}
	h.pmcd.Client = 4
	h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrUserID, Value: "1000"}, 4)
	for _, id := range ids {
		h.value(id)
	}
	h.pmcd.Client = 5 // by TCP, so nobody knows who
	sets := h.fetch(ids...)
	for _, set := range sets[:3] {
		assert.Equal(t, pdu.ErrPermission, set.Code)
	}
	assert.Zero(t, sets[3].Code)
	h.pmcd.EndContext(4)
	h.pmcd.Client = 4
	assert.Equal(t, pdu.ErrPermission, h.fetch(ids[0])[0].Code, "the next client with the number is somebody else")
}

// A protected name that protects nothing is logged once, and is protected when something has it.
func TestProtectedNamesThatProtectNothing(t *testing.T) {
	u := newCollector(t)
	names := []string{"proc", "hotproc", "up", "up.count", "open", "no.such", "derived.app", "derived.control", "derivedopen"}
	h := start(t, u, conf("open = up.count"), func(o *Options) { o.Protected = names }).bound()
	logged := func() (names []any) {
		for _, e := range h.log.AllEntries() {
			if e.Message == "protected name protects nothing at present" {
				names = append(names, e.Data["name"])
			}
		}
		return names
	}
	want := []any{"no.such", "derived.app", "derived.control", "derivedopen"}
	await.Until(t, "warnings", func() bool { return len(logged()) == len(want) })
	assert.Equal(t, want, logged())
	h.reload(conf("open = up.count", "app.key = 42"))
	h.reload(conf("open = up.count", "app.key = 43"))
	assert.Equal(t, want, logged(), "each once")
	assert.Equal(t, pdu.ErrPermission, h.fetch(h.id("derived.app.key"))[0].Code)
	h.reload(conf("open = up.count"))
	assert.Equal(t, append(want, "derived.app"), logged(), "the definition has gone")
}

// The samples are of the host: a client gets none of their values and groups while it asks for a container.
func TestClientsOfContainers(t *testing.T) {
	h := start(t, newCollector(t), conf(
		"a = up.count", "g = sum(up.bin) by (up.text)", `w = max_sample(up.bin, "1s")`, "last = max_sample(up.bin)",
		"constant = 1",
	)).bound()
	var ids []pdu.PMID
	for _, name := range []string{"a", "g", "w", "last", "constant"} {
		ids = append(ids, h.id("derived."+name))
	}
	h.value(ids[0])
	a := h.value(ids[1])[0].Inst
	container := func(name string) {
		h.pmcd.Send(&pdu.Attr{Attr: pdu.AttrContainer, Value: name, NUL: true}, int32(h.pmcd.Client))
	}
	container("box")
	for i, set := range h.fetch(ids...) {
		assert.Equal(t, pdu.ErrNoContainer, set.Code, "%d", i)
	}
	for _, req := range []pdu.Message{
		&pdu.InstanceReq{InDom: groupDom, Inst: pdu.NoInst}, &pdu.InstanceReq{InDom: groupDom, Inst: a},
		&pdu.LabelReq{Ident: uint32(groupDom), Type: pdu.LabelInstances},
	} {
		assert.Equal(t, pdu.ErrNoContainer, h.pmcd.Refused(req), "%T", req)
	}
	assert.NotEmpty(t, h.value(control.PMID(testDomain, control.Reload)), "of the agent itself")
	container("")
	h.value(ids[0])
	assert.NotEmpty(t, h.indom(groupDom))
}

// Changes of the name space are announced to all clients of pmcd, without a request.
func TestChangedNamesAreAnnounced(t *testing.T) {
	u := newCollector(t)
	own := control.PMID(testDomain, control.Reload)
	asked := make(chan struct{}, 100)
	u.OnRequest(func(_ int, f pdu.Frame) bool {
		var fetch pdu.HighResFetch
		if f.Kind == pdu.KindHighResFetch && fetch.Decode(f.Body) == nil && slices.Equal(fetch.PMIDs, []pdu.PMID{own}) {
			asked <- struct{}{}
		}
		return true
	})
	h := start(t, u, conf("a = up.load")).bound()
	forwarded := func() *pdu.Result {
		<-asked // pmcd forwards the fetch to the agent
		r := pmdatest.As[*pdu.Result](h.pmcd, h.pmcd.Request(&pdu.Fetch{PMIDs: []pdu.PMID{own}}))
		u.Announce(pdu.Change(r.Sec))
		return r
	}
	await.Until(t, "first announcement", func() bool { return forwarded().Sec == int32(pdu.ChangeNames) })
	h.reload(conf("a = up.load", "b = up.count"))
	await.Until(t, "second announcement", func() bool { return forwarded().Sec == int32(pdu.ChangeNames) })
}

// A change that pmcd does not come to fetch is announced again, after pauses of a wait.Backoff.
func TestAnnouncementsAreRepeated(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf("a = up.load")).bound() // nobody forwards anything
	u.Forget()
	await.Until(t, "two announcements", func() bool { return len(u.Fetched()) >= 2 })
	assert.Equal(t, uint32(pdu.ChangeNames), h.agent.changes.Load(), "the next fetch will carry it")
}

func TestReload(t *testing.T) {
	h := start(t, newCollector(t), conf("a = up.load", "b = up.count")).bound()
	a, b := h.id("derived.a"), h.id("derived.b")
	h.value(a)
	h.reload(conf("a = up.load * 4", "b = up.count +", "c = up.bin"))
	assert.Equal(t, a, h.id("derived.a"))
	assert.InDelta(t, 2, pdu.TypeDouble.Float64(require1(t, h.value(a)).Bits), 0)
	assert.EqualValues(t, 100, require1(t, h.value(b)).Bits, "the last good one")
	assert.Len(t, h.value(h.id("derived.c")), 3)
	await.Until(t, "the message", func() bool { return h.logged("configuration read again") != nil })
	h.reload(conf())
	assert.Equal(t, pdu.ErrPMID, h.fetch(a)[0].Code)
	assert.Equal(t, pdu.ErrName, h.pmcd.Refused(&pdu.PMNSNames{Names: []string{"derived.a"}}))
}

// A changed descriptor makes another metric; the old one stays known and has no values.
func TestReloadThatChangesADescriptor(t *testing.T) {
	h := start(t, newCollector(t), conf("a = up.load")).bound()
	old := h.id("derived.a")
	h.reload(conf("a = up.name"))
	assert.NotEqual(t, old, h.id("derived.a"))
	assert.Equal(t, pdu.TypeDouble, pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: old})).Desc.Type)
	set := h.fetch(old)[0]
	assert.Zero(t, set.Code)
	assert.Empty(t, set.Values)
	assert.Equal(t, pdu.ErrPMID, h.pmcd.Refused(&pdu.PMNSIDs{PMIDs: []pdu.PMID{old}}))
}

// Operands that appear are found when pmcd says so, or when somebody asks.
func TestOperandsThatAppear(t *testing.T) {
	t.Parallel()
	u := newCollector(t)
	h := start(t, u, conf("late = up.later", "a = up.load")).bound()
	late := h.unnamed("derived.late")
	assert.Equal(t, pdu.ErrBadDerive, h.fetch(late)[0].Code)
	u.Update(func() { u.Metrics = append(u.Metrics, laterMetric()) })
	u.Announce(pdu.ChangeAddAgent | pdu.ChangeNames)
	h.id("derived.a") // makes us fetch, and so hear of it
	await.Until(t, "bound", func() bool { return h.agent.snapshot.Load().Bound == 2 })
	assert.EqualValues(t, 5, require1(t, h.value(late)).Bits)
	assert.Equal(t, late, h.id("derived.late"))
}

// A name that waits for its operand is unknown, and asking for it has the operand looked up.
func TestNameIsLookedUpForWhoAsks(t *testing.T) {
	for kind, request := range map[string]pdu.Message{
		"look-up": &pdu.PMNSNames{Names: []string{"derived.late"}}, "traversal": &pdu.PMNSTraverse{Name: "derived.late"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			u := newCollector(t)
			h := start(t, u, conf("late = up.later")).bound()
			assert.Equal(t, pdu.ErrName, h.pmcd.Refused(request))
			u.Update(func() { u.Metrics = append(u.Metrics, laterMetric()) })
			await.Until(t, "the name", func() bool {
				_, refused := h.pmcd.Request(request).(*pdu.Error)
				return !refused
			})
		})
	}
}

// laterMetric returns the metric up.later.
func laterMetric() pmapitest.Metric {
	return pmapitest.Metric{
		Name:   "up.later",
		Desc:   pdu.Desc{PMID: pdu.NewPMID(60, 0, 9), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 5)},
	}
}

// Instances that appear have names a moment later.
func TestInstancesThatAppear(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf(`t = matchinst(/^t/, up.bin)`)).bound()
	id := h.id("derived.t")
	assert.Len(t, h.value(id), 2)
	u.Update(func() {
		u.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{
			{ID: 2, Name: "two"}, {ID: 10, Name: "ten"}, {ID: 11, Name: "eleven"}, {ID: 12, Name: "twelve and more"},
		}}
	})
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{
		binID: {pdu.Int32Value(2, 1), pdu.Int32Value(10, 1), pdu.Int32Value(11, 1), pdu.Int32Value(12, 1)},
	})
	await.Until(t, "new instances with names", func() bool {
		h.id("derived.t")
		var insts []pdu.Inst
		for _, v := range h.fetch(id)[0].Values {
			insts = append(insts, v.Inst)
		}
		return slices.Equal(insts, []pdu.Inst{2, 10, 12})
	})
}

// everything asks one request of each kind; answers are checked by pmdatest, and must come at once.
func (h *harness) everything() {
	h.tb.Helper()
	ids := []pdu.PMID{
		pdu.NewPMID(testDomain, 0, 0), pdu.NewPMID(testDomain, 1, 0), pdu.NewPMID(testDomain, 1, 1),
		pdu.NewPMID(testDomain, 9, 9),
	}
	for _, m := range []pdu.Message{
		&pdu.PMNSTraverse{Name: "derived"},
		&pdu.PMNSChild{Name: "derived", WithStatus: true},
		&pdu.PMNSNames{Names: []string{"derived.load.percent"}},
		&pdu.PMNSNames{Names: []string{"derived.missing"}},
		&pdu.PMNSIDs{PMIDs: []pdu.PMID{ids[1]}},
		&pdu.DescReq{PMID: ids[1]},
		&pdu.TextReq{Ident: uint32(ids[1]), Type: pdu.TextPMID | pdu.TextHelp},
		&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 0), Inst: pdu.NoInst},
		&pdu.LabelReq{Ident: uint32(ids[1]), Type: pdu.LabelItem},
		&pdu.Fetch{PMIDs: ids},
		&pdu.Fetch{PMIDs: ids, Context: 1},
		&pdu.Fetch{PMIDs: []pdu.PMID{
			pdu.NewPMID(testDomain, 0, 20), pdu.NewPMID(testDomain, 0, 21), pdu.NewPMID(testDomain, 0, 24),
		}},
		&pdu.Result{Sets: []pdu.ValueSet{{PMID: ids[1], Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 1)}}}},
	} {
		asked := time.Now()
		h.pmcd.Request(m)
		took := time.Since(asked)
		require.Less(h.tb, took, atOnce, "reply to %s", m.Kind())
	}
}

// atOnce is far less than pmcd's 5 s and far more than a reply takes on a busy machine.
const atOnce = 3 * time.Second

// Whatever happens to the pmcd that we sample, the pmcd that asks us is answered at once.
func TestRequestsNeverWaitForUpstream(t *testing.T) {
	stall := func(t *testing.T, kinds ...pdu.Kind) func(int, pdu.Frame) bool {
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		return func(_ int, f pdu.Frame) bool {
			if slices.Contains(kinds, f.Kind) {
				<-never
			}
			return true
		}
	}
	for _, row := range []struct {
		name  string
		setup func(t *testing.T, u *collector)
		bound bool // the operands can be looked up all the same
		opts  func(*Options)
	}{
		{"absent", nil, false, noUpstream},
		{"no greeting", func(t *testing.T, u *collector) { u.OnReply(stall(t, pdu.KindError)) }, false, nil},
		{"no lookups", func(t *testing.T, u *collector) { u.OnRequest(stall(t, pdu.KindPMNSNames)) }, false, nil},
		{"no descriptors", func(t *testing.T, u *collector) { u.OnRequest(stall(t, pdu.KindDescIDs)) }, false, nil},
		{"no instances", func(t *testing.T, u *collector) { u.OnRequest(stall(t, pdu.KindInstanceReq)) }, false, nil},
		{"no values", func(t *testing.T, u *collector) { u.OnRequest(stall(t, pdu.KindHighResFetch)) }, true, nil},
		{"no results", func(t *testing.T, u *collector) { u.OnReply(stall(t, pdu.KindHighResResult)) }, true, nil},
		{"busy", func(_ *testing.T, u *collector) {
			u.OnRequest(func(_ int, f pdu.Frame) bool {
				<-time.After(20 * time.Millisecond)
				return true
			})
		}, true, nil},
		{"refuses", nil, false, func(o *Options) {
			o.Dial = func(context.Context, ...pmapi.Option) (*pmapi.Conn, error) {
				return nil, fmt.Errorf("connect: %w", pdu.ErrPermission)
			}
		}},
		{"hangs in dial", nil, false, func(o *Options) {
			o.Dial = func(ctx context.Context, _ ...pmapi.Option) (*pmapi.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newCollector(t)
			if row.setup != nil {
				row.setup(t, u)
			}
			opts := row.opts
			if opts == nil {
				opts = func(*Options) {}
			}
			h := start(t, u, site1(), opts)
			for range 5 {
				h.everything()
			}
			if row.bound {
				h.bound()
				for range 5 {
					h.everything()
				}
			}
			// The configuration can be read again all the same.
			if row.name != "no lookups" && row.name != "no descriptors" && row.name != "no instances" {
				h.reload(conf("load.percent = up.load", "x = up.load"))
			}
			h.everything()
			require.NoError(t, h.pmcd.Close())
			assert.Less(t, time.Duration(h.agent.figures.RequestTime.Longest()), atOnce)
			u.HangUp()
		})
	}
}

// The connection may break behind each of pmcd's replies; the agent finds its way back.
func TestUpstreamThatClosesAtEveryPoint(t *testing.T) {
	for cut := range 40 {
		t.Run(strconv.Itoa(cut), func(t *testing.T) {
			t.Parallel()
			u := newCollector(t)
			var left atomic.Int64
			left.Store(int64(cut))
			u.OnReply(func(int, pdu.Frame) bool {
				if left.Add(-1) == -1 {
					go u.HangUp()
					return false
				}
				return true
			})
			h := start(t, u, site1())
			for left.Load() >= 0 && !h.agent.snapshot.Load().LookedUp {
				h.everything()
			}
			await.Until(t, "the cut", func() bool {
				h.everything()
				return left.Load() < 0
			})
			h.bound()
			assert.InDelta(t, 50, pdu.TypeDouble.Float64(require1(t, h.value(h.id("derived.load.percent"))).Bits), 0)
			assert.Len(t, h.value(h.id("derived.even")), 2)
		})
	}
}

// A restarted agent knows its metrics before it has asked anybody.
func TestWarmStartOfTheAgent(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	withState := func(o *Options) { o.StateFile = state }
	u := newCollector(t)
	h := start(t, u, conf("a = up.load", "b = up.bin"), withState).bound()
	a, b := h.id("derived.a"), h.id("derived.b")
	desc := pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: b})).Desc

	h = start(t, u, conf("new = up.count", "b = up.bin", "a = up.load"), withState, noUpstream)
	assert.Equal(t, a, h.id("derived.a"))
	assert.Equal(t, b, h.id("derived.b"))
	assert.Equal(t, desc, pmdatest.As[*pdu.DescReply](h.pmcd, h.pmcd.Request(&pdu.DescReq{PMID: b})).Desc)
	assert.Equal(t, pdu.ErrAgain, h.fetch(b)[0].Code)
	assert.Contains(
		t, pmdatest.As[*pdu.PMNSNames](h.pmcd, h.pmcd.Request(&pdu.PMNSTraverse{Name: "derived"})).Names, "derived.b",
	)
	assert.NotContains(t, []pdu.PMID{a, b}, h.unnamed("derived.new"))
	assert.Equal(t, pdu.ErrName, h.pmcd.Refused(&pdu.PMNSNames{Names: []string{"derived.new"}}), "it never had a descriptor")
}

func TestDamagedStateIsLogged(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(state, []byte("x"), 0o600))
	h := start(t, newCollector(t), conf("a = up.load"), func(o *Options) { o.StateFile = state }).bound()
	entry := h.logged("cannot read the metric identifiers of earlier runs")
	require.NotNil(t, entry)
	h.value(h.id("derived.a"))
}

// Metrics with a history are sampled although nobody asks, so that even a first fetch has a rate.
func TestKeptWarm(t *testing.T) {
	u := newCollector(t)
	u.OnRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			u.Update(func() { u.Time = time.Now() })
		}
		return true
	})
	h := start(
		t, u, conf("speed = rate(up.count)", "a = up.load"), func(o *Options) { o.Interval = 10 * time.Millisecond },
	).bound()
	await.Until(t, "samples", func() bool { return len(u.Fetched()) > 5 })
	for _, ids := range u.Fetched() {
		assert.NotContains(t, ids, loadID, "it has no history")
	}
	id := h.id("derived.speed")
	assert.Len(t, h.fetch(id)[0].Values, 1)
}

// Nothing stays behind when an agent ends, in whatever state its upstream is.
func TestNothingLeaks(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	once := func(t *testing.T) {
		u := newCollector(t)
		h := start(t, u, site1()).bound()
		h.everything()
		h.value(h.id("derived.load.percent"))
		u.HangUp()
		h.everything()
		h = start(t, nil, site1(), noUpstream)
		h.everything()
	}
	t.Run("once", once) // opens what the runtime keeps
	for range 2 {
		runtime.GC() // it closes the timers of agents that never ran
	}
	goroutines, descriptors := runtime.NumGoroutine(), files()
	for range 5 {
		t.Run("again", once)
	}
	await.Until(t, "all gone", func() bool { return runtime.NumGoroutine() <= goroutines && files() <= descriptors })
}

// Requests, reloads and the loss of connections at the same time.
func TestEverythingAtOnce(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, site1(), protectProc).bound()
	done := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			c := site1()
			if i%2 == 0 {
				c = conf("load.percent = up.load", "speed = rate(up.count)", "fresh = up.bin")
			}
			h.config.Store(&c)
			h.agent.Reload()
			u.tick(time.Second, nil)
			switch i % 10 {
			case 3:
				u.Announce(pdu.ChangeNames | pdu.ChangeAddAgent)
			case 7:
				u.HangUp()
			}
		}
	})
	for i := range 50 {
		h.pmcd.Client = pmda.Client(i % 3)
		h.everything()
		if i%10 == 0 {
			h.pmcd.EndContext(h.pmcd.Client)
		}
	}
	close(done)
	others.Wait()
}

// The names of a domain are kept as long as an expression needs them.
func TestNamesThatAreNotNeededAnyMore(t *testing.T) {
	h := start(t, newCollector(t), conf(`t = matchinst(/^t/, up.bin)`)).bound()
	assert.True(t, h.agent.names.Has(binDom))
	h.reload(conf("t = up.bin"))
	h.reload(conf("t = up.bin")) // a fetch may have needed them at the first one
	assert.False(t, h.agent.names.Has(binDom))
}

// Names that could not be had are asked for again, although nothing announces them.
func TestNamesThatCannotBeHad(t *testing.T) {
	u := newCollector(t)
	bins := u.InDoms[binDom]
	delete(u.InDoms, binDom)
	h := start(
		t, u, conf(`t = matchinst(/^t/, up.bin)`), func(o *Options) { o.retryInterval = 5 * time.Millisecond },
	).bound()
	id := h.id("derived.t")
	assert.False(t, h.agent.names.Has(binDom))
	u.Update(func() { u.InDoms[binDom] = bins })
	await.Until(t, "names", func() bool { return h.agent.names.Has(binDom) })
	assert.Len(t, h.value(id), 2)
}

// Identities that cannot be written down are as soon as they can, without anybody asking.
func TestIdentitiesAreSavedLater(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "missing", "state")
	h := start(t, newCollector(t), conf("a = up.load"), func(o *Options) { o.StateFile = state }).bound()
	h.value(h.id("derived.a"))
	require.NoError(t, os.Mkdir(filepath.Dir(state), 0o755))
	await.Until(t, "identities saved", func() bool { _, err := os.Stat(state); return err == nil })
	text, err := os.ReadFile(state)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"a"`)
	complaints := 0
	for _, e := range h.log.AllEntries() {
		if strings.HasPrefix(e.Message, "cannot save metric identifiers") {
			complaints++
		}
	}
	assert.Equal(t, 1, complaints, "said once")
}
