package pmapi

import "pmdaderived/pdu"

// Gate decides which requests that wait for their answer are sent, and sees how long each takes: pmcd serves nobody else
// meanwhile, and an agent that is slow holds up everybody.
type Gate interface {
	// Ask is called before a request is sent. A code below zero takes the place of pmcd's answer; then the request is not sent. Of
	// names and descriptors, which are asked for in bulk, a refused request is asked again in smaller ones.
	Ask(req pdu.Message) pdu.Code

	// Answered is called when the answer to a request has come: a code below zero, or a reply.
	Answered(req pdu.Message, code pdu.Code)
}

// WithGate sets who decides on requests, but for fetches. It is called on the goroutine that makes the request.
func WithGate(g Gate) Option { return func(o *options) { o.gate = g } }

// askGate asks the gate, if there is one.
func (c *Conn) askGate(req pdu.Message) pdu.Code {
	if c.gate == nil {
		return 0
	}
	return min(0, c.gate.Ask(req))
}

// reportToGate tells the gate, if there is one.
func (c *Conn) reportToGate(req pdu.Message, code pdu.Code) {
	if c.gate != nil {
		c.gate.Answered(req, code)
	}
}
