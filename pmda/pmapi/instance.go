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
	if !askable(name) { // without a name it would ask for all
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
	if reply.InDom != req.InDom {
		return nil, c.fail(op, protocolErrorf("instance domain %v, asked for %v", reply.InDom, req.InDom))
	}
	return reply.Instances, nil
}
