package pmapi

import (
	"errors"
	"net"
	"syscall"
	"time"

	"pmdaderived/pmda/nonblock"
)

// startTimeout is how long StartFetch waits for room in the buffer of the socket. A request is far
// shorter than the buffer; if there is no room pmcd has stopped reading.
const startTimeout = 20 * time.Millisecond

// output is the writing end of a connection, below the PDU writer: one Write is one PDU.
type output struct {
	nc  net.Conn
	raw syscall.RawConn

	// longest is the length in bytes of the longest PDU that no answer has followed yet.
	longest int

	// hurry makes Write wait for startTimeout at most.
	hurry bool

	// writeNow is writeSocket as a value, made once; the others are its argument and results.
	writeNow func(fd uintptr)
	data     []byte
	n        int
	err      error
}

// Write writes a PDU, with the deadline of the socket or in a hurry. In a hurry it first hands the
// socket what it takes, without a deadline: on a machine that is short of CPU a short one can be over
// before the write has begun.
func (o *output) Write(p []byte) (int, error) {
	o.longest = max(o.longest, len(p))
	if !o.hurry {
		return o.nc.Write(p)
	}
	o.data = p
	err := o.raw.Control(o.writeNow)
	o.data = nil
	switch {
	case err != nil:
		return 0, err
	case o.n == len(p):
		return o.n, nil
	case o.err != nil && !errors.Is(o.err, syscall.EAGAIN):
		return 0, o.err
	}
	if err := o.nc.SetWriteDeadline(time.Now().Add(startTimeout)); err != nil {
		return o.n, err
	}
	n, err := o.nc.Write(p[o.n:])
	return o.n + n, err
}

// writeSocket writes once what the socket takes.
func (o *output) writeSocket(fd uintptr) {
	o.n, o.err = nonblock.Write(int(fd), o.data)
}
