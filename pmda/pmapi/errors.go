package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"pmdaderived/pdu"
)

// OpError is the error of every operation on a connection. Use [pdu.CodeOf] to get the code, and [Conn.Err] to learn
// whether the connection is still good.
type OpError struct {
	Op   string // "fetch", "look up names", …
	Addr string // of the pmcd, "unix:/path" or "host:port"
	Err  error  // the reason; it wraps a [pdu.Code] if pmcd answered with one
}

func (e *OpError) Error() string { return "pmcd " + e.Addr + ": " + e.Op + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *OpError) Unwrap() error { return e.Err }

// ErrOutstanding is the error of a call between StartFetch and its answer. The connection is good: call PollColumns
// until it is done.
var ErrOutstanding = errors.New("a fetch is outstanding")

// ErrTooLarge is wrapped by the error of a connection that pmcd closed after a long request. pmcd closes it if a
// request is longer than its limit (its option -L). But pmcd may also have ended by chance just then. The caller should
// dial again and send shorter requests.
var ErrTooLarge = errors.New("the request may be too large for pmcd, see its option -L")

// suspiciousRequest is the length in bytes of the shortest request that may be the reason why pmcd closes
// the connection. pmcd's default limit is 65,536; an administrator may have set a lower one.
const suspiciousRequest = 1 << 10

// protocolError describes a PDU of pmcd that cannot be the answer. It unwraps to ErrIPC.
type protocolError struct{ reason string }

func (e *protocolError) Error() string { return pdu.ErrIPC.Error() + ": " + e.reason }
func (e *protocolError) Unwrap() error { return pdu.ErrIPC }

func protocolErrorf(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// transportError adds a PMAPI code to an error of the socket: ErrTimeout or, if pmcd has closed the connection, ErrEOF.
// sent is the length in bytes of the longest request that waits for an answer.
func transportError(ctx context.Context, err error, sent int) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if cause := interrupted(ctx); cause != nil {
			return cause
		}
		if _, ok := ctx.Deadline(); ok { // the deadline of the socket was a little earlier
			return fmt.Errorf("%w: %w", pdu.ErrTimeout, context.DeadlineExceeded)
		}
		return pdu.ErrTimeout
	case errors.Is(err, net.ErrClosed):
		return net.ErrClosed
	case closedByPeer(err) && sent >= suspiciousRequest:
		return fmt.Errorf("%w after %d bytes: %w: %w", pdu.ErrEOF, sent, ErrTooLarge, err)
	case closedByPeer(err):
		return fmt.Errorf("%w: %w", pdu.ErrEOF, err)
	}
	return err
}

// interrupted returns the reason why the context has ended, nil if it has not. For a deadline it wraps
// ErrTimeout, as the reason of any other time-out does.
func interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", pdu.ErrTimeout, cause)
	}
	return cause
}

func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refusesClient reports whether pmcd refuses a client or its profile with this code. pmcd sends such an ERROR without a
// request, so the answer to a request may still follow. Source: docs/protocol.md 5.1.
func refusesClient(code pdu.Code) bool {
	switch code {
	case pdu.ErrPermission, pdu.ErrIPC, pdu.ErrNotConn, -pdu.Code(syscall.EAGAIN), -pdu.Code(syscall.EOPNOTSUPP):
		return true
	}
	return false
}
