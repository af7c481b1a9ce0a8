package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// ErrUnconnected says that there is no pmcd to ask.
var ErrUnconnected = errors.New("no connection to pmcd")

// LookUpInstances asks the owners of domains for their instances, as [operand.InstanceCache.LookUp], and notes it with those that are
// waiting. It waits. With the first one of a session we are connected: names can be looked up.
func (u *Upstream) LookUpInstances(ctx context.Context, needed operand.InDomNeeds, domains []pdu.InDom, waiting operand.LookupQueue) error {
	return u.LookUp(func(conn *pmapi.Conn) error {
		err := u.options.Names.LookUp(ctx, conn, needed, domains, func(d pdu.InDom, took time.Duration, err error) {
			waiting.RecordLookup(d, time.Now(), took, err)
			if err != nil {
				u.log.WithError(err).WithField("indom", d).Debug("cannot get instances")
			}
		})
		u.mu.Lock()
		defer u.unlock()
		if err == nil && !u.heard {
			u.heard = true
			u.remark(logrus.InfoLevel, logrus.Fields{"pmcd": conn.Addr()}, "connected to pmcd")
		}
		return err
	})
}

// LookUp asks something on the connection that is not for fetches: names, descriptors. It waits, and is for one goroutine, which also calls
// LookUpInstances. An error of the connection has ended the session.
func (u *Upstream) LookUp(ask func(*pmapi.Conn) error) error {
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
