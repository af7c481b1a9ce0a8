package main

import (
	"context"
	"errors"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/served"
	"pmdaderived/pdu"
)

// lintHost asks a pmcd what package lint wants to know of a host, as a [lint.Host]. What pmcd does not tell is not known.
type lintHost struct {
	ctx       context.Context //nolint:containedctx // of one run of check
	collector *collector
	language  derived.Language
	named     map[string]served.Definition
	instances map[pdu.InDom][]string
	computed  int
}

// maxComputed is how many expressions are computed in a run: each is a fetch.
const maxComputed = 200

// Instances implements lint.Host.
func (h *lintHost) Instances(d pdu.InDom) []string {
	names, ok := h.instances[d]
	if !ok {
		if all, err := h.collector.Instances(h.ctx, d); err == nil {
			names = make([]string, len(all))
			for i, instance := range all {
				names[i] = instance.Name
			}
		}
		h.instances[d] = names
	}
	return names
}

// HasInstance implements lint.Host.
func (h *lintHost) HasInstance(d pdu.InDom, name string) bool {
	_, err := h.collector.InstanceID(h.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}

// Holds implements lint.Host.
func (h *lintHost) Holds(expr string) bool {
	d, err := derived.Parse("("+expr+")", expr)
	if err != nil || h.computed == maxComputed {
		return false
	}
	h.computed++
	session, metrics, err := h.collector.sample(h.ctx, withUsed(h.named, served.Definition{Definition: d}), h.language, d.Name)
	if err != nil || metrics[0] == nil {
		return false
	}
	v := session.Value(metrics[0])
	return v.Code >= 0 && slices.ContainsFunc(v.Bits, func(bits uint64) bool { return v.Type.Float64(bits) != 0 })
}
