package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// ContextIdent is the ident of the labels of a context.
const ContextIdent = 0xffffffff

// Labels gives the labels of one level: of the context ([ContextIdent]), a domain (its number), an
// instance domain, a cluster (any metric in it), a metric, or the instances of a domain. Each level
// but the last has one set at most; the instances have one each, as far as the profile selects
// them. A set may carry a code of its own.
//
// [pdu.ErrNoLabels] if pmcd knows no labels ([pdu.FeatureLabels]).
//
// Source: pmLookupLabels(3).
func (c *Conn) Labels(ctx context.Context, ident uint32, t pdu.LabelType) ([]pdu.LabelSet, error) {
	const op = "labels"
	if c.features&pdu.FeatureLabels == 0 {
		return nil, c.opError(op, pdu.ErrNoLabels)
	}
	var reply pdu.Labels
	if err := c.call(ctx, op, &pdu.LabelReq{Ident: ident, Type: t}, &reply); err != nil {
		return nil, err
	}
	if reply.Ident != ident || reply.Type != t {
		return nil, c.fail(op, protocolErrorf("labels of %#x, type %d, asked for %#x, type %d",
			reply.Ident, reply.Type, ident, t))
	}
	return reply.Sets, nil
}
