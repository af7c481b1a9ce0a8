package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// ErrUnconnected says that there is no pmcd to ask.
var ErrUnconnected = errors.New("no connection to pmcd")

// LookUp asks pmcd for names and their descriptors. It waits, and is for one goroutine, which also calls LookUpInstances. After an
// error nothing is known; one of the connection has ended the session.
func (u *Upstream) LookUp(ctx context.Context, names []string) (found *operand.Catalog, err error) {
	err = u.converse(func(conn *pmapi.Conn) (err error) {
		found, err = operand.LookUp(ctx, conn, names)
		return err
	})
	return found, err
}

// LookUpInstances asks the owners of domains for their instances, as [operand.Names.LookUp]. It waits. A domain whose owner
// cannot answer is asked for again with the next ones. With the first one of a session we are connected: names can be looked up.
func (u *Upstream) LookUpInstances(ctx context.Context, needed operand.Domains, domains []pdu.InDom) error {
	return u.converse(func(conn *pmapi.Conn) error {
		failed, err := u.options.Names.LookUp(ctx, conn, needed, domains)
		u.mu.Lock()
		defer u.unlock()
		for d, err := range failed {
			u.remark(logrus.DebugLevel, logrus.Fields{logrus.ErrorKey: err, "indom": d}, "instances cannot be had")
			u.changed[d] = struct{}{} // of the next Events, which this does not announce
		}
		if err == nil && !u.heard {
			u.heard = true
			u.remark(logrus.InfoLevel, logrus.Fields{"pmcd": conn.Addr()}, "connected to pmcd")
		}
		return err
	})
}

// converse asks something on the connection that is not for fetches.
func (u *Upstream) converse(ask func(*pmapi.Conn) error) error {
	u.mu.Lock()
	conn := u.lookups
	u.unlock()
	if conn == nil {
		return ErrUnconnected
	}
	err := ask(conn)
	u.mu.Lock()
	defer u.unlock()
	switch {
	case conn != u.lookups:
		return ErrUnconnected // it has ended meanwhile
	case err != nil && conn.Err() != nil:
		u.lose(err)
		return fmt.Errorf("%w: %w", ErrUnconnected, err)
	}
	return err
}
