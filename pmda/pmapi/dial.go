package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"pmdaderived/pdu"
)

// DefaultTimeout is the longest time for one exchange of PDUs if the context has no deadline. It is libpcp's default
// (PMCD_REQUEST_TIMEOUT).
const DefaultTimeout = 10 * time.Second

// connectTimeout is the longest time for one attempt to connect. It is libpcp's default (PMCD_CONNECT_TIMEOUT).
const connectTimeout = 5 * time.Second

// firstRequest is the metric whose descriptor Dial asks for. It is pmcd.hostname, because pmcd answers that without
// an agent process: a PM_ERR_AGAIN before the descriptor cannot be the answer.
const firstRequest = hostNameID

// Option changes a default of [Dial].
type Option func(*options)

type options struct {
	timeout time.Duration
	limit   int
	gate    Gate
}

// WithTimeout sets the longest time for one exchange of PDUs if the context has no deadline, instead of
// [DefaultTimeout].
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithLimit sets the length in bytes of the longest PDU that is accepted, instead of
// [pdu.ClientLimit]. A longer one ends the connection.
func WithLimit(bytes int) Option { return func(o *options) { o.limit = bytes } }

// Dial connects to a pmcd at an address of [ParseAddress], or on any stream network that [net.Dial]
// knows. The connection is ready for every request. Its profile selects all instances.
//
// Dial waits for the first PDU of pmcd. A pmcd that is just starting sends it when all its agents have been
// started. If pmcd refuses the client, the error wraps pmcd's code: [pdu.ErrPermission], [pdu.ErrConnLimit]. On a unix
// socket it wraps EAGAIN if pmcd's queue of connections is full.
func Dial(ctx context.Context, network, address string, opts ...Option) (*Conn, error) {
	o := options{timeout: DefaultTimeout, limit: pdu.ClientLimit}
	for _, set := range opts {
		set(&o)
	}
	nc, addr, err := connect(ctx, network, address)
	if err != nil {
		return nil, &OpError{Op: "connect", Addr: addr, Err: err}
	}
	c, err := newConn(nc, addr, o)
	if err != nil {
		return nil, &OpError{Op: "connect", Addr: addr, Err: err}
	}
	if err := c.handshake(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// connect tries the candidates of an address until one can be connected. addr is that one, or the whole
// address if none can.
func connect(ctx context.Context, network, address string) (nc net.Conn, addr string, err error) {
	addr = candidate{network, address}.String()
	all, err := candidates(network, address)
	if err != nil {
		return nil, addr, err
	}
	d := net.Dialer{Timeout: connectTimeout}
	for _, to := range all {
		nc, dialErr := d.DialContext(ctx, to.network, to.address)
		switch {
		case dialErr == nil:
			return nc, to.String(), nil
		case isTimeout(dialErr):
			dialErr = fmt.Errorf("%w: %w", pdu.ErrTimeout, dialErr)
		default:
			dialErr = transportError(ctx, dialErr, 0)
		}
		if err != nil {
			dialErr = fmt.Errorf("%w; %w", err, dialErr)
		}
		err = dialErr
	}
	return nil, addr, err
}

// isTimeout reports whether an attempt to connect timed out. EAGAIN, a full queue at pmcd, is no time-out, although its
// method Timeout says so.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, syscall.EAGAIN)
}

func newConn(nc net.Conn, addr string, o options) (*Conn, error) {
	s, err := newSocket(nc)
	if err != nil {
		return nil, err
	}
	return &Conn{
		socket:  s,
		addr:    addr,
		timeout: o.timeout,
		gate:    o.gate,
		frames:  pdu.NewSplitter(o.limit),
		out:     pdu.NewWriter(s),
	}, nil
}

// handshake reads the challenge, and sends the credentials and a profile that selects all instances. pmcd does not
// answer these. A first request shows whether it has accepted them.
func (c *Conn) handshake(ctx context.Context) error {
	const op = "connect"
	release := c.setDeadline(ctx)
	defer release()
	if err := c.readChallenge(); err != nil {
		return c.fail(op, transportError(ctx, err, 0))
	}
	creds := pdu.Creds{Version: pdu.ProtocolVersion}
	if err := c.send(ctx, op, &creds, int32(os.Getpid())); err != nil {
		return err
	}
	for _, req := range []pdu.Message{&pdu.Profile{}, &pdu.DescReq{PMID: firstRequest}} {
		if err := c.send(ctx, op, req, 0); err != nil {
			return err
		}
	}
	if err := c.readFirstReply(); err != nil {
		return c.fail(op, transportError(ctx, err, 0))
	}
	c.endExchange(op)
	return c.Err()
}

func (c *Conn) readChallenge() error {
	f, err := c.receive()
	if err != nil {
		return err
	}
	if f.Kind != pdu.KindError {
		return protocolErrorf("%v in place of the challenge", f.Kind)
	}
	var challenge pdu.Error
	if err := challenge.Decode(f.Body); err != nil {
		return err
	}
	if code := pdu.TranslateChallengeCode(challenge.Code); code < 0 {
		return code
	}
	if challenge.Code != 0 || !challenge.Extended {
		return protocolErrorf("no challenge")
	}
	if v := challenge.Challenge.Version; v != pdu.ProtocolVersion {
		return protocolErrorf("protocol version %d", v)
	}
	c.features = challenge.Challenge.Features
	return nil
}

// readFirstReply reads the answer to firstRequest. It skips one PM_ERR_AGAIN, which pmcd may send to a new client
// because some agent is not ready. A code by which pmcd refuses the client is an error. Any other code only means that
// the agent of the metric is not configured, and the connection is good.
func (c *Conn) readFirstReply() error {
	for again := false; ; again = true {
		f, err := c.receive()
		if err != nil {
			return err
		}
		var reply pdu.DescReply
		code, err := c.answer(f, &reply)
		switch {
		case err != nil:
			return err
		case code == pdu.ErrAgain && !again:
			continue
		case code == pdu.ErrAgain || refusesClient(code):
			return code
		case code == 0 && reply.Desc.PMID != firstRequest:
			return protocolErrorf("descriptor of %v, asked for %v", reply.Desc.PMID, firstRequest)
		}
		return nil
	}
}
