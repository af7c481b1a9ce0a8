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
	nodes map[string]*node
	names map[pdu.PMID][]string

	// leaves holds the names of all leaves, the visible ones first, in the order of a traversal.
	// Every subtree is a stretch of it.
	leaves []string
}

// node is a name that exists: a leaf or an inner node.
type node struct {
	leaf       bool
	pmid       pdu.PMID // of a leaf
	begin, end int      // its visible leaves in Namespace.leaves; a hidden leaf has itself
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
		nodes: make(map[string]*node, 2*len(entries)),
		names: make(map[pdu.PMID][]string, len(entries)),
	}
	n.nodes[root] = &node{}
	for above := range prefixes(root) {
		n.nodes[above] = &node{}
	}
	var refused []error
	var visible, hidden []string
	for _, e := range entries {
		if reason := n.add(root, e); reason != "" {
			refused = append(refused, &NameError{Name: e.Name, Reason: reason})
			continue
		}
		if e.Hidden {
			hidden = append(hidden, e.Name)
		} else {
			visible = append(visible, e.Name)
		}
	}
	n.index(root, visible, hidden)
	return n, errors.Join(refused...)
}

// add makes the nodes of an entry, or says why not.
func (n *Namespace) add(root string, e Entry) (reason string) {
	switch {
	case !validName(e.Name):
		return "malformed"
	case e.PMID == pdu.NoPMID:
		return "no metric identifier"
	case root != "" && !strings.HasPrefix(e.Name, root+"."):
		return fmt.Sprintf("not below %q", root)
	}
	if old := n.nodes[e.Name]; old != nil {
		if old.leaf {
			return "there already"
		}
		return "has names below it"
	}
	for above := range prefixes(e.Name) {
		if old := n.nodes[above]; old != nil && old.leaf {
			return fmt.Sprintf("below the metric %q", above)
		}
	}
	n.nodes[e.Name] = &node{leaf: true, pmid: e.PMID}
	for above := range prefixes(e.Name) {
		if n.nodes[above] == nil {
			n.nodes[above] = &node{}
		}
	}
	n.names[e.PMID] = append(n.names[e.PMID], e.Name)
	return ""
}

// index orders the leaves and tells every node its stretch and its children. The dot is less than
// every other character of a name, so that plain string order keeps subtrees together.
func (n *Namespace) index(root string, visible, hidden []string) {
	slices.Sort(visible)
	n.leaves = slices.Concat(visible, hidden)
	for i, leaf := range n.leaves {
		at := n.nodes[leaf]
		at.begin, at.end = i, i+1
	}
	for i, leaf := range visible {
		below := leaf
		for above := range prefixes(leaf) {
			at := n.nodes[above]
			if at.begin == at.end {
				at.begin = i
			}
			at.end = i + 1
			at.addChild(above, below, below != leaf)
			below = above
		}
	}
	below := root
	for above := range prefixes(root) {
		n.nodes[above].addChild(above, below, true)
		below = above
	}
}

// addChild notes the node "below" as a child of the one above it, once: children come in order.
func (at *node) addChild(above, below string, nonLeaf bool) {
	name := strings.TrimPrefix(below[len(above):], ".")
	if k := len(at.children); k == 0 || at.children[k-1].Name != name {
		at.children = append(at.children, Child{Name: name, NonLeaf: nonLeaf})
	}
}

// Lookup finds the metric of a leaf, hidden or not.
func (n *Namespace) Lookup(_ Client, name string) (pdu.PMID, error) {
	switch at := n.nodes[name]; {
	case at == nil:
		return pdu.NoPMID, pdu.ErrName
	case !at.leaf:
		return pdu.NoPMID, pdu.ErrNonLeaf
	default:
		return at.pmid, nil
	}
}

// Names returns all names of a metric, in the order of the entries.
func (n *Namespace) Names(_ Client, id pdu.PMID) ([]string, error) {
	names := n.names[id]
	if names == nil {
		return nil, pdu.ErrPMID
	}
	return slices.Clip(names), nil
}

// Children appends to dst the visible nodes directly below name, in alphabetical order.
func (n *Namespace) Children(_ Client, name string, dst []Child) ([]Child, error) {
	at := n.nodes[name]
	if at == nil {
		return dst, pdu.ErrName
	}
	return append(dst, at.children...), nil
}

// Traverse returns the visible leaves at or below name, in the order of a traversal. A leaf that
// is asked for by its own name is its own traversal, hidden or not.
func (n *Namespace) Traverse(_ Client, name string) ([]string, error) {
	at := n.nodes[name]
	if at == nil {
		return nil, pdu.ErrName
	}
	return n.leaves[at.begin:at.end:at.end], nil
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
// that begin with a letter, separated by dots. Source: spec pdu.md 3.6.
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
