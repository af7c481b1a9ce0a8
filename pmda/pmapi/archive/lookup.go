package archive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// LookupNames returns the metrics of names, one result per name, in the order of the names. The code of a name
// without a metric is [pdu.ErrNonLeaf] if there are names below it, otherwise [pdu.ErrName].
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

// below returns the names of the metrics below a node, and all names for "".
func (a *Archive) below(name string) []string {
	if name == "" {
		return a.meta.Sorted
	}
	from, _ := slices.BinarySearch(a.meta.Sorted, name+".")
	to, _ := slices.BinarySearch(a.meta.Sorted, name+"/") // the character after the dot
	return a.meta.Sorted[from:to]
}

// NameAll returns all names of a metric. The code of the error is [pdu.ErrPMID] if it has none.
//
// Source: pmNameAll(3).
func (a *Archive) NameAll(_ context.Context, id pdu.PMID) ([]string, error) {
	if names := a.meta.Names[id]; len(names) > 0 {
		return slices.Clone(names), nil
	}
	return nil, fmt.Errorf("names of metric %v: %w", id, pdu.ErrPMID)
}

// Children returns the nodes directly below name, sorted. The root is "". A metric has none. The code of the error is
// [pdu.ErrName] if there is no such node.
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

// Traverse returns the full names of all metrics at or below name, sorted. The root is "". The code of the error is
// [pdu.ErrName] if there is no such node.
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
