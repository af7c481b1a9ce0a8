package pmda

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/pdu"
)

// Entry is a name in a [Namespace].
type Entry struct {
	Name string // full name; it begins with the root's
	PMID pdu.PMID

	// Hidden names are found by those who ask for them and not shown to those who look around:
	// Lookup and Names know them, and Traverse of the very name; lists of others leave them out.
	Hidden bool
}

// NameError says why an entry is not part of a [Namespace].
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string { return fmt.Sprintf("metric name %q: %s", e.Name, e.Reason) }

// Namespace is a subtree of the PMNS that never changes: a [Namer] whose methods may be called by
// any number of goroutines. Lookup and Names take constant time, Children and Traverse time in
// proportion to the answer. To change names, build a new one. Returned slices are part of the
// Namespace and only to be read.
type Namespace struct {
	// leaves holds the names of all leaves, the visible ones first, in the order of a traversal.
	// Every subtree is a stretch of it.
	leaves []string
	ids    []pdu.PMID // of leaves
	inner  []node

	nodes map[string]int32      // index in leaves, or -1-index in inner
	byID  map[pdu.PMID]int32    // index in leaves
	also  map[pdu.PMID][]string // all names of metrics that have several
}

// node is an inner node.
type node struct {
	begin, end int32 // its visible leaves in Namespace.leaves
	children   []Child
}

// NewNamespace builds the tree at and below root, the name in the PMNS file; "" is the root of
// everything. The root and the nodes above it exist even when there is no entry.
//
// An entry that does not fit is left out: a malformed name, one outside the root, one that is
// there already, or one that would make a metric an inner node. Of entries that cannot be together
// the first stays. The error joins a *[NameError] for each one left out; the Namespace is good
// in any case.
func NewNamespace(root string, entries []Entry) (*Namespace, error) {
	n := &Namespace{
		leaves: make([]string, 0, len(entries)),
		ids:    make([]pdu.PMID, 0, len(entries)),
		nodes:  make(map[string]int32, len(entries)),
		byID:   make(map[pdu.PMID]int32, len(entries)),
	}
	n.addInner(root)
	for above := range prefixes(root) {
		n.addInner(above)
	}
	var refused []error
	good := make([]int, 0, len(entries))
	for i, e := range entries {
		if reason := n.add(root, e); reason != "" {
			refused = append(refused, &NameError{Name: e.Name, Reason: reason})
			continue
		}
		good = append(good, i)
	}
	n.index(root, entries, good)
	return n, errors.Join(refused...)
}

// add makes the nodes of an entry, or says why not. The place of its leaf comes later.
func (n *Namespace) add(root string, e Entry) (reason string) {
	switch {
	case !validName(e.Name):
		return "malformed"
	case e.PMID == pdu.NoPMID:
		return "no metric identifier"
	case root != "" && !strings.HasPrefix(e.Name, root+"."):
		return fmt.Sprintf("not below %q", root)
	}
	if old, ok := n.nodes[e.Name]; ok {
		if old >= 0 {
			return "there already"
		}
		return "has names below it"
	}
	for above := range prefixes(e.Name) {
		if old, ok := n.nodes[above]; ok {
			if old >= 0 {
				return fmt.Sprintf("below the metric %q", above)
			}
			break // and so are those above it
		}
	}
	n.nodes[e.Name] = 0
	for above := range prefixes(e.Name) {
		if !n.addInner(above) {
			break
		}
	}
	return ""
}

// addInner makes an inner node unless it is there.
func (n *Namespace) addInner(name string) bool {
	if _, ok := n.nodes[name]; ok {
		return false
	}
	n.nodes[name] = int32(-1 - len(n.inner))
	n.inner = append(n.inner, node{})
	return true
}

// index orders the leaves, which are the good ones of entries, and tells every inner node its
// stretch and its children. The dot is less than every other character of a name, so that plain
// string order keeps subtrees together.
func (n *Namespace) index(root string, entries []Entry, good []int) {
	sorted := slices.Clone(good)
	slices.SortFunc(sorted, func(a, b int) int {
		if a, b := &entries[a], &entries[b]; a.Hidden == b.Hidden {
			return strings.Compare(a.Name, b.Name)
		}
		if entries[b].Hidden {
			return -1
		}
		return 1
	})
	for i, at := range sorted {
		e := &entries[at]
		n.leaves = append(n.leaves, e.Name)
		n.ids = append(n.ids, e.PMID)
		n.nodes[e.Name] = int32(i)
		if !e.Hidden {
			n.show(int32(i))
		}
	}
	below := root
	for above := range prefixes(root) {
		n.at(above).addChild(above, below, true)
		below = above
	}
	for _, at := range good {
		n.identify(&entries[at])
	}
}

// show makes a leaf a part of all nodes above it. Leaves come in order.
func (n *Namespace) show(leaf int32) {
	name := n.leaves[leaf]
	below := name
	for above := range prefixes(name) {
		at := n.at(above)
		if at.begin == at.end {
			at.begin = leaf
		}
		at.end = leaf + 1
		at.addChild(above, below, below != name)
		below = above
	}
}

// identify notes the name of a metric, which may have others. Entries come as they were given.
func (n *Namespace) identify(e *Entry) {
	first, ok := n.byID[e.PMID]
	if !ok {
		n.byID[e.PMID] = n.nodes[e.Name]
		return
	}
	if n.also == nil {
		n.also = make(map[pdu.PMID][]string)
	}
	if n.also[e.PMID] == nil {
		n.also[e.PMID] = []string{n.leaves[first]}
	}
	n.also[e.PMID] = append(n.also[e.PMID], e.Name)
}

// at returns an inner node that exists.
func (n *Namespace) at(name string) *node { return &n.inner[-1-n.nodes[name]] }

// addChild notes the node "below" as a child of the one above it, once: children come in order.
func (at *node) addChild(above, below string, nonLeaf bool) {
	name := strings.TrimPrefix(below[len(above):], ".")
	if k := len(at.children); k == 0 || at.children[k-1].Name != name {
		at.children = append(at.children, Child{Name: name, NonLeaf: nonLeaf})
	}
}

// Lookup finds the metric of a leaf, hidden or not.
func (n *Namespace) Lookup(_ Client, name string) (pdu.PMID, error) {
	switch at, ok := n.nodes[name]; {
	case !ok:
		return pdu.NoPMID, pdu.ErrName
	case at < 0:
		return pdu.NoPMID, pdu.ErrNonLeaf
	default:
		return n.ids[at], nil
	}
}

// Names returns all names of a metric, in the order of the entries.
func (n *Namespace) Names(_ Client, id pdu.PMID) ([]string, error) {
	if names := n.also[id]; names != nil {
		return slices.Clip(names), nil
	}
	at, ok := n.byID[id]
	if !ok {
		return nil, pdu.ErrPMID
	}
	return n.leaves[at : at+1 : at+1], nil
}

// Children appends to dst the visible nodes directly below name, in alphabetical order.
func (n *Namespace) Children(_ Client, name string, dst []Child) ([]Child, error) {
	switch at, ok := n.nodes[name]; {
	case !ok:
		return dst, pdu.ErrName
	case at >= 0:
		return dst, nil
	default:
		return append(dst, n.inner[-1-at].children...), nil
	}
}

// Traverse returns the visible leaves at or below name, in the order of a traversal. A leaf that
// is asked for by its own name is its own traversal, hidden or not.
func (n *Namespace) Traverse(_ Client, name string) ([]string, error) {
	at, ok := n.nodes[name]
	if !ok {
		return nil, pdu.ErrName
	}
	begin, end := at, at+1
	if at < 0 {
		begin, end = n.inner[-1-at].begin, n.inner[-1-at].end
	}
	return n.leaves[begin:end:end], nil
}

// Len returns the number of names, hidden ones included.
func (n *Namespace) Len() int { return len(n.leaves) }

// prefixes yields the names of the nodes above name, the nearest first, "" last. "" has none.
func prefixes(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name != "" {
			name = name[:max(strings.LastIndexByte(name, '.'), 0)]
			if !yield(name) {
				return
			}
		}
	}
}

// validName reports whether name is a metric name: components of letters, digits and underscores
// that begin with a letter, separated by dots. Source: docs/protocol.md 3.6.
func validName(name string) bool {
	for component := range strings.SplitSeq(name, ".") {
		if component == "" || !isLetter(component[0]) {
			return false
		}
		for _, r := range component {
			if !isWordRune(r) {
				return false
			}
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
