package pmapi

import (
	"context"

	"pmdaderived/pdu"
)

// call sends req and reads its answer into reply. An error answer is an *OpError with its code;
// every other error has ended the connection.
func (c *Conn) call(ctx context.Context, op string, req, reply pdu.Message) error {
	code, err := c.request(ctx, op, req, reply)
	if err == nil && code < 0 {
		return c.opError(op, code)
	}
	return err
}

// request sends req and reads its answer into reply or, if that is an ERROR, gives its code. An
// error has ended the connection, or nothing has been sent.
func (c *Conn) request(ctx context.Context, op string, req, reply pdu.Message) (pdu.Code, error) {
	if err := c.ready(op); err != nil {
		return 0, err
	}
	if err := interrupted(ctx); err != nil {
		return 0, c.opError(op, err)
	}
	disarm := c.arm(ctx)
	defer disarm()
	if err := c.out.Write(req, 0); err != nil {
		return 0, c.fail(op, c.lastWords(explain(ctx, err, c.output.longest)))
	}
	f, err := c.input.receive()
	if err != nil {
		return 0, c.fail(op, explain(ctx, err, c.output.longest))
	}
	code, err := c.answer(f, reply)
	if err != nil {
		return 0, c.fail(op, err)
	}
	c.settle(op)
	return code, nil
}

// answer decodes the frame that answers a request: a reply of the kind wanted, or an ERROR.
func (c *Conn) answer(f pdu.Frame, reply pdu.Message) (pdu.Code, error) {
	if f.Kind == reply.Kind() && f.Kind != pdu.KindError {
		c.profileSent = false
		return 0, reply.Decode(f.Body)
	}
	code, err := c.errorCode(f)
	if err != nil {
		return 0, err
	}
	if code > 0 || code == 0 && reply.Kind() != pdu.KindError {
		return 0, protocolErrorf("ERROR %d in place of %v", int32(code), reply.Kind())
	}
	return code, nil
}

// errorCode decodes an ERROR. The code that may belong to a refused PROFILE is an error: the answer
// to the request would follow it and be taken for the answer to the next.
func (c *Conn) errorCode(f pdu.Frame) (pdu.Code, error) {
	if f.Kind != pdu.KindError {
		return 0, protocolErrorf("unexpected %v", f.Kind)
	}
	var e pdu.Error
	if err := e.Decode(f.Body); err != nil {
		return 0, err
	}
	if e.Extended {
		return 0, protocolErrorf("a challenge in place of an answer")
	}
	if c.profileSent && refusesClient(e.Code) {
		return 0, e.Code
	}
	c.profileSent = false
	return e.Code, nil
}

// settle is called after an answer. What follows it ends the connection, but the answer is good.
func (c *Conn) settle(op string) {
	c.output.longest = 0
	if err := c.surplus(); err != nil {
		_ = c.fail(op, err)
	}
}

// surplus tells what has been read though nobody asked for it, nil if nothing has.
func (c *Conn) surplus() error {
	n := c.input.frames.Pending()
	if n == 0 {
		return nil
	}
	f, ok, err := c.input.frames.Next()
	if err != nil {
		return err
	}
	if ok {
		return unasked(f)
	}
	return protocolErrorf("%d bytes that nobody asked for", n)
}

// unasked gives the reason for what pmcd says without having been asked: the code of its refusal,
// when the access rules have changed.
func unasked(f pdu.Frame) error {
	var e pdu.Error
	if f.Kind == pdu.KindError && e.Decode(f.Body) == nil && e.Code < 0 {
		return e.Code
	}
	return protocolErrorf("%v that nobody asked for", f.Kind)
}

// lastWords replaces the error of a write by the code that pmcd sent before it closed the
// connection, if one has arrived.
func (c *Conn) lastWords(writeErr error) error {
	if f, ok, err := c.input.receiveNow(); err == nil && ok {
		return unasked(f)
	}
	return writeErr
}
