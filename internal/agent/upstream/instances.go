package upstream

import (
	"context"
	"maps"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// LookUpInstances looks up the instances of domains ([operand.InstanceCache.LookUp]), and records the outcome in the
// queue of lookups. It waits. The first success of a session shows that pmcd answers: then the session is usable, and
// logged.
func (u *Upstream) LookUpInstances(
	ctx context.Context, needed operand.InDomNeeds, domains []pdu.InDom, waiting operand.LookupQueue,
) error {
	return u.LookUp(func(conn *pmapi.Conn) error {
		err := u.options.Names.LookUp(ctx, conn, needed, domains, func(d pdu.InDom, took time.Duration, err error) {
			waiting.RecordLookup(d, time.Now(), took, err)
			if err != nil {
				u.log.WithError(err).WithField("indom", d).Debug("cannot get instances")
			}
		})
		u.mu.Lock()
		defer u.mu.Unlock()
		if err == nil && u.pool.SetUsable() {
			u.mu.Remark(logrus.InfoLevel, logrus.Fields{"pmcd": conn.Addr()}, "connected to pmcd")
		}
		return err
	})
}

// LastSampledDomains returns when values of each instance domain last came, but for those that expired before.
func (u *Upstream) LastSampledDomains() map[pdu.InDom]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.sampledDomains)
}
