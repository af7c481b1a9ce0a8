package pmapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

var (
	writeMe   = pdu.NewPMID(29, 0, 14)
	doubleOne = pdu.NewPMID(29, 0, 25)
	badMetric = pdu.NewPMID(29, 0, 54) // has a name, is not known to its agent
	noSupport = pdu.NewPMID(29, 0, 55)
	noValues  = pdu.NewPMID(29, 0, 138)
	tryAgain  = pdu.NewPMID(29, 0, 154)
	numAgents = pdu.NewPMID(2, 0, 2)
	secretOne = pdu.NewPMID(29, 0, 1001)
	whoAmI    = pdu.NewPMID(2, 6, 0)
)

// model is a collector that answers the questions of the behaviour tests like the real one.
func model(t testing.TB) *pmapitest.Collector {
	t.Helper()
	labels := func(level pdu.LabelType, inst pdu.Inst, m map[string]any) pdu.LabelSet {
		set, err := pdu.NewLabelSet(inst, level, m)
		require.NoError(t, err)
		return set
	}
	desc := func(id pdu.PMID, typ pdu.Type, indom pdu.InDom) pdu.Desc {
		return pdu.Desc{PMID: id, Type: typ, InDom: indom, Sem: pdu.SemInstant}
	}
	return &pmapitest.Collector{
		Time: time.Now(),
		Metrics: []pmapitest.Metric{
			{
				Name: "sample.long.one", Desc: desc(longOne, pdu.Type32, pdu.NoInDom),
				Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 1)}, ReadOnly: true,
			},
			{
				Name: "sample.long.ten", Desc: desc(longTen, pdu.Type32, pdu.NoInDom),
				Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 10)},
			},
			{
				Name: "sample.long.write_me", Desc: desc(writeMe, pdu.Type32, pdu.NoInDom),
				Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 2)},
			},
			{Name: "sample.colour", Desc: desc(colour, pdu.Type32, colours), Values: []pdu.Value{
				pdu.Int32Value(0, 101), pdu.Int32Value(1, 202), pdu.Int32Value(2, 303),
			}},
			{
				Name: "sample.string.hullo", Desc: desc(hullo, pdu.TypeString, pdu.NoInDom),
				Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "hullo world!")},
			},
			{
				Name: "sample.double.one", Desc: desc(doubleOne, pdu.TypeDouble, pdu.NoInDom),
				Values: []pdu.Value{pdu.DoubleValue(pdu.NoInst, 1)},
			},
			{Name: "sample.bad.nosupport", Desc: desc(noSupport, pdu.TypeNoSupport, pdu.NoInDom), Code: pdu.ErrAppVersion},
			{Name: "sample.bad.novalues", Desc: desc(noValues, pdu.Type32, colours)},
			{Name: "sample.bad.fetch.again", Desc: desc(tryAgain, pdu.Type32, pdu.NoInDom), Code: pdu.ErrAgain},
			{
				Name: "sample.secret.foo.one", Desc: desc(secretOne, pdu.Type32, pdu.NoInDom),
				Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, 1)},
			},
			{
				Name: "pmcd.hostname", Desc: desc(hostName, pdu.TypeString, pdu.NoInDom),
				Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "nas1")},
			},
			{
				Name: "pmcd.numagents", Desc: desc(numAgents, pdu.TypeU32, pdu.NoInDom), OneLine: "number of agents",
				Help: "The number of agents.",
			},
			{Name: "pmcd.client.whoami", Desc: desc(whoAmI, pdu.TypeString, pdu.NewInDom(2, 6))},
		},
		InDoms: map[pdu.InDom]pmapitest.InDom{
			colours: {Instances: []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}, {ID: 2, Name: "blue"}}},
		},
		Labels: map[pmapitest.LabelKey][]pdu.LabelSet{
			{
				Type:  pdu.LabelContext,
				Ident: pmapi.ContextIdent,
			}: {
				labels(pdu.LabelContext, pdu.NoInst, map[string]any{"hostname": "nas1"}),
			},
			{
				Type:  pdu.LabelDomain,
				Ident: 29,
			}: {
				labels(pdu.LabelDomain, pdu.NoInst, map[string]any{"agent": "sample", "role": "testing"}),
			},
			{
				Type:  pdu.LabelInDom,
				Ident: uint32(colours),
			}: {
				labels(pdu.LabelInDom, pdu.NoInst, map[string]any{"model": "RGB"}),
			},
			{Type: pdu.LabelInstances, Ident: uint32(colours)}: {{Inst: 0}, {Inst: 1}, {Inst: 2}},
		},
	}
}

// The same questions to the collector in memory, with and without the newer PDUs; TestPMCDBehaviour puts them to the
// real one.
func TestBehaviour(t *testing.T) {
	for _, row := range []struct {
		name, network string
		features      pdu.Features
	}{
		{"model", "unix", pmapitest.AllFeatures},
		{"model over TCP", "tcp", pmapitest.AllFeatures},
		{"model without descriptors in bulk", "unix", pmapitest.AllFeatures &^ pdu.FeatureDescs},
		{"model without high-resolution fetch", "unix", pmapitest.AllFeatures &^ pdu.FeatureHighRes},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := model(t)
			m.Features = row.features
			address := pmapitest.Listen(t, row.network, m.Serve)
			testBehaviour(t, row.network, address)
		})
	}
}

func testBehaviour(t *testing.T, network, address string) {
	for name, test := range map[string]func(t *testing.T, ctx context.Context, c *pmapi.Conn){
		"names":        behaviourNames,
		"children":     behaviourChildren,
		"traverse":     behaviourTraverse,
		"descriptors":  behaviourDescriptors,
		"instances":    behaviourInstances,
		"fetch":        behaviourFetch,
		"poll":         behaviourPoll,
		"profile":      behaviourProfile,
		"text":         behaviourText,
		"labels":       behaviourLabels,
		"store":        behaviourStore,
		"identity":     behaviourIdentity,
		"large":        behaviourLarge,
		"state change": behaviourNoChange,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
			defer cancel()
			c := dial(t, network, address)
			test(t, ctx, c)
			require.NoError(t, c.Err(), "the connection is good to the end")
		})
	}
}

func behaviourNames(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	got, err := c.LookupNames(ctx, []string{"sample.long.one", "no.such.metric", "sample.secret.foo.one", "sample.long"})
	require.NoError(t, err)
	none := pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName}
	assert.Equal(t, []pmapi.NameResult{{PMID: longOne}, none, {PMID: secretOne}, none}, got)

	for _, row := range []struct {
		name string
		want pmapi.NameResult
	}{
		{"sample.colour", pmapi.NameResult{PMID: colour}},
		{"sample.secret.foo.one", pmapi.NameResult{PMID: secretOne}},
		{"sample", pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrNonLeaf}},
		{"no.such.metric", none},
		{"sample.no such metric", none},
	} {
		got, err := c.LookupNames(ctx, []string{row.name})
		require.NoError(t, err)
		assert.Equal(t, []pmapi.NameResult{row.want}, got, row.name)
	}

	names, err := c.NameAll(ctx, longOne)
	require.NoError(t, err)
	assert.Contains(t, names, "sample.long.one")
	names, err = c.NameAll(ctx, secretOne)
	require.NoError(t, err)
	assert.Contains(t, names, "sample.secret.foo.one")
	_, err = c.NameAll(ctx, noMetric)
	require.ErrorIs(t, err, pdu.ErrPMID)
	_, err = c.NameAll(ctx, noDomain)
	require.ErrorIs(t, err, pdu.ErrNoAgent)
}

func behaviourChildren(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	got, err := c.Children(ctx, "")
	require.NoError(t, err)
	assert.Contains(t, got, pmapi.Child{Name: "sample"})
	assert.Contains(t, got, pmapi.Child{Name: "pmcd"})
	got, err = c.Children(ctx, "sample")
	require.NoError(t, err)
	assert.Contains(t, got, pmapi.Child{Name: "colour", Leaf: true})
	assert.Contains(t, got, pmapi.Child{Name: "long"})
	got, err = c.Children(ctx, "sample.colour")
	require.NoError(t, err)
	assert.Empty(t, got)
	_, err = c.Children(ctx, "no.such.node")
	require.ErrorIs(t, err, pdu.ErrName)
}

func behaviourTraverse(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	got, err := c.Traverse(ctx, "sample.long")
	require.NoError(t, err)
	assert.Contains(t, got, "sample.long.one")
	assert.NotContains(t, got, "sample.colour")
	got, err = c.Traverse(ctx, "sample.long.one")
	require.NoError(t, err)
	assert.Equal(t, []string{"sample.long.one"}, got)
	got, err = c.Traverse(ctx, "sample.secret")
	require.NoError(t, err)
	assert.Contains(t, got, "sample.secret.foo.one")
	got, err = c.Traverse(ctx, "")
	require.NoError(t, err)
	assert.Contains(t, got, "sample.colour")
	assert.Contains(t, got, "pmcd.hostname")
	_, err = c.Traverse(ctx, "no.such.node")
	require.ErrorIs(t, err, pdu.ErrName)
}

func behaviourDescriptors(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	one := pdu.Desc{PMID: longOne, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	red := pdu.Desc{PMID: colour, Type: pdu.Type32, InDom: colours, Sem: pdu.SemInstant}
	got, err := c.Desc(ctx, longOne)
	require.NoError(t, err)
	assert.Equal(t, one, got)
	_, err = c.Desc(ctx, noMetric)
	require.ErrorIs(t, err, pdu.ErrPMID)
	_, err = c.Desc(ctx, noDomain)
	require.ErrorIs(t, err, pdu.ErrPMID)

	all, err := c.Descs(ctx, []pdu.PMID{longOne, noMetric, colour, pdu.NoPMID, noDomain})
	require.NoError(t, err)
	none := func(id pdu.PMID) pmapi.DescResult {
		return pmapi.DescResult{Desc: pdu.Desc{PMID: id}, Code: pdu.ErrPMID}
	}
	assert.Equal(t, []pmapi.DescResult{
		{Desc: one}, none(noMetric), {Desc: red}, none(pdu.NoPMID), none(noDomain),
	}, all)
	for _, id := range []pdu.PMID{colour, noMetric} {
		all, err = c.Descs(ctx, []pdu.PMID{id})
		require.NoError(t, err)
		want := none(id)
		if id == colour {
			want = pmapi.DescResult{Desc: red}
		}
		assert.Equal(t, []pmapi.DescResult{want}, all)
	}
}

func behaviourInstances(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	got, err := c.Instances(ctx, colours)
	require.NoError(t, err)
	assert.Equal(t, []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}, {ID: 2, Name: "blue"}}, got)
	name, err := c.InstanceName(ctx, colours, 1)
	require.NoError(t, err)
	assert.Equal(t, "green", name)
	inst, err := c.InstanceID(ctx, colours, "blue")
	require.NoError(t, err)
	assert.Equal(t, pdu.Inst(2), inst)

	_, err = c.InstanceName(ctx, colours, 77)
	require.ErrorIs(t, err, pdu.ErrInst)
	inst, err = c.InstanceID(ctx, colours, "mauve")
	require.ErrorIs(t, err, pdu.ErrInst)
	assert.Equal(t, pdu.NoInst, inst)
	for _, unknown := range []pdu.InDom{pdu.NewInDom(29, 4000), pdu.NewInDom(499, 0), pdu.NoInDom} {
		_, err = c.Instances(ctx, unknown)
		require.ErrorIs(t, err, pdu.ErrInDom, "%v", unknown)
	}
}

// some is a list of metrics of every kind; checkSome looks at their values.
var some = []pdu.PMID{longOne, colour, hullo, doubleOne, noSupport, noValues, tryAgain, badMetric, noDomain, longOne}

func checkSome(t *testing.T, c *pmapi.Conn, res *pmapi.Result) {
	t.Helper()
	assert.WithinDuration(t, time.Now(), res.Time, time.Minute)
	if c.Features()&pdu.FeatureHighRes == 0 {
		assert.Zero(t, res.Time.Nanosecond()%1000, "microseconds only")
	}
	require.Len(t, res.Sets, len(some))
	for i, set := range res.Sets {
		assert.Equal(t, some[i], set.PMID)
	}
	for _, i := range []int{0, 9} {
		assert.Equal(t, []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeUnknown, Bits: 1}}, res.Sets[i].Values)
	}
	assert.Equal(t, []pdu.Inst{0, 1, 2}, insts(res.Sets[1]))
	require.Len(t, res.Sets[2].Values, 1)
	assert.Equal(t, "hullo world!", string(res.Sets[2].Values[0].Bytes))
	assert.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 1)}, res.Sets[3].Values)
	assert.Equal(t, pdu.ErrAppVersion, res.Sets[4].Code)
	assert.Zero(t, res.Sets[5].Code)
	assert.Empty(t, res.Sets[5].Values)
	assert.Equal(t, pdu.ErrAgain, res.Sets[6].Code)
	assert.Equal(t, pdu.ErrPMID, res.Sets[7].Code)
	assert.Equal(t, pdu.ErrNoAgent, res.Sets[8].Code)
}

func insts(set pdu.ValueSet) []pdu.Inst {
	var ids []pdu.Inst
	for _, v := range set.Values {
		ids = append(ids, v.Inst)
	}
	return ids
}

func behaviourFetch(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	for range 3 {
		res, err := c.Fetch(ctx, some)
		require.NoError(t, err)
		checkSome(t, c, res)
	}
}

func behaviourPoll(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	for range 3 {
		require.NoError(t, c.StartFetch(some))
		for {
			require.NoError(t, c.WaitReadable(ctx))
			res, done, err := c.PollColumns()
			require.NoError(t, err)
			if done {
				checkSome(t, c, res.Result())
				break
			}
		}
		_, err := c.Desc(ctx, longOne)
		require.NoError(t, err)
	}
}

func behaviourProfile(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	selected := func(p *pdu.Profile) []pdu.Inst {
		require.NoError(t, c.SetProfile(ctx, p))
		res, err := c.Fetch(ctx, []pdu.PMID{colour, longOne})
		require.NoError(t, err)
		assert.Len(t, res.Sets[1].Values, 1, "a singular metric is not touched")
		ids := insts(res.Sets[0])
		slices.Sort(ids)
		return ids
	}
	only := func(state pdu.ProfileState, insts ...pdu.Inst) *pdu.Profile {
		return &pdu.Profile{InDoms: []pdu.ProfileInDom{{InDom: colours, State: state, Insts: insts}}}
	}
	assert.Equal(t, []pdu.Inst{0, 2}, selected(only(pdu.Exclude, 0, 2)))
	assert.Equal(t, []pdu.Inst{1}, selected(only(pdu.Include, 0, 2)))
	assert.Empty(t, selected(only(pdu.Exclude)))
	assert.Empty(t, selected(&pdu.Profile{Default: pdu.Exclude}))
	assert.Equal(t, []pdu.Inst{0, 1, 2}, selected(&pdu.Profile{}))
}

func behaviourText(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	oneLine, err := c.Text(ctx, uint32(numAgents), pdu.TextOneLine|pdu.TextPMID)
	require.NoError(t, err)
	assert.Contains(t, strings.ToLower(oneLine), "number of agents")
	help, err := c.Text(ctx, uint32(numAgents), pdu.TextHelp|pdu.TextPMID)
	require.NoError(t, err)
	assert.NotEmpty(t, help)
	assert.NotEqual(t, oneLine, help)
	_, err = c.Text(ctx, uint32(noMetric), pdu.TextOneLine|pdu.TextPMID)
	assert.Error(t, err)
	_, err = c.Text(ctx, uint32(noDomain), pdu.TextOneLine|pdu.TextPMID)
	require.ErrorIs(t, err, pdu.ErrPMID)
}

func behaviourLabels(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	find := func(ident uint32, level pdu.LabelType, name string) string {
		sets, err := c.Labels(ctx, ident, level)
		require.NoError(t, err)
		for _, set := range sets {
			for _, l := range set.Labels {
				if set.Name(l) == name {
					return set.Value(l)
				}
			}
		}
		return ""
	}
	assert.NotEmpty(t, find(pmapi.ContextIdent, pdu.LabelContext, "hostname"))
	assert.Equal(t, `"testing"`, find(29, pdu.LabelDomain, "role"))
	assert.Equal(t, `"RGB"`, find(uint32(colours), pdu.LabelInDom, "model"))
	none, err := c.Labels(ctx, uint32(longOne), pdu.LabelItem)
	require.NoError(t, err)
	assert.Empty(t, none)
	each, err := c.Labels(ctx, uint32(colours), pdu.LabelInstances)
	require.NoError(t, err)
	require.Len(t, each, 3)
	assert.Equal(t, pdu.Inst(2), each[2].Inst)
}

func behaviourStore(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	set := func(id pdu.PMID, n int32) []pdu.ValueSet {
		return []pdu.ValueSet{{PMID: id, Values: []pdu.Value{pdu.Int32Value(pdu.NoInst, n)}}}
	}
	for _, n := range []int32{42, -7} {
		require.NoError(t, c.Store(ctx, set(writeMe, n)))
		res, err := c.Fetch(ctx, []pdu.PMID{writeMe})
		require.NoError(t, err)
		require.Len(t, res.Sets[0].Values, 1)
		assert.Equal(t, uint64(uint32(n)), res.Sets[0].Values[0].Bits)
	}
	require.ErrorIs(t, c.Store(ctx, set(longOne, 1)), pdu.ErrPermission)
	require.ErrorIs(t, c.Store(ctx, set(noDomain, 1)), pdu.ErrNoAgent)
}

func behaviourIdentity(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	name, err := c.HostName(ctx)
	require.NoError(t, err)
	assert.NotEmpty(t, name)
	const text = "the behaviour test of pmapi"
	require.NoError(t, c.WhoAmI(ctx, text))
	res, err := c.Fetch(ctx, []pdu.PMID{whoAmI})
	require.NoError(t, err)
	var found bool
	for _, v := range res.Sets[0].Values {
		found = found || strings.HasSuffix(string(v.Bytes), text)
	}
	assert.True(t, found, "%v", &res.Sets[0])
}

// The largest requests that are made in one PDU.
func behaviourLarge(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	ids := slices.Repeat([]pdu.PMID{longOne}, pmapi.MaxFetch)
	res, err := c.Fetch(ctx, ids)
	require.NoError(t, err)
	assert.Len(t, res.Sets, pmapi.MaxFetch)

	descs, err := c.Descs(ctx, slices.Repeat([]pdu.PMID{longOne, colour}, 1500))
	require.NoError(t, err)
	for i, r := range descs {
		require.Zero(t, r.Code)
		require.Equal(t, []pdu.PMID{longOne, colour}[i%2], r.Desc.PMID)
	}

	names, err := c.LookupNames(ctx, slices.Repeat([]string{"sample.long.one", "no.such.metric"}, 2500))
	require.NoError(t, err)
	for i, r := range names {
		want := pmapi.NameResult{PMID: longOne}
		if i%2 == 1 {
			want = pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName}
		}
		require.Equal(t, want, r)
	}
}

func behaviourNoChange(t *testing.T, ctx context.Context, c *pmapi.Conn) {
	res, err := c.Fetch(ctx, []pdu.PMID{longOne})
	require.NoError(t, err)
	assert.Zero(t, res.Changes)
	assert.Zero(t, c.TakeChanges())
}
