package pool

import (
	"errors"
	"fmt"

	"pmdaderived/pmda/pmapi"
)

// ErrUnconnected says that there is no pmcd to ask.
var ErrUnconnected = errors.New("no connection to pmcd")

// LookUp asks something on the connection that is not for fetches: names, descriptors, instances. It waits, and is for one goroutine.
// An error of the connection has ended the session.
func (p *Pool) LookUp(ask func(*pmapi.Conn) error) error {
	p.mu.Lock()
	conn := p.lookupConn
	p.mu.Unlock()
	if conn == nil {
		return ErrUnconnected
	}
	err := ask(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case conn != p.lookupConn:
		return ErrUnconnected // it has ended meanwhile
	case err != nil && conn.Err() != nil:
		p.loseSession(err)
		return fmt.Errorf("%w: %w", ErrUnconnected, err)
	}
	return err
}

// SetUsable notes that names and instances have been looked up on a connection; with the lock. It reports whether they are the
// first ones of the session: a session is of use from then on.
func (p *Pool) SetUsable() (first bool) {
	first = !p.usable
	p.usable = true
	return first
}
