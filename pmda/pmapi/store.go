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

// Store writes values, as pmstore does. The agents that own the metrics check them; of several
// agents some may have stored theirs when another refuses: [pdu.ErrPermission], [pdu.ErrBadStore],
// [pdu.ErrType], …
//
// Values of the types 32 and U32 travel in situ, all others in blocks and need their type.
//
// Source: pmStore(3).
func (c *Conn) Store(ctx context.Context, sets []pdu.ValueSet) error {
	const op = "store"
	if len(sets) == 0 {
		return c.opError(op, pdu.ErrTooSmall)
	}
	return c.call(ctx, op, &pdu.Result{Sets: sets}, new(pdu.Error))
}

// WhoAmI tells pmcd who the client is; administrators see it in the metric pmcd.client.whoami.
// Long-running clients send a short text after connecting, by custom their command line.
func (c *Conn) WhoAmI(ctx context.Context, text string) error {
	return c.Store(ctx, []pdu.ValueSet{{
		PMID:   whoAmIID,
		Format: pdu.StaticBlock,
		Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte(text)}},
	}})
}
