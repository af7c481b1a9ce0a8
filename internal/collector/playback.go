package collector

import (
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
	"pmdaderived/internal/timewindow"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// Selection selects a part of an archive, with the options of PCP's tools.
type Selection struct {
	Paths    []string // of the archives
	Window   timewindow.Options
	Zone     string         // -Z
	HostZone bool           // -z
	Local    *time.Location // without -Z and -z
	Every    time.Duration
}

// Archive is an open archive with the selected part.
type Archive struct {
	*archive.Archive
	*replay.Source
	Part  timewindow.Part
	Every time.Duration
	Zone  *time.Location
}

// PartError is an error of options that select no part of an archive.
type PartError struct{ error }

// Open opens the selected archive. The caller closes it.
func (o *Selection) Open() (*Archive, error) {
	a, err := archive.Open(o.Paths...)
	if err != nil {
		return nil, err
	}
	p := &Archive{Archive: a, Zone: o.Local, Every: o.Every}
	if err := p.selectPart(o); err != nil {
		_ = a.Close()
		return nil, PartError{err}
	}
	return p, nil
}

// selectPart computes the selected part.
func (p *Archive) selectPart(o *Selection) (err error) {
	zone := o.Zone
	if label := p.LogLabels()[0]; o.HostZone {
		zone = cmp.Or(label.ZoneInfo, label.TimeZone, "UTC")
	}
	if zone != "" {
		if p.Zone, err = timewindow.Zone(zone); err != nil {
			return err
		}
	}
	extent := timewindow.Extent{Start: p.Start(), End: p.End(), Now: time.Now(), Zone: p.Zone}
	if p.Part, err = o.Window.Part(extent); err != nil {
		return err
	}
	p.Source = replay.NewSource(p.Archive)
	p.SetTime(p.Part.Origin)
	return nil
}

// Verify reads the whole archive and calls damaged with each fault of its volumes.
func (p *Archive) Verify(ctx context.Context, damaged func(error)) error {
	records := p.NewContext(time.Time{}, time.Time{})
	defer records.Close()
	for {
		_, err := records.Next(ctx, pdu.NoPMID) // no values are decoded
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, ok := errors.AsType[*archive.DamageError](err); ok {
			damaged(err)
		} else if err != nil {
			return err
		}
	}
}

// varying matches the parts of a fault's reason that differ between faults of one kind.
var varying = regexp.MustCompile(`-?[0-9][0-9.:TZ-]*|^[^ ]+ is the name`)

// DamageKind returns the file and the kind of a fault, to tell each kind once.
func DamageKind(err error) string {
	if damage, ok := errors.AsType[*archive.DamageError](err); ok {
		return damage.File + varying.ReplaceAllString(damage.Reason, "")
	}
	return err.Error()
}

// LocalZone returns the zone that the variable TZ names, or that of this host if tz is "". With an error it is UTC.
func LocalZone(tz string) (*time.Location, error) {
	if tz == "" {
		return time.Local, nil
	}
	zone, err := timewindow.Zone(tz)
	switch {
	case err == nil:
		return zone, nil
	case time.Local.String() == strings.TrimPrefix(tz, ":"): // a file
		return time.Local, nil
	}
	return time.UTC, err
}

// TimeLayout is how times are shown.
const TimeLayout = "2006-01-02 15:04:05.000"

// FormatTime formats a time in the selected zone.
func (p *Archive) FormatTime(t time.Time) string {
	return t.In(p.Zone).Format(TimeLayout)
}

// sampleUntilValues takes samples, up to a limit, until all metrics have values.
func (p *Archive) sampleUntilValues(ctx context.Context, s *session.Session, watched []*derived.Metric) error {
	const most = 1000
	n := 0
	err := replay.NewPlayer(p.Source, s).Play(ctx, replay.Options{Start: p.Part.Origin, End: p.Part.End},
		func(s *session.Session, _ time.Time) error {
			n++
			for _, m := range watched {
				if s.Value(m).Len() == 0 && n < most {
					return nil
				}
			}
			return replay.ErrEnough
		})
	if err == nil && n == 0 {
		err = s.Sample(ctx, p.Part.Origin) // of metrics without operands
	}
	return err
}
