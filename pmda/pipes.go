package pmda

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/pdu"
)

// Requests and replies have no numbers: pmcd takes what it reads for the reply to what it has asked last. When a
// signal interrupts pmcd 6.0 in a fetch it goes on without the reply that it was waiting for, and takes that for the
// reply to its next request, and so on: clients get the values of other metrics, and names the identifiers
// of others. An agent cannot see what pmcd reads, but what is in the pipes: if the next PDU is there when a reply is
// ready, or a reply still when the next PDU has come, then pmcd has gone on without it.

// unreadBytes are what is in the pipes of an agent.
type unreadBytes interface {
	// requests is how many bytes of requests we have not read, replies how many of our replies pmcd has not.
	requests() (int, error)
	replies() (int, error)
	// removeReplies reads what is left of the replies.
	removeReplies() ([]byte, error)
}

// errOutOfStep says that pmcd would take our replies for those to other requests.
var errOutOfStep = errors.New("pmcd did not wait for a reply")

// checkReplies is called for each PDU before it is answered. A reply that pmcd has left whole is taken back, and
// all is as if it had been read. One that pmcd has begun to read meanwhile is, to pmcd, the reply to the next
// request that gets one: that must get no other, or all that follow would be taken for those to others.
func (s *session) checkReplies(k pdu.Kind) error {
	if s.pipes == nil || s.replyRead {
		return nil
	}
	if n, err := s.pipes.replies(); n == 0 || err != nil { // whoever writes next will know
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

// slow is how long an answer takes at least if pmcd goes on without it meanwhile: it has its agents and clients to look after.
const leastWait = 100 * time.Microsecond

// overtaken reports whether pmcd has sent something since the request that a reply is ready for.
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

// newPipes looks into the files of a session; nil if one is no pipe, or if its other end cannot be opened again: the
// system has no /proc, or the pipe belongs to another user.
func newPipes(in, out *os.File) *pipes {
	p := new(pipes)
	if p.in.init(in, unix.O_WRONLY) != nil || p.out.init(out, unix.O_RDONLY) != nil {
		return nil
	}
	return p
}

func (p *pipes) requests() (int, error) { return p.in.unread() }
func (p *pipes) replies() (int, error)  { return p.out.unread() }

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
