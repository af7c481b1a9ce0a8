package pool

import (
	"errors"
	"fmt"

	"pmdaderived/pmda/pmapi"
)

// ErrUnconnected is the error of a lookup without a session.
var ErrUnconnected = errors.New("no connection to pmcd")

// LookUp calls ask with the connection for lookups: of names, descriptors, instances. It waits, and is for one
// goroutine. If the connection fails, the session ends, and the error is ErrUnconnected.
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

// SetUsable records that names and instances have been looked up in the session; with the lock. It reports whether that
// is the first time. After a usable session Run dials again soon.
func (p *Pool) SetUsable() (first bool) {
	first = !p.usable
	p.usable = true
	return first
}
