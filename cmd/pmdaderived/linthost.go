package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// lintHost asks a pmcd what package lint wants to know of a host, as a [lint.Host]. What pmcd does not tell is not known.
type lintHost struct {
	ctx       context.Context //nolint:containedctx // of one run of check
	conn      *pmapi.Conn
	read      *definitions
	byName    map[string]int
	instances map[pdu.InDom][]string
	asked     int
}

// maxAsked is how many expressions are computed in a run: each is a fetch.
const maxAsked = 200

func newLintHost(ctx context.Context, conn *pmapi.Conn, read *definitions) *lintHost {
	h := &lintHost{ctx: ctx, conn: conn, read: read, byName: make(map[string]int, len(read.all)), instances: map[pdu.InDom][]string{}}
	for i, d := range read.all {
		h.byName[d.Name] = i
	}
	return h
}

// Instances implements lint.Host.
func (h *lintHost) Instances(d pdu.InDom) []string {
	names, ok := h.instances[d]
	if !ok {
		if all, err := h.conn.Instances(h.ctx, d); err == nil {
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
	_, err := h.conn.InstanceID(h.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}

// Holds implements lint.Host.
func (h *lintHost) Holds(expr string) bool {
	d, err := derived.Parse("("+expr+")", expr)
	if err != nil || h.asked == maxAsked {
		return false
	}
	h.asked++
	s, err := agent.NewSession(h.ctx, h.conn, h.read.used(h.byName, []subject{{def: agent.Definition{Definition: d}}}), h.read.language)
	if err != nil {
		return false
	}
	metric, ok := s.Set().Lookup(d.Name)
	if !ok || metric.Err != nil || metric.Needs().History > 0 {
		return false
	}
	s.Watch(metric)
	if err := s.Sample(h.ctx, time.Now()); err != nil {
		return false
	}
	v := s.Value(metric)
	return v.Code >= 0 && slices.ContainsFunc(v.Bits, func(bits uint64) bool { return v.Type.Float64(bits) != 0 })
}
