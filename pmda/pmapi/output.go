package pmapi

import "time"

// startTimeout is how long StartFetch waits for room in the buffer of the socket. A request is far
// shorter than the buffer; if there is no room pmcd has stopped reading.
const startTimeout = 20 * time.Millisecond

// output is the writing end of a connection, below the PDU writer: one Write is one PDU.
type output struct {
	socket *socket

	// longest is the length in bytes of the longest PDU that no answer has followed yet.
	longest int

	// hurry makes Write wait for startTimeout at most.
	hurry bool
}

// Write writes a PDU, with the deadline of the socket or in a hurry.
func (o *output) Write(p []byte) (int, error) {
	o.longest = max(o.longest, len(p))
	if o.hurry {
		return o.socket.writeSoon(p, startTimeout)
	}
	return o.socket.Write(p)
}
