package pmapi

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
)

// Conn is a connection to a pmcd, made by [Dial]. One goroutine at a time may use it; the package comment has the
// exceptions. It corresponds to a context of the PMAPI (pmNewContext(3)).
type Conn struct {
	socket   *socket
	addr     string
	timeout  time.Duration
	features pdu.Features
	gate     Gate // nil: all requests are sent

	frames  *pdu.Splitter
	out     *pdu.Writer
	longest int // length in bytes of the longest PDU since the last answer

	// profileSent is true from SetProfile to the next reply, which shows that pmcd has accepted the PROFILE.
	profileSent bool
	changes     pdu.Change // announced and not yet returned by TakeChanges

	fetch       fetchState
	outstanding atomic.Bool // the answer to StartFetch has not come

	mu  sync.Mutex
	err error // the reason why the connection is closed; guarded by mu
}

// Addr returns the address of the pmcd, "unix:/path" or "host:port". If the specification has several addresses, it is
// the one that is connected.
func (c *Conn) Addr() string { return c.addr }

// Features returns the features that pmcd has announced. Methods use older PDUs by themselves where pmcd lacks one.
func (c *Conn) Features() pdu.Features { return c.features }

// Err returns the reason why the connection is closed, nil if it is good. It may be called at any time.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection; calls that wait return an error. It may be called at any time, and more than once. A
// connection that has failed is closed already: then Close returns nil.
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

// TakeChanges returns the changes that pmcd has announced since the last call: agents that were started or have
// gone, names or labels that have changed. pmcd announces them with the answers to fetches only, whose [Result]
// has them, too.
func (c *Conn) TakeChanges() pdu.Change {
	changes := c.changes
	c.changes = 0
	return changes
}

func (c *Conn) opError(op string, err error) error { return &OpError{Op: op, Addr: c.addr, Err: err} }

// fail closes the connection because of err, unless it is closed already, and returns the reason why it is closed.
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

// checkReady returns an error if no request can be sent now.
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
