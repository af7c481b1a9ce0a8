package pmapi

import (
	"context"
	"errors"
	"os"
	"time"

	"pmdaderived/pdu"
)

// startTimeout is how long StartFetch waits for space in the buffer of the socket. A request is far
// shorter than the buffer: without space pmcd has stopped reading.
const startTimeout = 20 * time.Millisecond

// StartFetch sends a fetch and does not wait for the answer, which [Conn.PollColumns] returns. It returns
// [ErrOutstanding] if the answer to an earlier one has not come. It waits for 20 ms at most: if the request
// cannot be written by then, the connection is closed. ids are copied.
//
// StartFetch may be called while another goroutine is in [Conn.WaitReadable].
func (c *Conn) StartFetch(ids []pdu.PMID) error {
	const op = "fetch"
	if err := c.checkReady(op); err != nil {
		return err
	}
	req, err := c.fetchRequest(op, ids)
	if err != nil {
		return err
	}
	err = c.socket.writeSoon(c.encode(req, 0), startTimeout)
	if err := c.checkWrite(context.Background(), op, err); err != nil {
		return err
	}
	c.outstanding.Store(true)
	if err := c.Err(); err != nil { // another goroutine has called Close
		c.outstanding.Store(false)
		return err
	}
	return nil
}

// FetchOutstanding reports whether the answer to StartFetch has not come yet. It may be called at any
// time.
func (c *Conn) FetchOutstanding() bool { return c.outstanding.Load() }

// PollColumns reads the bytes that have arrived and never waits. done is false if the answer is not complete.
// Otherwise the fetch has ended, with a result or with an error. PollColumns may also be called without an
// outstanding fetch: it then finds out whether pmcd has closed the connection.
//
// PollColumns may be called while another goroutine is in [Conn.WaitReadable].
func (c *Conn) PollColumns() (res *Columns, done bool, err error) {
	const op = "fetch"
	if err := c.Err(); err != nil {
		return nil, true, err
	}
	for {
		f, ok, err := c.receiveNow()
		switch {
		case err != nil:
			return nil, true, c.fail(op, transportError(context.Background(), err, c.longest))
		case !ok:
			return nil, false, nil
		case !c.outstanding.Load():
			return nil, true, c.fail(op, unaskedError(f))
		}
		if res, done, err := c.handleFetchReply(op, f); done {
			c.outstanding.Store(false)
			return res, true, err
		}
	}
}

// WaitReadable waits until there is something to read, or the connection has been closed by pmcd or by
// [Conn.Close]. [Conn.PollColumns] then returns the reason. The end of the context ends the wait, and the
// connection is still good.
//
// It is meant for a goroutine that does nothing else. Meanwhile only StartFetch, PollColumns and
// methods that may be called at any time may be called: others would read from the socket, too.
func (c *Conn) WaitReadable(ctx context.Context) error {
	const op = "wait"
	if err := c.Err(); err != nil {
		return err
	}
	if err := interrupted(ctx); err != nil {
		return c.opError(op, err)
	}
	release := interruptible(ctx, time.Time{}, c.socket.SetReadDeadline)
	err := c.socket.waitReadable()
	release()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return c.opError(op, interrupted(ctx))
	case c.Err() != nil:
		return c.Err()
	}
	return c.opError(op, err)
}
