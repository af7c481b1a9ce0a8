package pmda

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/pdu"
)

// Requests and replies have no numbers: pmcd uses whatever it reads as the reply to its last request. When a signal
// interrupts pmcd 6.0 in a fetch, it goes on without the reply that it was waiting for. It then uses that reply for
// its next request, the reply to that for the one after it, and so on. Clients get the values of other metrics,
// and names get wrong PMIDs.
//
// An agent cannot see what pmcd reads, but it can see the bytes in the two pipes. pmcd has gone on without a reply if
// its next PDU has come when the reply is ready (requestPending), or if the reply is still in the pipe when the next
// PDU has come (checkReplies).

// unreadBytes are the bytes in the two pipes of an agent.
type unreadBytes interface {
	// requests returns the number of bytes from pmcd that we have not read, replies the number of bytes of our
	// replies that pmcd has not read.
	requests() (int, error)
	replies() (int, error)
	// removeReplies reads the rest of our replies from the pipe, and returns it.
	removeReplies() ([]byte, error)
}

// errOutOfStep means that pmcd would use our replies for other requests than they answer.
var errOutOfStep = errors.New("pmcd did not wait for a reply")

// checkReplies is called for each PDU before it is handled. It removes a reply that pmcd has not read at all. Nothing
// else is needed then. If pmcd has begun to read the reply meanwhile, it uses that for its next request that gets one.
// Then the rest is put back, and replyRead is set: that request must get no reply of its own, or all later ones would
// be used for the wrong requests.
func (s *session) checkReplies(k pdu.Kind) error {
	if s.pipes == nil || s.replyRead {
		return nil
	}
	if n, err := s.pipes.replies(); n == 0 || err != nil { // the next write reports a broken pipe
		return nil
	}
	left, err := s.pipes.removeReplies()
	entry := s.log.WithField("next", k)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errOutOfStep, err)
	case len(left) > s.replySize:
		return fmt.Errorf("%w: of %d bytes %d were left", errOutOfStep, s.replySize, len(left))
	case len(left) == s.replySize:
		entry.Warn("pmcd did not wait for a reply; the agent removed it from the pipe")
		return nil
	}
	if err := s.out.WriteFrame(left); err != nil {
		return fmt.Errorf("%w: %w", errOutOfStep, err)
	}
	s.replyRead = true
	entry.Warn("pmcd has read a late reply as that to its next request; the agent sends no other")
	return nil
}

// leastWait is the shortest time in which pmcd can go on without a reply: it has other agents and clients to serve
// before it sends the next request. Faster replies are spared the system call.
const leastWait = 100 * time.Microsecond

// requestPending reports whether pmcd has sent another PDU since the request that arrived at arrived, whose reply is
// ready.
func (s *session) requestPending(arrived time.Time) bool {
	if s.pipes == nil {
		return false
	}
	if s.in.Pending() > 0 {
		return true
	}
	if s.now().Sub(arrived) < leastWait {
		return false
	}
	n, err := s.pipes.requests()
	return n > 0 && err == nil
}

// pipes are the two pipes of an agent.
type pipes struct{ in, out pipeEnd }

// newPipes returns the pipes of a session. It returns nil if a file is no pipe, or if its other end cannot be opened
// again, because the system has no /proc or the pipe belongs to another user.
func newPipes(in, out *os.File) *pipes {
	p := new(pipes)
	if p.in.init(in, unix.O_WRONLY) != nil || p.out.init(out, unix.O_RDONLY) != nil {
		return nil
	}
	return p
}

func (p *pipes) requests() (int, error) { return p.in.file.Unread() }
func (p *pipes) replies() (int, error)  { return p.out.file.Unread() }

func (p *pipes) removeReplies() (left []byte, err error) {
	end, err := p.out.reopen()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.NewSyscallError("close", unix.Close(end))) }()
	for scratch := make([]byte, 64<<10); ; {
		some, err := unix.Read(end, scratch)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN) || err == nil && some == 0:
			return left, nil
		case err != nil:
			return left, os.NewSyscallError("read", err)
		default:
			left = append(left, scratch[:some]...)
		}
	}
}
