package command

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/internal/collector"
)

// connect opens the selected archive, and warns of damage. Without one it connects to the pmcd of -h or of this host.
func (r *run) connect(ctx context.Context) (err error) {
	if len(r.archive.Paths) == 0 {
		if r.confErr != nil {
			r.complain(r.confErr)
		}
		r.collector, err = collector.Connect(ctx, r.pmcd)
		return err
	}
	r.archive.Local = r.localZone()
	archive, err := r.archive.Open()
	if err != nil {
		return err
	}
	r.collector = collector.FromArchive(archive)
	for _, damage := range archive.Damage() {
		r.reportDamage(damage)
	}
	if archive.Part.Unaligned {
		r.complain(fmt.Errorf("-A is ignored: the time window contains no multiple of %s", r.archive.Window.Align))
	}
	return nil
}

// localZone returns the zone of the variable TZ, or that of this host. A zone that is not known counts as UTC, with a
// warning.
func (r *run) localZone() *time.Location {
	zone, err := collector.LocalZone(r.program.Getenv("TZ"))
	if err != nil {
		r.complain(fmt.Errorf("TZ: %w; times are in UTC", err))
	}
	return zone
}

// reportDamage prints a fault of an archive, unless one of that kind in the same file has been printed: a damaged volume
// may have thousands.
func (r *run) reportDamage(err error) {
	if kind := collector.DamageKind(err); !r.damage[kind] {
		r.damage[kind] = true
		r.complain(err)
	}
}

// verify reports all damage of an archive, for a command that does not read all of it.
func (r *run) verify(ctx context.Context) error {
	if r.collector.Archive == nil {
		return nil
	}
	return r.collector.Archive.Verify(ctx, r.reportDamage)
}
