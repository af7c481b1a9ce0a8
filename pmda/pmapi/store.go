package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// Metrics of pmcd's own agent, which has domain 2.
const (
	hostNameID pdu.PMID = 2<<22 | 21    // 2.0.21, pmcd.hostname
	whoAmIID   pdu.PMID = 2<<22 | 6<<10 // 2.6.0, pmcd.client.whoami
)

// Store sends values to be stored, as pmstore does. The agents that own the metrics check them. The code of the error
// is [pdu.ErrPermission], [pdu.ErrBadStore], [pdu.ErrType], … If the metrics belong to several agents, some may have
// stored their values when another refuses.
//
// The Type of each value must be that of its metric.
//
// Source: pmStore(3).
func (c *Conn) Store(ctx context.Context, sets []pdu.ValueSet) error {
	const op = "store"
	if len(sets) == 0 {
		return c.opError(op, pdu.ErrTooSmall)
	}
	return c.call(ctx, op, &pdu.Result{Sets: sets}, new(pdu.Error))
}

// WhoAmI sends pmcd a text about the client, which the metric pmcd.client.whoami shows to administrators.
// Long-running clients send a short one after Dial, usually their command line.
func (c *Conn) WhoAmI(ctx context.Context, text string) error {
	return c.Store(ctx, []pdu.ValueSet{{
		PMID:   whoAmIID,
		Format: pdu.StaticBlock,
		Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte(text)}},
	}})
}
