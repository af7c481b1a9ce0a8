package pmapi

import (
	"context"
	"errors"
	"os"
	"time"

	"pmdaderived/pdu"
)

// startTimeout is how long StartFetch waits for room in the buffer of the socket. A request is far
// shorter than the buffer; if there is no room pmcd has stopped reading.
const startTimeout = 20 * time.Millisecond

// StartFetch sends a fetch and does not wait for the answer, which [Conn.PollColumns] takes.
// [ErrOutstanding] if there is one to come already. It waits for milliseconds at most; a request
// that cannot be written whole ends the connection.
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
	_, err = c.socket.writeSoon(c.encode(req, 0), startTimeout)
	if err := c.checkWrite(context.Background(), op, err); err != nil {
		return err
	}
	c.outstanding.Store(true)
	if err := c.Err(); err != nil { // closed meanwhile
		c.outstanding.Store(false)
		return err
	}
	return nil
}

// FetchOutstanding tells whether the answer to StartFetch is still to come. It may be called at any
// time.
func (c *Conn) FetchOutstanding() bool { return c.outstanding.Load() }

// PollColumns reads what has arrived and never waits. done says that there is nothing more to wait
// for: the result is there, or err says why there is none. It may be called without an outstanding
// fetch too: then it finds out whether pmcd has ended the connection.
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

// WaitReadable waits until there is something to read or the connection has ended, by pmcd or by
// [Conn.Close]; [Conn.PollColumns] tells which. The end of the context ends the wait and nothing else.
//
// It is meant for a goroutine that does nothing else. Meanwhile only StartFetch, PollColumns and the
// methods that may be called at any time may be called: the others would compete for the socket.
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
