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

// moment asks a pmcd what package lint wants to know of the moment, a [lint.Host]. What pmcd does not tell is not known.
type moment struct {
	ctx       context.Context //nolint:containedctx // of one run of check
	conn      *pmapi.Conn
	read      *definitions
	byName    map[string]int
	instances map[pdu.InDom][]string
	asked     int
}

// maxAsked is how many expressions are computed in a run: each is a fetch.
const maxAsked = 200

func newMoment(ctx context.Context, conn *pmapi.Conn, read *definitions) *moment {
	m := &moment{ctx: ctx, conn: conn, read: read, byName: make(map[string]int, len(read.all)), instances: map[pdu.InDom][]string{}}
	for i, d := range read.all {
		m.byName[d.Name] = i
	}
	return m
}

// Instances implements lint.Host.
func (m *moment) Instances(d pdu.InDom) []string {
	names, ok := m.instances[d]
	if !ok {
		if all, err := m.conn.Instances(m.ctx, d); err == nil {
			names = make([]string, len(all))
			for i, instance := range all {
				names[i] = instance.Name
			}
		}
		m.instances[d] = names
	}
	return names
}

// HasInstance implements lint.Host.
func (m *moment) HasInstance(d pdu.InDom, name string) bool {
	_, err := m.conn.InstanceID(m.ctx, d, name)
	return !errors.Is(err, pdu.ErrInst)
}

// Holds implements lint.Host.
func (m *moment) Holds(expr string) bool {
	d, err := derived.Parse("("+expr+")", expr)
	if err != nil || m.asked == maxAsked {
		return false
	}
	m.asked++
	s, err := agent.NewSession(m.ctx, m.conn, m.read.used(m.byName, []subject{{def: agent.Definition{Definition: d}}}), m.read.language)
	if err != nil {
		return false
	}
	metric, ok := s.Set().Lookup(d.Name)
	if !ok || metric.Err != nil || metric.Needs().History > 0 {
		return false
	}
	s.Watch(metric)
	if err := s.Sample(m.ctx, time.Now()); err != nil {
		return false
	}
	v := s.Value(metric)
	return v.Code >= 0 && slices.ContainsFunc(v.Bits, func(bits uint64) bool { return v.Type.Float64(bits) != 0 })
}
