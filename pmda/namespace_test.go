package pmda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

func TestNamespace(t *testing.T) {
	id := func(item int) pdu.PMID { return pdu.NewPMID(510, 1, item) }
	ns, err := pmda.NewNamespace("derived", []pmda.Entry{
		{Name: "derived.net.lost", PMID: id(4), Hidden: true},
		{Name: "derived.net.rate", PMID: id(1)},
		{Name: "derived.net0", PMID: id(2)},
		{Name: "derived.net.in.bytes", PMID: id(3)},
		{Name: "derived.alias", PMID: id(1)},
		{Name: "derived.gone.far", PMID: id(5), Hidden: true},
		{Name: "derived.gone.away", PMID: id(5), Hidden: true},
	})
	require.NoError(t, err)
	assert.Equal(t, 7, ns.Len())

	const nonLeaf, noName = pdu.ErrNonLeaf, pdu.ErrName
	tests := []struct {
		name     string
		pmid     pdu.PMID
		lookup   error
		children []pmda.Child
		traverse []string
		unknown  error // of Children and Traverse
	}{
		{
			name: "derived", pmid: pdu.NoPMID, lookup: nonLeaf,
			children: []pmda.Child{{Name: "alias"}, {Name: "net", NonLeaf: true}, {Name: "net0"}},
			traverse: []string{"derived.alias", "derived.net.in.bytes", "derived.net.rate", "derived.net0"},
		},
		{
			name: "derived.net", pmid: pdu.NoPMID, lookup: nonLeaf,
			children: []pmda.Child{{Name: "in", NonLeaf: true}, {Name: "rate"}},
			traverse: []string{"derived.net.in.bytes", "derived.net.rate"},
		},
		{name: "derived.net.rate", pmid: id(1), traverse: []string{"derived.net.rate"}},
		{name: "derived.net.lost", pmid: id(4), traverse: []string{"derived.net.lost"}},
		{name: "derived.gone", pmid: pdu.NoPMID, lookup: nonLeaf, traverse: []string{}},
		{name: "derived.gone.far", pmid: id(5), traverse: []string{"derived.gone.far"}},
		{
			name: "", pmid: pdu.NoPMID, lookup: nonLeaf,
			children: []pmda.Child{{Name: "derived", NonLeaf: true}},
			traverse: []string{"derived.alias", "derived.net.in.bytes", "derived.net.rate", "derived.net0"},
		},
		{name: "derived.ne", pmid: pdu.NoPMID, lookup: noName, unknown: noName},
		{name: "derived.net.", pmid: pdu.NoPMID, lookup: noName, unknown: noName},
		{name: "derived.net.rate.more", pmid: pdu.NoPMID, lookup: noName, unknown: noName},
		{name: "kernel", pmid: pdu.NoPMID, lookup: noName, unknown: noName},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pmid, err := ns.Lookup(0, tt.name)
			assert.Equal(t, tt.lookup, err)
			assert.Equal(t, tt.pmid, pmid)
			children, err := ns.Children(0, tt.name, nil)
			assert.Equal(t, tt.unknown, err)
			assert.Equal(t, tt.children, children)
			traverse, err := ns.Traverse(0, tt.name)
			assert.Equal(t, tt.unknown, err)
			assert.Equal(t, tt.traverse, traverse)
		})
	}
	for item, want := range map[int][]string{
		1: {"derived.net.rate", "derived.alias"},
		4: {"derived.net.lost"},
		5: {"derived.gone.far", "derived.gone.away"},
	} {
		names, err := ns.Names(0, id(item))
		require.NoError(t, err)
		assert.Equal(t, want, names)
	}
	_, err = ns.Names(0, id(99))
	assert.Equal(t, pdu.ErrPMID, err)
}

// The root is there before there is anything below it: TRAVERSE and CHILD never fail for it.
func TestEmptyNamespace(t *testing.T) {
	for _, root := range []string{"derived", "site.derived", ""} {
		ns, err := pmda.NewNamespace(root, nil)
		require.NoError(t, err)
		names, err := ns.Traverse(0, root)
		require.NoError(t, err, root)
		assert.Empty(t, names)
		children, err := ns.Children(0, root, nil)
		require.NoError(t, err, root)
		assert.Empty(t, children)
		_, err = ns.Lookup(0, root)
		assert.Equal(t, pdu.ErrNonLeaf, err)
	}
	ns, err := pmda.NewNamespace("site.derived", nil)
	require.NoError(t, err)
	for above, child := range map[string]string{"": "site", "site": "derived"} {
		children, err := ns.Children(0, above, nil)
		require.NoError(t, err)
		assert.Equal(t, []pmda.Child{{Name: child, NonLeaf: true}}, children)
	}
}

// An entry that cannot be is left out and said so, the others stay.
func TestNamespaceRefusesEntries(t *testing.T) {
	id := pdu.NewPMID(510, 1, 1)
	tests := []struct {
		name   string
		entry  pmda.Entry
		reason string
	}{
		{"no name", pmda.Entry{Name: "", PMID: id}, "malformed"},
		{"leading dot", pmda.Entry{Name: ".derived.x", PMID: id}, "malformed"},
		{"trailing dot", pmda.Entry{Name: "derived.x.", PMID: id}, "malformed"},
		{"double dot", pmda.Entry{Name: "derived..x", PMID: id}, "malformed"},
		{"digit first", pmda.Entry{Name: "derived.1x", PMID: id}, "malformed"},
		{"underscore first", pmda.Entry{Name: "derived._x", PMID: id}, "malformed"},
		{"odd character", pmda.Entry{Name: "derived.x-y", PMID: id}, "malformed"},
		{"not ASCII", pmda.Entry{Name: "derived.größe", PMID: id}, "malformed"},
		{"NUL", pmda.Entry{Name: "derived.x\x00", PMID: id}, "malformed"},
		{"outside the root", pmda.Entry{Name: "derivedx.y", PMID: id}, `not below "derived"`},
		{"the root itself", pmda.Entry{Name: "derived", PMID: id}, `not below "derived"`},
		{"no PMID", pmda.Entry{Name: "derived.x", PMID: pdu.NoPMID}, "no metric identifier"},
		{"twice", pmda.Entry{Name: "derived.first.leaf", PMID: pdu.NewPMID(510, 1, 2)}, "the name is in use"},
		{
			"below a metric",
			pmda.Entry{Name: "derived.first.leaf.more", PMID: id},
			`the name is below the metric "derived.first.leaf"`,
		},
		{"above a metric", pmda.Entry{Name: "derived.first", PMID: id}, "the name has other metrics below it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ns, err := pmda.NewNamespace("derived", []pmda.Entry{
				{Name: "derived.first.leaf", PMID: id}, tt.entry, {Name: "derived.last", PMID: id},
			})
			var refused *pmda.NameError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, pmda.NameError{Name: tt.entry.Name, Reason: tt.reason}, *refused)
			assert.EqualError(t, err, fmt.Sprintf("metric name %q: %s", tt.entry.Name, tt.reason))

			names, err := ns.Traverse(0, "derived")
			require.NoError(t, err)
			assert.Equal(t, []string{"derived.first.leaf", "derived.last"}, names)
			pmid, err := ns.Lookup(0, "derived.first.leaf")
			require.NoError(t, err)
			assert.Equal(t, id, pmid, "the first one stays")
			names, err = ns.Names(0, id)
			require.NoError(t, err)
			assert.Equal(t, []string{"derived.first.leaf", "derived.last"}, names)
		})
	}
}

// The answers are parts of the name space: nothing is made per request.
func TestNamespaceDoesNotAllocate(t *testing.T) {
	var entries []pmda.Entry
	for i := range 1000 {
		entries = append(entries, pmda.Entry{Name: fmt.Sprintf("r.a%d.b%d", i%10, i), PMID: pdu.PMID(i)})
	}
	ns, err := pmda.NewNamespace("r", entries)
	require.NoError(t, err)
	dst := make([]pmda.Child, 0, 100)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = ns.Lookup(0, "r.a7.b507")
		_, _ = ns.Names(0, 507)
		_, _ = ns.Traverse(0, "r")
		_, _ = ns.Children(0, "r.a7", dst)
	}))
}

// Appending to a returned slice does not change the name space.
func TestNamespaceLendsItsListsOnly(t *testing.T) {
	ns, err := pmda.NewNamespace("r", []pmda.Entry{
		{Name: "r.a", PMID: 1}, {Name: "r.b", PMID: 1}, {Name: "r.c", PMID: 1}, {Name: "r.d", PMID: 4},
	})
	require.NoError(t, err)
	names, err := ns.Traverse(0, "r.a")
	require.NoError(t, err)
	_ = append(names, "intruder")
	names, err = ns.Names(0, 1)
	require.NoError(t, err)
	longer := append(names, "mine")
	_ = append(names, "yours")
	assert.Equal(t, []string{"r.a", "r.b", "r.c", "mine"}, longer)
	names, err = ns.Traverse(0, "r")
	require.NoError(t, err)
	assert.Equal(t, []string{"r.a", "r.b", "r.c", "r.d"}, names)
}
