package pmapi

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"pmdaderived/pdu"
)

// call sends req and reads its answer into reply. If the answer is an ERROR or cannot be decoded, the error is an
// *OpError with a code. After any other error the connection is closed.
func (c *Conn) call(ctx context.Context, op string, req, reply pdu.Message) error {
	code, err := c.request(ctx, op, req, reply)
	if err == nil && code < 0 {
		return c.opError(op, code)
	}
	return err
}

// request sends req and reads its answer into reply. If the answer is an ERROR or cannot be decoded, it returns a code
// below zero. After an error the connection is closed, or nothing has been sent.
func (c *Conn) request(ctx context.Context, op string, req, reply pdu.Message) (pdu.Code, error) {
	release, err := c.startExchange(ctx, op)
	if err != nil {
		return 0, err
	}
	defer release()
	if code := c.askGate(req); code < 0 {
		return code, nil
	}
	if err := c.send(ctx, op, req, 0); err != nil {
		return 0, err
	}
	f, err := c.receive()
	if err != nil {
		return 0, c.fail(op, transportError(ctx, err, c.longest))
	}
	code, err := c.answer(f, reply)
	if err != nil {
		return 0, c.fail(op, err)
	}
	c.endExchange(op)
	c.reportToGate(req, code)
	return code, nil
}

// startExchange returns an error if no request can be sent. Otherwise it sets the deadline of the socket, until release
// is called.
func (c *Conn) startExchange(ctx context.Context, op string) (release func(), err error) {
	if err := c.checkReady(op); err != nil {
		return nil, err
	}
	if err := interrupted(ctx); err != nil {
		return nil, c.opError(op, err)
	}
	return c.setDeadline(ctx), nil
}

// setDeadline sets the deadline of the socket to that of the context, or to the default timeout. Until release is
// called the end of the context interrupts reads and writes. release does not remove the deadline: each wait sets its
// own.
func (c *Conn) setDeadline(ctx context.Context) (release func()) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.timeout)
	}
	return interruptible(ctx, deadline, c.socket.SetDeadline)
}

// send writes a PDU. After an error the connection is closed.
func (c *Conn) send(ctx context.Context, op string, m pdu.Message, from int32) error {
	return c.checkWrite(ctx, op, c.out.WriteFrame(c.encode(m, from)))
}

// encode returns the frame of a PDU, valid until the next call.
func (c *Conn) encode(m pdu.Message, from int32) []byte {
	frame := c.out.Encode(m, from)
	c.longest = max(c.longest, len(frame))
	return frame
}

// checkWrite closes the connection if a write returned an error. If pmcd sent an ERROR before it closed the connection,
// the reason is the code of that.
func (c *Conn) checkWrite(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	err = transportError(ctx, err, c.longest)
	if f, ok, readErr := c.receiveNow(); readErr == nil && ok {
		err = unaskedError(f)
	}
	return c.fail(op, err)
}

// receive waits for the next frame, which is valid until the next call.
func (c *Conn) receive() (pdu.Frame, error) {
	f, _, err := c.nextFrame(c.socket.Read)
	return f, err
}

// receiveNow returns the next frame if it has arrived. It does not wait: ok is false if the frame is not complete.
func (c *Conn) receiveNow() (f pdu.Frame, ok bool, err error) { return c.nextFrame(c.socket.readNow) }

func (c *Conn) nextFrame(read func([]byte) (int, error)) (f pdu.Frame, ok bool, err error) {
	for {
		if f, ok, err = c.frames.Next(); ok || err != nil {
			return f, ok, err
		}
		n, err := read(c.frames.Buffer())
		c.frames.Advance(n)
		switch {
		case n > 0 || err == nil:
		case errors.Is(err, syscall.EAGAIN):
			return f, false, nil
		case errors.Is(err, io.EOF) && c.frames.Pending() > 0:
			return f, false, io.ErrUnexpectedEOF
		default:
			return f, false, err
		}
	}
}

// answer decodes the frame that answers a request: a PDU of the kind of reply, or an ERROR. The code is that of the
// ERROR. It is ErrIPC for a body that cannot be decoded, and for an ERROR without a code below zero: an agent may have
// sent it. On an error the caller closes the connection, since later answers would be used for the wrong requests.
func (c *Conn) answer(f pdu.Frame, reply pdu.Message) (pdu.Code, error) {
	if f.Kind == reply.Kind() && f.Kind != pdu.KindError {
		c.profileSent = false
		if reply.Decode(f.Body) != nil {
			return pdu.ErrIPC, nil
		}
		return 0, nil
	}
	code, err := c.errorCode(f)
	if err == nil && (code > 0 || code == 0 && reply.Kind() != pdu.KindError) {
		code = pdu.ErrIPC
	}
	return code, err
}

// errorCode decodes an ERROR and returns its code. If the code may be the refusal of a PROFILE, it is returned as an
// error: the answer to the request would follow, and would be used for the next request.
func (c *Conn) errorCode(f pdu.Frame) (pdu.Code, error) {
	if f.Kind != pdu.KindError {
		return 0, protocolErrorf("unexpected %v", f.Kind)
	}
	var e pdu.Error
	if e.Decode(f.Body) != nil || e.Extended {
		e.Code = pdu.ErrIPC
	}
	if c.profileSent && refusesClient(e.Code) {
		return 0, e.Code
	}
	c.profileSent = false
	return e.Code, nil
}

// endExchange is called after an answer, which is good. If pmcd has sent bytes after the answer, it closes the
// connection.
func (c *Conn) endExchange(op string) {
	c.longest = 0
	if err := c.surplus(); err != nil {
		_ = c.fail(op, err)
	}
}

// surplus returns an error if bytes have arrived that no request asked for.
func (c *Conn) surplus() error {
	n := c.frames.Pending()
	if n == 0 {
		return nil
	}
	f, ok, err := c.frames.Next()
	if err != nil {
		return err
	}
	if ok {
		return unaskedError(f)
	}
	return protocolErrorf("%d bytes that were not requested", n)
}

// unaskedError returns the error for a frame that no request asked for. For an ERROR it is the code: pmcd sends one
// when it refuses the client, because its access rules have changed.
func unaskedError(f pdu.Frame) error {
	var e pdu.Error
	if f.Kind == pdu.KindError && e.Decode(f.Body) == nil && e.Code < 0 {
		return e.Code
	}
	return protocolErrorf("%v that was not requested", f.Kind)
}
