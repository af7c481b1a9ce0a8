package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

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
