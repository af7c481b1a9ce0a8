package reload

import (
	"time"

	"pmdaderived/internal/wait"
)

// An announcement of pmcd that its names or agents have changed causes a lookup of all names, at most once in
// leastGap. The gap grows up to mostGap while these lookups show no change: any agent can make pmcd send such
// announcements.
const (
	leastGap = time.Second
	mostGap  = time.Minute
)

// lookupLimiter limits lookups of all names that announcements of pmcd cause.
type lookupLimiter struct {
	backoff        wait.Backoff
	byAnnouncement bool // the next lookup has no other reason than an announcement
}

func newLookupLimiter() lookupLimiter {
	return lookupLimiter{backoff: wait.Backoff{Least: leastGap, Most: mostGap}}
}

// delay returns how long to wait with the lookup that an announcement causes. last is the time of the last lookup.
func (l *lookupLimiter) delay(last, now time.Time) time.Duration {
	since := now.Sub(last)
	if since > 2*l.backoff.Last() {
		l.backoff.Reset()
	}
	l.byAnnouncement = true
	return max(0, max(l.backoff.Last(), leastGap)-since)
}

// recordLookup lengthens the gap after a lookup that an announcement caused without any change, and resets it after a
// change. Other lookups leave it as it is.
func (l *lookupLimiter) recordLookup(changed bool) {
	switch {
	case !l.byAnnouncement:
	case changed:
		l.backoff.Reset()
	default:
		l.backoff.Next()
	}
	l.byAnnouncement = false
}
