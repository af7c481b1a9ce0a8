package main

import (
	"cmp"
	"context"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
	"pmdaderived/internal/timewindow"
	"pmdaderived/pmda/pmapi/archive"
)

// selection selects a part of an archive, as command lines do.
type selection struct {
	paths    []string // none: a pmcd is asked
	window   timewindow.Options
	zone     string // -Z
	hostZone bool   // -z
	every    time.Duration
}

// played is an archive that a sub-command asks in place of a pmcd, and the part of it that is asked for.
type played struct {
	*archive.Archive
	*replay.Source
	window timewindow.Window
	every  time.Duration
	zone   *time.Location
}

// errWindow is about options that select no part of an archive.
type errWindow struct{ error }

// play opens the archive that is selected.
func (o *selection) play() (*played, error) {
	a, err := archive.Open(o.paths...)
	if err != nil {
		return nil, err
	}
	p := &played{Archive: a, zone: time.Local, every: o.every}
	if err := p.open(o); err != nil {
		_ = a.Close()
		return nil, errWindow{err}
	}
	return p, nil
}

// open finds out which part of the archive is meant.
func (p *played) open(o *selection) (err error) {
	zone := o.zone
	if label := p.Archive.LogLabels()[0]; o.hostZone {
		zone = cmp.Or(label.ZoneInfo, label.TimeZone, "UTC")
	}
	if zone != "" {
		if p.zone, err = timewindow.Zone(zone); err != nil {
			return err
		}
	}
	extent := timewindow.Extent{Start: p.Archive.Start(), End: p.Archive.End(), Now: time.Now(), Zone: p.zone}
	if p.window, err = o.window.Window(extent); err != nil {
		return err
	}
	p.Source = replay.NewSource(p.Archive)
	p.SetTime(p.window.Origin)
	return nil
}

// text is a time in the zone that is asked for.
func (p *played) text(t time.Time) string { return t.In(p.zone).Format("2006-01-02 15:04:05.000") }

// sample takes samples until all of some metrics have values, a limited number.
func (p *played) sample(ctx context.Context, s *session.Session, watched []*derived.Metric) error {
	const most = 1000
	n := 0
	err := replay.NewPlayer(p.Source, s).Play(ctx, replay.Options{Start: p.window.Origin, End: p.window.End}, func(s *session.Session, _ time.Time) error {
		n++
		for _, m := range watched {
			if s.Value(m).Len() == 0 && n < most {
				return nil
			}
		}
		return replay.ErrEnough
	})
	if err == nil && n == 0 {
		err = s.Sample(ctx, p.window.Origin) // of what has no operands
	}
	return err
}
