package pmda

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/pdu"
	"pmdaderived/pmda/nonblock"
)

// Requests and replies have no numbers: pmcd takes what it reads for the reply to what it has asked last. When a
// signal interrupts pmcd 6.0 in a fetch it goes on without the reply that it was waiting for, and takes that for the
// reply to its next request, and so on: clients get the values of other metrics, and names the identifiers
// of others. An agent cannot see what pmcd reads, but what is in the pipes: if the next PDU is there when a reply is
// ready, or a reply still when the next PDU has come, then pmcd has gone on without it.

// leftovers is a stream of replies that tells what pmcd has not read.
type leftovers interface {
	// unread is how many bytes are still in the pipe.
	unread() (int, error)
	// takeBack reads them.
	takeBack() ([]byte, error)
	// giveBack writes what was taken back.
	giveBack([]byte) error
}

// errOutOfStep says that pmcd would take our replies for those to other requests.
var errOutOfStep = errors.New("pmcd has gone on without a reply")

// keepInStep is called for each PDU before it is answered. A reply that pmcd has left whole is taken back, and
// all is as if it had been read. One that pmcd has begun to read meanwhile is, to pmcd, the reply to the next
// request that gets one: that must get no other, or all that follow would be taken for those to others.
func (s *session) keepInStep(k pdu.Kind) error {
	if s.leftovers == nil || s.answered {
		return nil
	}
	if n, err := s.leftovers.unread(); n == 0 || err != nil { // whoever writes next will know
		return nil
	}
	left, err := s.leftovers.takeBack()
	entry := s.log.WithField("next", k)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errOutOfStep, err)
	case len(left) > s.replySize:
		return fmt.Errorf("%w: of %d bytes %d were left", errOutOfStep, s.replySize, len(left))
	case len(left) == s.replySize:
		entry.Warn("pmcd has gone on without a reply, which is taken back")
		return nil
	}
	if err := s.leftovers.giveBack(left); err != nil {
		return fmt.Errorf("%w: %w", errOutOfStep, err)
	}
	s.answered = true
	entry.Warn("pmcd takes a reply for that to its next request, which gets no other")
	return nil
}

// slow is how long an answer takes at least if pmcd goes on without it meanwhile: it has its agents and clients to look after.
const slow = 100 * time.Microsecond

// overtaken reports whether pmcd has sent something since the request that a reply is ready for.
func (s *session) overtaken(arrived time.Time) bool {
	if s.leftovers == nil {
		return false
	}
	if s.in.Pending() > 0 {
		return true
	}
	if s.requests == nil || s.now().Sub(arrived) < slow {
		return false
	}
	n, err := s.requests.unread()
	return n > 0 && err == nil
}

// unread implements leftovers; at the end to read from, it is how many bytes have arrived.
func (p *pipe) unread() (int, error) { return nonblock.Unread(p.fd) }

// takeBack implements leftovers.
func (p *pipe) takeBack() (left []byte, err error) {
	end, err := p.openOther()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.NewSyscallError("close", unix.Close(end))) }()
	for scratch := make([]byte, pipeSize); ; {
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

// giveBack implements leftovers.
func (p *pipe) giveBack(left []byte) error {
	_, err := p.Write(left)
	return err
}
