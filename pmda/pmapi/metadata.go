package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// Instances lists an instance domain as it is now, in the order of its agent. A profile has no
// influence.
//
// Source: pmGetInDom(3).
func (c *Conn) Instances(ctx context.Context, indom pdu.InDom) ([]pdu.Instance, error) {
	return c.instances(ctx, "instances", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst})
}

// InstanceName gives the name of an instance; [pdu.ErrInst] if there is none.
//
// Source: pmNameInDom(3).
func (c *Conn) InstanceName(ctx context.Context, indom pdu.InDom, inst pdu.Inst) (string, error) {
	const op = "name of an instance"
	if inst == pdu.NoInst { // would ask for all
		return "", c.opError(op, pdu.ErrInst)
	}
	one, err := c.instance(ctx, op, pdu.InstanceReq{InDom: indom, Inst: inst})
	return one.Name, err
}

// InstanceID gives the number of an instance. Agents match the whole name or, as a rule, the part
// in front of its first space. [pdu.ErrInst] if there is none.
//
// Source: pmLookupInDom(3).
func (c *Conn) InstanceID(ctx context.Context, indom pdu.InDom, name string) (pdu.Inst, error) {
	const op = "number of an instance"
	if !canBeAsked(name) { // without a name it would ask for all
		return pdu.NoInst, c.opError(op, pdu.ErrInst)
	}
	one, err := c.instance(ctx, op, pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst, Name: name})
	return one.ID, err
}

func (c *Conn) instance(ctx context.Context, op string, req pdu.InstanceReq) (pdu.Instance, error) {
	all, err := c.instances(ctx, op, req)
	if err != nil {
		return pdu.Instance{ID: pdu.NoInst}, err
	}
	if len(all) != 1 { // an agent's fault, pmcd relays what it says
		return pdu.Instance{ID: pdu.NoInst}, c.opError(op, protocolErrorf("%d instances in place of one", len(all)))
	}
	return all[0], nil
}

func (c *Conn) instances(ctx context.Context, op string, req pdu.InstanceReq) ([]pdu.Instance, error) {
	var reply pdu.InstanceReply
	if err := c.call(ctx, op, &req, &reply); err != nil {
		return nil, err
	}
	// The domain of the reply is not looked at: pmcd 6.0.3 leaves it to chance in those of its own.
	return reply.Instances, nil
}

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
		return nil, c.opError(op, protocolErrorf("labels of %#x, type %d, asked for %#x, type %d",
			reply.Ident, reply.Type, ident, t))
	}
	return reply.Sets, nil
}

// Text gives the one-line or the help text of a metric or an instance domain: ident is its number,
// t one of the first two types with one of the last two. [pdu.ErrText] if there is none.
//
// Source: pmLookupText(3), pmLookupInDomText(3).
func (c *Conn) Text(ctx context.Context, ident uint32, t pdu.TextType) (string, error) {
	// The ident of the reply is not looked at: stock agents send it in their byte order.
	var reply pdu.Text
	if err := c.call(ctx, "text", &pdu.TextReq{Ident: ident, Type: t}, &reply); err != nil {
		return "", err
	}
	return reply.Text, nil
}
