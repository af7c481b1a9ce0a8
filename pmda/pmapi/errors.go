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

// OpError is the error of every operation on a connection: what was asked, of whom, and why it
// did not work. Its Err holds a [pdu.Code] where pmcd gave one.
type OpError struct {
	Op   string // "fetch", "look up names", …
	Addr string // of the pmcd, "unix:/path" or "host:port"
	Err  error
}

func (e *OpError) Error() string { return "pmcd " + e.Addr + ": " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *OpError) Unwrap() error { return e.Err }

// ErrOutstanding says that a call has to wait for the answer to StartFetch. The connection is good.
var ErrOutstanding = errors.New("a fetch is outstanding")

// ErrTooLarge is in the error of a connection that pmcd closed right after a long request. That is
// how pmcd refuses what is longer than its limit (its option -L), but it may have ended just then:
// ask again with less.
var ErrTooLarge = errors.New("the request may be too large for pmcd, see its option -L")

// suspiciousRequest is the length in bytes from which a request may be the reason for the end of
// the connection. pmcd's default limit is 65,536, an administrator may have set a lower one.
const suspiciousRequest = 1 << 10

// protocolError says what pmcd sent that cannot be the answer. It is an ErrIPC.
type protocolError struct{ reason string }

func (e *protocolError) Error() string { return pdu.ErrIPC.Error() + ": " + e.reason }
func (e *protocolError) Unwrap() error { return pdu.ErrIPC }

func protocolErrorf(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// transportError gives a failure of the transport its PMAPI code: ErrTimeout or, if pmcd has ended the
// connection, ErrEOF. sent is the length in bytes of the request that waits for its answer.
func transportError(ctx context.Context, err error, sent int) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if cause := interrupted(ctx); cause != nil {
			return cause
		}
		if _, ok := ctx.Deadline(); ok { // the socket's clock was first
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

// interrupted gives the reason why the context has ended, nil if it has not; a deadline of the
// context's is a time-out like any other.
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

// refusesClient tells the codes by which pmcd refuses a client or its profile. pmcd sends them
// without having been asked, so that one reply too many may be on its way. Source: docs/protocol.md 5.1.
func refusesClient(code pdu.Code) bool {
	switch code {
	case pdu.ErrPermission, pdu.ErrIPC, pdu.ErrNotConn, -pdu.Code(syscall.EAGAIN), -pdu.Code(syscall.EOPNOTSUPP):
		return true
	}
	return false
}
