package served

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/identity"
	"pmdaderived/pdu"
)

// Groups of one key keep the domains and PMIDs that build 8b7eb1ae gave them: its state file does not change.
func TestStateOfOneKeyStays(t *testing.T) {
	before, err := os.ReadFile("testdata/state-8b7eb1ae")
	require.NoError(t, err)
	s, path := newSite(t), filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(path, before, 0o600))
	s.ids, err = identity.Load(path, testDomain)
	require.NoError(t, err)
	one := []string{
		"by.part = sum(up.bin) by (/^([a-z]+)/)", "by.label = max(up.bin) by (label(type))", "by.le = sum(up.bin) by (label(le))",
		"by.metric = count(up.bin) by (kind=up.bin)", "by.again = sum(by.part) by (again=/^(..?)/)",
		"by.share = up.bin / sum(up.bin) by (/^([a-z]+)/)",
	}
	s.serve(conf(one...))
	assert.Equal(t, slices.Repeat([]State{Bound}, 3), s.states("by.part", "by.le", "by.again"))
	require.NoError(t, s.ids.Save())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))

	s.serve(conf(append(one, "by.two = sum(up.bin) by (label(le), label(type))")...))
	require.NoError(t, s.ids.Save())
	after, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(after), `{"of":"60.1","label":"le,type"}`)
}

// A group has a label for each of its keys, as it is without escapes.
func TestLabelsOfGroups(t *testing.T) {
	texts := func(label string, names ...string) (all []string) {
		g := &GroupInDom{GroupDomain: derived.GroupDomain{Of: binDom, Label: label}}
		var groups []pdu.Instance
		for i, name := range names {
			groups = append(groups, pdu.Instance{ID: pdu.Inst(i), Name: name})
		}
		for i, set := range g.Labels(groups) {
			assert.Equal(t, pdu.Inst(i), set.Inst)
			all = append(all, set.JSON)
		}
		return all
	}
	assert.Equal(t, []string{`{"route":"/a%3A:b"}`, `{"route":"b"}`}, texts("route", "/a%3A:b", "b"))
	assert.Equal(t, []string{`{"code":"500","route":"/a:b%"}`, `{"code":"%3A","route":"ü\""}`},
		texts("route,code", "/a%3Ab%25:500", `ü":%253A`))
	assert.Nil(t, texts("route,"+strings.Repeat("a", 256), "b:c"), "the name of a label is too long")
}

// Labels of many groups share their memory: a client asks for all at once.
func TestLabelsOfManyGroups(t *testing.T) {
	for _, label := range []string{"route", "route,code"} {
		g := &GroupInDom{GroupDomain: derived.GroupDomain{Of: binDom, Label: label}}
		groups := make([]pdu.Instance, 10_000)
		for i := range groups {
			groups[i] = pdu.Instance{ID: pdu.Inst(i), Name: fmt.Sprint("/", i, ":500")}
		}
		assert.Less(t, testing.AllocsPerRun(3, func() { g.Labels(groups) }), 100.0, label)
	}
}
