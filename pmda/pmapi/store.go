package pmapi

import (
	"context"

	"pmdaderived/pdu"
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
