package archive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/archive/metadata"
)

// Desc returns the descriptor of a metric. The code of the error is [pdu.ErrPMID] if the archive does not have it.
//
// Source: pmLookupDesc(3).
func (a *Archive) Desc(_ context.Context, id pdu.PMID) (pdu.Desc, error) {
	if d, ok := a.meta.Descs[id]; ok {
		return d, nil
	}
	return pdu.Desc{}, fmt.Errorf("descriptor of metric %v: %w", id, pdu.ErrPMID)
}

// Descs returns the descriptors of metrics, one result per metric, in the order of ids.
//
// Source: pmLookupDescs(3).
func (a *Archive) Descs(_ context.Context, ids []pdu.PMID) ([]pmapi.DescResult, error) {
	results := make([]pmapi.DescResult, len(ids))
	for i, id := range ids {
		if d, ok := a.meta.Descs[id]; ok {
			results[i].Desc = d
		} else {
			results[i] = pmapi.DescResult{Desc: pdu.Desc{PMID: id}, Code: pdu.ErrPMID}
		}
	}
	return results, nil
}

// Text returns the one-line or the help text of a metric or an instance domain. ident and t are as in
// [pmapi.Conn.Text]. The code of the error is [pdu.ErrText] if there is none.
//
// Source: pmLookupText(3), pmLookupInDomText(3).
func (a *Archive) Text(_ context.Context, ident uint32, t pdu.TextType) (string, error) {
	if text, ok := a.meta.Texts[metadata.TextKey{Ident: ident, Type: t}]; ok {
		return text, nil
	}
	return "", fmt.Errorf("text of %#x: %w", ident, pdu.ErrText)
}

// Instances returns the instances of a domain at the time of the context. Before the first record of the domain it
// returns those of that record. The code of the error is [pdu.ErrInDom] if the archive does not have the domain.
//
// Source: pmGetInDom(3).
func (c *Context) Instances(_ context.Context, indom pdu.InDom) ([]pdu.Instance, error) {
	if d := c.meta.InDoms[indom]; d != nil {
		return d.At(c.now), nil
	}
	return nil, fmt.Errorf("instances of domain %v: %w", indom, pdu.ErrInDom)
}

// InstanceName returns the name of an instance at the time of the context. If there is no such instance then, it
// searches all times. The code of the error is [pdu.ErrInst] if there is none.
//
// Source: pmNameInDom(3).
func (c *Context) InstanceName(_ context.Context, indom pdu.InDom, inst pdu.Inst) (string, error) {
	in, err := c.find(indom, func(in pdu.Instance) bool { return in.ID == inst })
	return in.Name, err
}

// InstanceID returns the number of an instance at the time of the context. name is the whole name, or a part of it
// that ends before a space. If there is no such instance then, it searches all times. The code of the error is
// [pdu.ErrInst] if there is none.
//
// Source: pmLookupInDom(3).
func (c *Context) InstanceID(_ context.Context, indom pdu.InDom, name string) (pdu.Inst, error) {
	in, err := c.find(indom, hasName(name))
	return in.ID, err
}

func (c *Context) find(indom pdu.InDom, wanted func(pdu.Instance) bool) (pdu.Instance, error) {
	d := c.meta.InDoms[indom]
	if d == nil {
		return pdu.Instance{ID: pdu.NoInst}, fmt.Errorf("instances of domain %v: %w", indom, pdu.ErrInDom)
	}
	if in, ok := d.Find(c.now, wanted); ok {
		return in, nil
	}
	return pdu.Instance{ID: pdu.NoInst}, fmt.Errorf("instance of domain %v: %w", indom, pdu.ErrInst)
}

// Labels returns the labels of one level at the time of the context, as [pmapi.Conn.Labels] does: none, one set, or for
// [pdu.LabelInstances] one for each instance. Before the first record of the labels it returns those of that record.
//
// Source: pmLookupLabels(3).
func (c *Context) Labels(_ context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error) {
	switch t {
	case pdu.LabelContext:
		ident = 0
	case pdu.LabelCluster:
		ident &^= pdu.MaxItem
	}
	key := metadata.LabelKey{Ident: ident, Type: t}
	n := c.meta.LabelsUntil(key, c.now)
	if n == 0 {
		return nil, nil
	}
	return slices.Clone(c.meta.Labels[key][n-1].Sets), nil
}

// hasName returns a function that reports whether an instance has the name, or a name that begins with it and a space.
func hasName(name string) func(pdu.Instance) bool {
	return func(in pdu.Instance) bool {
		rest, ok := strings.CutPrefix(in.Name, name)
		return ok && name != "" && (rest == "" || rest[0] == ' ')
	}
}

// AllInstances returns the instances that a domain has had at any time, each once, with its last name. The code of the
// error is [pdu.ErrInDom] if the archive does not have the domain.
//
// Source: pmGetInDomArchive(3).
func (a *Archive) AllInstances(indom pdu.InDom) ([]pdu.Instance, error) {
	if d := a.meta.InDoms[indom]; d != nil {
		return d.All(), nil
	}
	return nil, fmt.Errorf("instances of domain %v: %w", indom, pdu.ErrInDom)
}

// Version returns how many records of the instances of a domain and of their labels there are up to the time of the
// context. While the number is the same, the instances and labels are the same, too.
func (c *Context) Version(indom pdu.InDom) int {
	n := c.meta.LabelsUntil(metadata.LabelKey{Ident: uint32(indom), Type: pdu.LabelInstances}, c.now)
	if d := c.meta.InDoms[indom]; d != nil {
		n += d.Until(c.now)
	}
	return n
}
