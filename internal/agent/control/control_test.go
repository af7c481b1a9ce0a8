package control

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const testDomain = 250

// testSource has two instances in each list.
func testSource() *Source {
	now, never := time.Unix(1000, 0), func() time.Time { return time.Time{} }
	says := func(what string) func() string { return func() string { return what } }
	return &Source{
		Version: "1.2.3",
		Digest:  func() string { return "0123abcd" },
		Figures: &Figures{},
		Definitions: slices.Values([]*Definition{
			{
				Instance: pdu.Instance{ID: 3, Name: "a"}, State: "bound", Text: " x + 1 ", PMID: pdu.NewPMID(testDomain, 1, 2),
				Sampled: func() time.Time { return now.Add(-time.Second) }, Fetched: now.Add(-2 * time.Second), Values: 5, Problem: says(""),
				Time: 7 * time.Microsecond, Memory: 80,
			},
			{
				Instance: pdu.Instance{ID: 9, Name: "b"}, State: "failed", Text: "y", PMID: pdu.NewPMID(testDomain, 1, 3),
				Sampled: never, Problem: says("no operand"),
			},
		}),
		Files: slices.Values([]*File{
			{Instance: pdu.Instance{ID: 0, Name: "/a"}, Definitions: 2, Failed: 1, Bound: 1},
			{Instance: pdu.Instance{ID: 1, Name: "/b"}, Error: "gone"},
			{Instance: pdu.Instance{ID: 2, Name: "/c"}},
		}),
		Agents: slices.Values([]*Agent{
			{pdu.Instance{ID: 29, Name: "sample"}, 6, "29.0.1: gone"},
			{pdu.Instance{ID: 60, Name: "linux"}, 0, ""},
		}),
	}
}

// The names of the table differ, and make a PMNS.
func TestTable(t *testing.T) {
	all := Table(testSource())
	assert.True(t, slices.IsSortedFunc(all, func(a, b Metric) int { return a.Item - b.Item }))
	for _, m := range all {
		require.NotNil(t, m.Fill, m.Name)
	}
	_, err := pmda.NewNamespace("derived", Entries(testDomain))
	require.NoError(t, err)
}

// Each item below nextItem belongs to a metric or to one that was removed.
func TestItems(t *testing.T) {
	removed := []int{
		7, 9, 15, 16, 27, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 44, 45, 46, 47, 48, 49, 50, 51, 52, 54, 55, 57, 59, 61,
	}
	items := slices.Clone(removed)
	for _, m := range Table(testSource()) {
		items = append(items, m.Item)
	}
	slices.Sort(items)
	for item := range nextItem {
		require.Equal(t, item, items[item], "add the item of a removed metric to removed; no two metrics have one item")
	}
	assert.Len(t, items, nextItem, "use nextItem for the new metric, and raise it by one")
}

// Each field of Figures changes a metric.
func TestFiguresHaveRows(t *testing.T) {
	for i := range reflect.TypeFor[Figures]().NumField() {
		s := testSource()
		m := New(testDomain, s)
		values := func() (all []string) {
			for _, row := range Table(s) {
				all = append(all, fetch(t, m, row.Name, &pdu.Profile{}))
			}
			return all
		}
		before := values()
		switch f := reflect.ValueOf(s.Figures).Elem().Field(i).Addr().Interface().(type) {
		case *atomic.Uint64:
			f.Store(1)
		case *atomic.Int64:
			f.Store(1)
		case *atomic.Bool:
			f.Store(true)
		case *Histogram:
			f.Record(time.Second, 1)
		}
		assert.NotEqual(t, before, values(), "no row shows Figures.%s", reflect.TypeFor[Figures]().Field(i).Name)
	}
}

// fetch returns the value set of a metric with its values as text.
func fetch(t *testing.T, m *Metrics, name string, profile *pdu.Profile) string {
	t.Helper()
	all := Table(testSource())
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	id := PMID(testDomain, all[i].Item)
	var w pdu.ResultWriter
	w.Reset()
	require.True(t, m.Fetch(id, profile, time.Unix(1000, 0), &w))
	frame, err := pdu.NewReader(bytes.NewReader(w.Frame(0, 0)), pdu.AgentLimit).Next()
	require.NoError(t, err)
	var result pdu.Result
	require.NoError(t, result.Decode(frame.Body))
	require.Len(t, result.Sets, 1)
	desc, ok := m.Desc(result.Sets[0].PMID)
	require.True(t, ok)
	texts := []string{}
	for _, v := range result.Sets[0].Values {
		text := string(v.Bytes)
		if desc.Type.Numeric() {
			text = strconv.FormatFloat(desc.Type.Float64(v.Bits), 'g', -1, 64)
		}
		texts = append(texts, fmt.Sprintf("%d:%s", v.Inst, text))
	}
	return strings.Join(texts, " ")
}

func TestFetch(t *testing.T) {
	s := testSource()
	m := New(testDomain, s)
	s.Figures.Requests.Store(1 << 40)
	s.Figures.UpstreamBusy.Store(1500)
	s.Figures.RequestTime.Record(2500*time.Millisecond, 1)
	s.Figures.Debug.Store(true)
	everything := &pdu.Profile{}
	for _, row := range []struct{ name, want string }{
		{"version", "-1:1.2.3"},
		{"digest", "-1:0123abcd"},
		{"requests", "-1:1.099511627776e+12"},
		{"request_longest", "-1:2500"},
		{"upstream.busy", "-1:0.0015"},
		{"upstream.connected", "-1:0"},
		{"debug", "-1:1"},
		{"definition.state", "3:bound 9:failed"},
		{"definition.error", "3: 9:no operand"},
		{"definition.expression", "3:x + 1 9:y"},
		{"definition.pmid", "3:250.1.2 9:250.1.3"},
		{"definition.age", "3:1000"},
		{"definition.evaluated", "3:2000"},
		{"definition.values", "3:5"},
		{"definition.time", "3:7000 9:0"},
		{"definition.memory", "3:80 9:0"},
		{"file.state", "0:failed 1:unread 2:read"},
		{"file.error", "0: 1:gone 2:"},
		{"file.definitions", "0:2 1:0 2:0"},
		{"file.bound", "0:1 1:0 2:0"},
		{"upstream.agent.errors", "29:6 60:0"},
		{"upstream.agent.error", "29:29.0.1: gone 60:"},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, fetch(t, m, row.name, everything)) })
	}
	some := &pdu.Profile{InDoms: []pdu.ProfileInDom{
		{InDom: pdu.NewInDom(testDomain, definitionSerial), State: pdu.Exclude, Insts: []pdu.Inst{9}},
		{InDom: pdu.NewInDom(testDomain, bucketSerial), State: pdu.Exclude, Insts: []pdu.Inst{1, numBuckets - 17}},
		{InDom: pdu.NewInDom(testDomain, fileSerial), State: pdu.Exclude},
	}}
	assert.Equal(t, "9:failed", fetch(t, m, "definition.state", some))
	assert.Equal(t, "1:0 48:1", fetch(t, m, "request_time", some))
	assert.Empty(t, fetch(t, m, "file.state", some))
	assert.Equal(t, "-1:1.2.3", fetch(t, m, "version", &pdu.Profile{Default: pdu.Exclude}))
}

// A fetch of a thousand definitions does not allocate for each.
func TestFetchOfMany(t *testing.T) {
	s := testSource()
	s.Definitions = slices.Values(slices.Repeat([]*Definition{{State: "bound"}}, 1000))
	m := New(testDomain, s)
	var w pdu.ResultWriter
	allocs := testing.AllocsPerRun(10, func() {
		w.Reset()
		m.Fetch(PMID(testDomain, 20), &pdu.Profile{}, time.Time{}, &w)
	})
	assert.Less(t, allocs, 10.0)
}

func TestInstances(t *testing.T) {
	m := New(testDomain, testSource())
	for serial, want := range map[int][]pdu.Instance{
		definitionSerial: {{ID: 3, Name: "a"}, {ID: 9, Name: "b"}},
		fileSerial:       {{ID: 0, Name: "/a"}, {ID: 1, Name: "/b"}, {ID: 2, Name: "/c"}},
		agentSerial:      {{ID: 29, Name: "sample"}, {ID: 60, Name: "linux"}},
	} {
		got, ok := m.Instances(pdu.NewInDom(testDomain, serial))
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	got, _ := m.Instances(pdu.NewInDom(testDomain, bucketSerial))
	require.Len(t, got, numBuckets)
	assert.Equal(t, pdu.Instance{ID: 1, Name: "0.015"}, got[1])
}

func TestNothingOfOurs(t *testing.T) {
	m := New(testDomain, testSource())
	for _, id := range []pdu.PMID{PMID(testDomain, 1000), pdu.NewPMID(testDomain, 1, Reload), PMID(60, Reload)} {
		_, ok := m.Desc(id)
		assert.False(t, ok)
		assert.False(t, m.Fetch(id, &pdu.Profile{}, time.Time{}, nil))
	}
	for _, d := range []pdu.InDom{pdu.NewInDom(60, 0), pdu.NewInDom(testDomain, 3), pdu.NewInDom(testDomain, 99), pdu.NoInDom} {
		_, ok := m.Instances(d)
		assert.False(t, ok)
	}
}

func TestCheckStore(t *testing.T) {
	m := New(testDomain, testSource())
	one := []pdu.Value{{Inst: pdu.NoInst, Bits: 1}}
	for _, row := range []struct {
		name string
		set  pdu.ValueSet
		want error
	}{
		{"anything", pdu.ValueSet{PMID: PMID(testDomain, Reload), Values: []pdu.Value{pdu.StringValue(pdu.NoInst, "now")}}, nil},
		{"a truth", pdu.ValueSet{PMID: PMID(testDomain, Debug), Values: one}, nil},
		{"no truth", pdu.ValueSet{PMID: PMID(testDomain, Debug), Values: []pdu.Value{{Bits: 2}}}, pdu.ErrBadStore},
		{"two values", pdu.ValueSet{PMID: PMID(testDomain, Reload), Values: append(one, one...)}, pdu.ErrBadStore},
		{"no value", pdu.ValueSet{PMID: PMID(testDomain, Reload)}, pdu.ErrBadStore},
		{"what counts", pdu.ValueSet{PMID: PMID(testDomain, 2), Values: one}, pdu.ErrPermission},
		{"nothing of ours", pdu.ValueSet{PMID: PMID(60, Reload), Values: one}, pdu.ErrPMID},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, m.CheckStore(&row.set)) })
	}
}
