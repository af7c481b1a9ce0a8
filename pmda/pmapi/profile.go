package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// SetProfile selects the instances that later fetches report; it replaces the profile before, at
// first that of all instances. The context number of p is not used.
//
// pmcd does not answer. If it refuses the profile, which it does only to a client that may not
// fetch at all, the next call fails with its code and the connection with it.
//
// Source: pmAddProfile(3), docs/protocol.md 2.5, 5.9.
func (c *Conn) SetProfile(ctx context.Context, p *pdu.Profile) error {
	const op = "profile"
	if err := c.ready(op); err != nil {
		return err
	}
	if err := interrupted(ctx); err != nil {
		return c.opError(op, err)
	}
	disarm := c.arm(ctx)
	defer disarm()
	own := *p
	own.Context = 0
	if err := c.out.Write(&own, 0); err != nil {
		return c.fail(op, c.lastWords(explain(ctx, err, c.output.longest)))
	}
	c.profileSent = true
	return nil
}
