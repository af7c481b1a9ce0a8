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

// WhoAmI tells pmcd who the client is; administrators see it in the metric pmcd.client.whoami.
// Long-running clients send a short text after connecting, by custom their command line.
func (c *Conn) WhoAmI(ctx context.Context, text string) error {
	return c.Store(ctx, []pdu.ValueSet{{
		PMID:   whoAmIID,
		Format: pdu.StaticBlock,
		Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte(text)}},
	}})
}

// HostName gives the name by which the host of the pmcd knows itself. It is a fetch: it ends the
// life of a [Result].
//
// Source: pmGetContextHostName(3).
func (c *Conn) HostName(ctx context.Context) (string, error) {
	res, err := c.Fetch(ctx, []pdu.PMID{hostNameID})
	if err != nil {
		return "", err
	}
	set := res.Sets[0]
	switch {
	case set.Code < 0:
		return "", c.opError("host name", set.Code)
	case len(set.Values) != 1 || set.Values[0].Type != pdu.TypeString:
		return "", c.opError("host name", pdu.ErrValue)
	}
	return string(set.Values[0].Bytes), nil
}
