package pmapi

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"pmdaderived/pdu"
)

// call sends req and reads its answer into reply. An answer that is an error, or cannot be decoded, is an *OpError with a
// code; every other error has ended the connection.
func (c *Conn) call(ctx context.Context, op string, req, reply pdu.Message) error {
	code, err := c.request(ctx, op, req, reply)
	if err == nil && code < 0 {
		return c.opError(op, code)
	}
	return err
}

// request sends req and reads its answer into reply or, if that is an ERROR or cannot be decoded, gives a code. An
// error has ended the connection, or nothing has been sent.
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

// startExchange makes sure that a request can be sent, and gives the socket the deadline of the context until release is called.
func (c *Conn) startExchange(ctx context.Context, op string) (release func(), err error) {
	if err := c.checkReady(op); err != nil {
		return nil, err
	}
	if err := interrupted(ctx); err != nil {
		return nil, c.opError(op, err)
	}
	return c.setDeadline(ctx), nil
}

// setDeadline gives the socket the deadline of the context until release is called. Whatever waits sets
// its own deadline, so the last one may stay.
func (c *Conn) setDeadline(ctx context.Context) (release func()) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.timeout)
	}
	return interruptible(ctx, deadline, c.socket.SetDeadline)
}

// send writes a PDU. An error has ended the connection.
func (c *Conn) send(ctx context.Context, op string, m pdu.Message, from int32) error {
	return c.checkWrite(ctx, op, c.out.WriteFrame(c.encode(m, from)))
}

// encode gives the frame of a PDU, valid until the next one.
func (c *Conn) encode(m pdu.Message, from int32) []byte {
	frame := c.out.Encode(m, from)
	c.longest = max(c.longest, len(frame))
	return frame
}

// checkWrite makes the error of a write the end of the connection. Its reason is the code that pmcd sent before it closed
// the connection, if one has arrived.
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

// receive reads up to the end of the next frame, which is valid until the next call.
func (c *Conn) receive() (pdu.Frame, error) {
	f, _, err := c.nextFrame(c.socket.Read)
	return f, err
}

// receiveNow is receive without waiting: ok is false when the socket holds no whole frame.
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

// answer decodes the frame that answers a request: a reply of the kind wanted, or an ERROR. The code is ErrIPC for what
// cannot be decoded or says nothing: an agent may have said so to pmcd. An error is the end of the connection: answers and requests do
// not belong together any more.
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

// errorCode decodes an ERROR. The code that may belong to a refused PROFILE is an error: the answer
// to the request would follow it and be taken for the answer to the next.
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

// endExchange is called after an answer. What follows it ends the connection, but the answer is good.
func (c *Conn) endExchange(op string) {
	c.longest = 0
	if err := c.surplus(); err != nil {
		_ = c.fail(op, err)
	}
}

// surplus tells what has been read though nobody asked for it, nil if nothing has.
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

// unaskedError gives the reason for what pmcd says without having been asked: the code of its refusal,
// when the access rules have changed.
func unaskedError(f pdu.Frame) error {
	var e pdu.Error
	if f.Kind == pdu.KindError && e.Decode(f.Body) == nil && e.Code < 0 {
		return e.Code
	}
	return protocolErrorf("%v that was not requested", f.Kind)
}
