package pmapi

import "pmdaderived/pdu"

// Gate decides for each request whether it is sent, and can measure how long its answer takes. A caller needs one to
// leave out requests to slow agents: pmcd serves no other client while it waits for an agent. Fetches do not pass the
// gate.
type Gate interface {
	// Ask is called before a request is sent. If it returns a code below zero, the request is not sent, and the
	// code is used as pmcd's answer. A request in bulk, for names or descriptors, is then asked again in smaller
	// parts, as if pmcd had refused it.
	Ask(req pdu.Message) pdu.Code

	// Answered is called when the answer to a request has come. code is below zero for an error, 0 for a reply. It is
	// not called if the connection fails.
	Answered(req pdu.Message, code pdu.Code)
}

// WithGate sets the gate. Its methods are called on the goroutine that makes the request.
func WithGate(g Gate) Option { return func(o *options) { o.gate = g } }

// askGate asks the gate, if there is one. The result is 0 or below.
func (c *Conn) askGate(req pdu.Message) pdu.Code {
	if c.gate == nil {
		return 0
	}
	return min(0, c.gate.Ask(req))
}

// reportToGate reports an answer to the gate, if there is one.
func (c *Conn) reportToGate(req pdu.Message, code pdu.Code) {
	if c.gate != nil {
		c.gate.Answered(req, code)
	}
}
