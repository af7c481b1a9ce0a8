package pmda_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

func TestNamespace(t *testing.T) {
	id := func(item int) pdu.PMID { return pdu.NewPMID(510, 1, item) }
	ns, err := pmda.NewNamespace("derived", []pmda.Entry{
		{Name: "derived.net.rate", PMID: id(1)},
		{Name: "derived.net0", PMID: id(2)},
		{Name: "derived.net.in.bytes", PMID: id(3)},
		{Name: "derived.alias", PMID: id(1)},
		{Name: "derived.net.lost", PMID: id(4), Hidden: true},
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
		{"twice", pmda.Entry{Name: "derived.first.leaf", PMID: pdu.NewPMID(510, 1, 2)}, "there already"},
		{"below a metric", pmda.Entry{Name: "derived.first.leaf.more", PMID: id}, `below the metric "derived.first.leaf"`},
		{"above a metric", pmda.Entry{Name: "derived.first", PMID: id}, "has names below it"},
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

// naive is a name space that walks through all entries for every question.
type naive struct {
	root    string
	entries []pmda.Entry
}

func (n *naive) exists(name string) bool {
	for _, e := range append(n.entries, pmda.Entry{Name: n.root}) {
		if name == "" || e.Name == name || strings.HasPrefix(e.Name, name+".") {
			return true
		}
	}
	return name == ""
}

func (n *naive) Lookup(_ pmda.Client, name string) (pdu.PMID, error) {
	for _, e := range n.entries {
		if e.Name == name {
			return e.PMID, nil
		}
	}
	if n.exists(name) {
		return pdu.NoPMID, pdu.ErrNonLeaf
	}
	return pdu.NoPMID, pdu.ErrName
}

func (n *naive) Names(_ pmda.Client, id pdu.PMID) ([]string, error) {
	var names []string
	for _, e := range n.entries {
		if e.PMID == id {
			names = append(names, e.Name)
		}
	}
	if names == nil {
		return nil, pdu.ErrPMID
	}
	return names, nil
}

func (n *naive) Traverse(_ pmda.Client, name string) ([]string, error) {
	if !n.exists(name) {
		return nil, pdu.ErrName
	}
	var names []string
	for _, e := range n.entries {
		if e.Name == name || !e.Hidden && (name == "" || strings.HasPrefix(e.Name, name+".")) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (n *naive) Children(c pmda.Client, name string, dst []pmda.Child) ([]pmda.Child, error) {
	below, err := n.Traverse(c, name)
	if err != nil {
		return dst, err
	}
	if name == "" || strings.HasPrefix(n.root, name+".") {
		below = append(below, n.root+".x") // the nodes above the root exist in any case
	}
	prefix := name
	if name != "" {
		prefix += "."
	}
	found := map[string]bool{}
	for _, leaf := range below {
		if rest, ok := strings.CutPrefix(leaf, prefix); ok {
			child, _, nonLeaf := strings.Cut(rest, ".")
			found[child] = nonLeaf
		}
	}
	for child, nonLeaf := range found {
		dst = append(dst, pmda.Child{Name: child, NonLeaf: nonLeaf})
	}
	slices.SortFunc(dst, func(a, b pmda.Child) int { return strings.Compare(a.Name, b.Name) })
	return dst, nil
}

// add takes an entry under the rules of NewNamespace.
func (n *naive) add(e pmda.Entry) bool {
	if n.exists(e.Name) || !strings.HasPrefix(e.Name, n.root+".") {
		return false
	}
	for _, old := range n.entries {
		if strings.HasPrefix(e.Name, old.Name+".") {
			return false
		}
	}
	n.entries = append(n.entries, e)
	return true
}

// Random trees answer as the naive ones do.
func TestNamespaceAgainstModel(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		root := pick(rng, []string{"r", "a.r"})
		name := func() string {
			components := make([]string, 1+rng.IntN(4))
			for i := range components {
				components[i] = pick(rng, []string{"a", "b", "a0", "A", "a_", "ab", "r"})
			}
			return strings.Join(components, ".")
		}
		model := &naive{root: root}
		var entries []pmda.Entry
		refused := 0
		for range rng.IntN(40) {
			e := pmda.Entry{
				Name:   pick(rng, []string{root + ".", root + ".", root + ".", ""}) + name(),
				PMID:   pdu.NewPMID(510, 1, rng.IntN(20)),
				Hidden: rng.IntN(4) == 0,
			}
			entries = append(entries, e)
			if !model.add(e) {
				refused++
			}
		}
		ns, err := pmda.NewNamespace(root, entries)
		require.Equal(t, refused, countNameErrors(err), "seed %d", seed)
		require.Equal(t, len(model.entries), ns.Len(), "seed %d", seed)

		asked := []string{"", root, "a", "x"}
		for _, e := range entries {
			asked = append(asked, e.Name, e.Name[:strings.LastIndexByte("."+e.Name, '.')], e.Name+".a")
		}
		for range 20 {
			asked = append(asked, root+"."+name(), name())
		}
		for _, name := range asked {
			const what = "seed %d: %q in %v"
			wantID, wantErr := model.Lookup(0, name)
			id, err := ns.Lookup(0, name)
			require.Equal(t, wantErr, err, what, seed, name, entries)
			require.Equal(t, wantID, id, what, seed, name, entries)

			wantNames, wantErr := model.Traverse(0, name)
			names, err := ns.Traverse(0, name)
			require.Equal(t, wantErr, err, what, seed, name, entries)
			require.Equal(t, wantNames, append([]string(nil), names...), what, seed, name, entries)

			wantChildren, _ := model.Children(0, name, nil)
			children, err := ns.Children(0, name, nil)
			require.Equal(t, wantErr, err, what, seed, name, entries)
			require.Equal(t, wantChildren, children, what, seed, name, entries)
		}
		for item := range 20 {
			id := pdu.NewPMID(510, 1, item)
			wantNames, wantErr := model.Names(0, id)
			names, err := ns.Names(0, id)
			require.Equal(t, wantErr, err)
			require.Equal(t, wantNames, names)
		}
	}
}

func countNameErrors(err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 0
	}
	n := 0
	for _, e := range joined.Unwrap() {
		if errors.As(e, new(*pmda.NameError)) {
			n++
		}
	}
	return n
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

// What is returned cannot be grown into the name space.
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
