package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// Instances returns all instances of a domain as it is now, in the order of its agent. The profile does not matter.
//
// Source: pmGetInDom(3).
func (c *Conn) Instances(ctx context.Context, indom pdu.InDom) ([]pdu.Instance, error) {
	return c.instances(ctx, "instances", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst})
}

// InstanceName returns the name of an instance. The code of the error is [pdu.ErrInst] if there is none.
//
// Source: pmNameInDom(3).
func (c *Conn) InstanceName(ctx context.Context, indom pdu.InDom, inst pdu.Inst) (string, error) {
	const op = "name of an instance"
	if inst == pdu.NoInst { // the request would be for all instances
		return "", c.opError(op, pdu.ErrInst)
	}
	one, err := c.instance(ctx, op, pdu.InstanceReq{InDom: indom, Inst: inst})
	return one.Name, err
}

// InstanceID returns the number of an instance. Agents compare name with the whole name of an instance and, as a
// rule, with the part before its first space. The code of the error is [pdu.ErrInst] if there is none.
//
// Source: pmLookupInDom(3).
func (c *Conn) InstanceID(ctx context.Context, indom pdu.InDom, name string) (pdu.Inst, error) {
	const op = "number of an instance"
	if !canBeAsked(name) { // without a name the request would be for all instances
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
	if len(all) != 1 { // a fault of an agent, whose answer pmcd passes on
		return pdu.Instance{ID: pdu.NoInst}, c.opError(op, protocolErrorf("%d instances in place of one", len(all)))
	}
	return all[0], nil
}

func (c *Conn) instances(ctx context.Context, op string, req pdu.InstanceReq) ([]pdu.Instance, error) {
	var reply pdu.InstanceReply
	if err := c.call(ctx, op, &req, &reply); err != nil {
		return nil, err
	}
	// The domain of the reply is not compared: pmcd 6.0.3 does not set it for its own domains.
	return reply.Instances, nil
}

// ContextIdent is the ident for the labels of a context.
const ContextIdent = 0xffffffff

// Labels returns the labels of one level. A set may have a code of its own.
//
//	t                    ident                    sets
//	pdu.LabelContext     ContextIdent             one at most
//	pdu.LabelDomain      number of the domain     one at most
//	pdu.LabelInDom       instance domain          one at most
//	pdu.LabelCluster     PMID of any metric       one at most
//	pdu.LabelItem        PMID                     one at most
//	pdu.LabelInstances   instance domain          one for each instance that the profile selects
//
// The code of the error is [pdu.ErrNoLabels] if pmcd has no labels ([pdu.FeatureLabels]).
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

// Text returns the one-line or the help text of a metric or an instance domain. ident is its number. t is the sum of
// TextOneLine or TextHelp and TextPMID or TextInDom. The code of the error is [pdu.ErrText] if there is no text.
//
// Source: pmLookupText(3), pmLookupInDomText(3).
func (c *Conn) Text(ctx context.Context, ident uint32, t pdu.TextType) (string, error) {
	// The ident of the reply is not compared: stock agents send it in the byte order of their host.
	var reply pdu.Text
	if err := c.call(ctx, "text", &pdu.TextReq{Ident: ident, Type: t}, &reply); err != nil {
		return "", err
	}
	return reply.Text, nil
}
