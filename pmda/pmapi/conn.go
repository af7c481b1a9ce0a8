package pmapi

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
)

// Conn is a connection to a pmcd. See the package comment for who may call what when.
type Conn struct {
	socket   *socket
	addr     string
	timeout  time.Duration
	features pdu.Features
	gate     Gate // nil: all requests are sent

	frames  *pdu.Splitter
	out     *pdu.Writer
	longest int // length in bytes of the longest PDU that no answer has followed yet

	// profileSent is set until a reply has shown that pmcd has taken the last PROFILE.
	profileSent bool
	changes     pdu.Change

	fetch       fetchState
	outstanding atomic.Bool

	mu  sync.Mutex
	err error // why the connection is no more; guarded by mu
}

// Addr names the pmcd, "unix:/path" or "host:port": the one of the candidates that took the
// connection.
func (c *Conn) Addr() string { return c.addr }

// Features are those that pmcd has announced. Calls fall back to older PDUs by themselves.
func (c *Conn) Features() pdu.Features { return c.features }

// Err tells why the connection is no more, nil if it is good. It may be called at any time.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and every call on it that is waiting. It may be called at any time,
// more than once; a connection that has failed is closed already.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	c.err = c.opError("close", net.ErrClosed)
	c.outstanding.Store(false)
	return c.socket.Close()
}

// TakeChanges returns the changes that pmcd has announced since the last call: agents come and
// gone, names or labels changed. They arrive with the answers to fetches, in [Result] too.
func (c *Conn) TakeChanges() pdu.Change {
	taken := c.changes
	c.changes = 0
	return taken
}

func (c *Conn) opError(op string, err error) error { return &OpError{Op: op, Addr: c.addr, Err: err} }

// fail makes err the end of the connection, unless it has ended before, and gives the error to
// return.
func (c *Conn) fail(op string, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outstanding.Store(false)
	if c.err == nil {
		c.err = c.opError(op, err)
		_ = c.socket.Close()
	}
	return c.err
}

// checkReady tells whether a request can be sent.
func (c *Conn) checkReady(op string) error {
	if err := c.Err(); err != nil {
		return err
	}
	if c.outstanding.Load() {
		return c.opError(op, ErrOutstanding)
	}
	if err := c.surplus(); err != nil {
		return c.fail(op, err)
	}
	return nil
}
