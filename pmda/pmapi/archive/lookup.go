package archive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// LookupNames finds the metrics of the names: one result per name, in the order of the names. The code of a name that is
// not there is [pdu.ErrName], or [pdu.ErrNonLeaf].
//
// Source: pmLookupName(3).
func (a *Archive) LookupNames(_ context.Context, names []string) ([]pmapi.NameResult, error) {
	results := make([]pmapi.NameResult, len(names))
	for i, name := range names {
		switch id, ok := a.meta.IDs[name]; {
		case ok:
			results[i].PMID = id
		case len(a.below(name)) > 0:
			results[i] = pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrNonLeaf}
		default:
			results[i] = pmapi.NameResult{PMID: pdu.NoPMID, Code: pdu.ErrName}
		}
	}
	return results, nil
}

// below returns the names of metrics below a node, or of all for "".
func (a *Archive) below(name string) []string {
	if name == "" {
		return a.meta.Sorted
	}
	from, _ := slices.BinarySearch(a.meta.Sorted, name+".")
	to, _ := slices.BinarySearch(a.meta.Sorted, name+"/") // the character behind the dot
	return a.meta.Sorted[from:to]
}

// NameAll gives all names of a metric; [pdu.ErrPMID] if it has none.
//
// Source: pmNameAll(3).
func (a *Archive) NameAll(_ context.Context, id pdu.PMID) ([]string, error) {
	if names := a.meta.Names[id]; len(names) > 0 {
		return slices.Clone(names), nil
	}
	return nil, fmt.Errorf("names of metric %v: %w", id, pdu.ErrPMID)
}

// Children lists the nodes directly below name, sorted; the root is "". A metric has none. [pdu.ErrName] if there is no such node.
//
// Source: pmGetChildrenStatus(3).
func (a *Archive) Children(_ context.Context, name string) ([]pmapi.Child, error) {
	prefix := ""
	if name != "" {
		prefix = name + "."
	}
	var children []pmapi.Child
	for _, full := range a.below(name) {
		first, _, deeper := strings.Cut(full[len(prefix):], ".")
		if n := len(children); n > 0 && children[n-1].Name == first {
			children[n-1].Leaf = children[n-1].Leaf && !deeper
			continue
		}
		children = append(children, pmapi.Child{Name: first, Leaf: !deeper})
	}
	if _, leaf := a.meta.IDs[name]; !leaf && name != "" && children == nil {
		return nil, fmt.Errorf("children of %s: %w", name, pdu.ErrName)
	}
	return children, nil
}

// Traverse lists the full names of all metrics at or below name, sorted; the root is "". [pdu.ErrName] if there is no such node.
//
// Source: pmTraversePMNS(3).
func (a *Archive) Traverse(_ context.Context, name string) ([]string, error) {
	if _, leaf := a.meta.IDs[name]; leaf {
		return []string{name}, nil
	}
	names := a.below(name)
	if len(names) == 0 && name != "" {
		return nil, fmt.Errorf("names below %s: %w", name, pdu.ErrName)
	}
	return slices.Clone(names), nil
}
