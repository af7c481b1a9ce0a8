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

	// Hidden names are left out of lists: of Children, and of Traverse from a node above. Lookup, Names and Traverse
	// of the name itself have them.
	Hidden bool
}

// NameError is the reason why an entry is not part of a [Namespace].
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string { return fmt.Sprintf("metric name %q: %s", e.Name, e.Reason) }

// Namespace is a subtree of the PMNS that never changes. It is a [Namer] whose methods may be called by
// any number of goroutines. Lookup takes constant time, the others time in proportion to the answer.
// To change names, build a new Namespace. Callers must not change returned slices.
type Namespace struct {
	leaves  map[string]pdu.PMID
	first   map[pdu.PMID]string   // the first name of each metric in the entries
	further map[pdu.PMID][]string // the other names of a metric that has more than one, in the order of the entries
	inner   map[string][]Child    // visible nodes directly below each inner node, in alphabetical order
	visible []string              // visible leaves in the order of a traversal: a subtree is a part visible[i:j]
}

// NewNamespace builds the tree at and below root. root is the name in the PMNS file, or "" for the whole
// name space. The root and the nodes above it exist even if there is no entry.
//
// An entry with a malformed name, a name that is not below root or a name that is in use is left out. So is one that
// would make a metric an inner node. If two entries exclude each other, the first is used. The error joins a
// *[NameError] for each entry that is left out. The Namespace is good in any case.
func NewNamespace(root string, entries []Entry) (*Namespace, error) {
	n := &Namespace{
		leaves:  make(map[string]pdu.PMID, len(entries)),
		first:   make(map[pdu.PMID]string, len(entries)),
		further: make(map[pdu.PMID][]string),
		inner:   map[string][]Child{root: nil},
	}
	n.addAbove(root)
	var refused []error
	for _, e := range entries {
		if reason := n.refusal(root, e); reason != "" {
			refused = append(refused, &NameError{Name: e.Name, Reason: reason})
			continue
		}
		n.leaves[e.Name] = e.PMID
		if _, ok := n.first[e.PMID]; ok {
			n.further[e.PMID] = append(n.further[e.PMID], e.Name)
		} else {
			n.first[e.PMID] = e.Name
		}
		n.addAbove(e.Name)
		if !e.Hidden {
			n.visible = append(n.visible, e.Name)
		}
	}
	// The dot is less than every other character of a name: plain string order keeps subtrees together.
	slices.Sort(n.visible)
	for _, leaf := range n.visible {
		n.addToParents(leaf)
	}
	n.addToParents(root)
	return n, errors.Join(refused...)
}

// refusal returns the reason why an entry cannot be added, "" if it can.
func (n *Namespace) refusal(root string, e Entry) (reason string) {
	_, leaf := n.leaves[e.Name]
	_, inner := n.inner[e.Name]
	switch {
	case !pdu.LegalName(e.Name):
		return "malformed"
	case e.PMID == pdu.NoPMID:
		return "no metric identifier"
	case root != "" && !strings.HasPrefix(e.Name, root+"."):
		return fmt.Sprintf("not below %q", root)
	case leaf:
		return "the name is in use"
	case inner:
		return "the name has other metrics below it"
	}
	for above := range prefixes(e.Name) {
		if _, leaf := n.leaves[above]; leaf {
			return fmt.Sprintf("the name is below the metric %q", above)
		}
	}
	return ""
}

// addAbove adds the inner nodes above name, unless they exist.
func (n *Namespace) addAbove(name string) {
	for above := range prefixes(name) {
		if _, ok := n.inner[above]; ok { // and so are those above it
			return
		}
		n.inner[above] = nil
	}
}

// addToParents adds a node to the children of its parent, that one to the children of its own, and so on up to "". It
// stops at a node that is a child already. It must be called in alphabetical order: a child is the last or a new one.
func (n *Namespace) addToParents(name string) {
	below := name
	for above := range prefixes(name) {
		component := strings.TrimPrefix(below[len(above):], ".")
		children := n.inner[above]
		if k := len(children); k > 0 && children[k-1].Name == component {
			return
		}
		_, nonLeaf := n.inner[below]
		n.inner[above] = append(children, Child{Name: component, NonLeaf: nonLeaf})
		below = above
	}
}

// Lookup returns the metric of a leaf, hidden or not. Errors are those of [Namer].
func (n *Namespace) Lookup(_ Client, name string) (pdu.PMID, error) {
	if id, ok := n.leaves[name]; ok {
		return id, nil
	}
	if _, ok := n.inner[name]; ok {
		return pdu.NoPMID, pdu.ErrNonLeaf
	}
	return pdu.NoPMID, pdu.ErrName
}

// Names returns all names of a metric in the order of the entries, hidden ones included.
func (n *Namespace) Names(_ Client, id pdu.PMID) ([]string, error) {
	if first, ok := n.first[id]; ok {
		return append([]string{first}, n.further[id]...), nil
	}
	return nil, pdu.ErrPMID
}

// Children appends to dst the visible nodes directly below name, in alphabetical order.
func (n *Namespace) Children(_ Client, name string, dst []Child) ([]Child, error) {
	if children, ok := n.inner[name]; ok {
		return append(dst, children...), nil
	}
	if _, ok := n.leaves[name]; ok {
		return dst, nil
	}
	return dst, pdu.ErrName
}

// Traverse returns the visible leaves below name, in alphabetical order of their components. For the name of a leaf,
// hidden or not, it returns that name.
func (n *Namespace) Traverse(_ Client, name string) ([]string, error) {
	if _, ok := n.leaves[name]; ok {
		return []string{name}, nil
	}
	if _, ok := n.inner[name]; !ok {
		return nil, pdu.ErrName
	}
	if name == "" {
		return slices.Clip(n.visible), nil
	}
	begin, _ := slices.BinarySearch(n.visible, name+".")
	end, _ := slices.BinarySearch(n.visible, name+"/") // the character after the dot
	return n.visible[begin:end:end], nil
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
