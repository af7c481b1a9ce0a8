package command

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
)

// fillWindows waits until functions over time have all their samples. At a terminal it shows how long that will take:
// nobody expects a command to be silent for an hour.
func (r *run) fillWindows(ctx context.Context) error {
	span := r.session.Span()
	if span == 0 {
		return nil
	}
	progress := r.progress(time.Time{}, time.Time{})
	defer progress.clear()
	return r.session.Wait(ctx, time.Now().Add(span), func(left time.Duration) {
		progress.show(fmt.Sprintf("taking samples for %s, %s left", timeText(span), timeText(left.Round(time.Second))))
	})
}

// takeSamples takes samples of a pmcd, a pause apart, and calls taken after each but the earlier ones, which are only
// history. limit is the number of the others, 0 for no limit.
func (r *run) takeSamples(ctx context.Context, earlier, limit int, taken func(t time.Time) error) error {
	next := time.Now()
	for n := 0; limit == 0 || n < earlier+limit; n++ {
		if n > 0 {
			if next = next.Add(r.pause); next.Before(time.Now()) {
				next = time.Now() // samples that are missed are not made up for
			}
			if err := r.session.Wait(ctx, next, nil); err != nil {
				return err
			}
		}
		if err := r.session.Sample(ctx, time.Now()); err != nil {
			return err
		}
		if n >= earlier {
			if err := taken(r.session.Time()); err != nil {
				return err
			}
		}
	}
	return nil
}

// playSamples takes samples of the archive, at most so many if limit is positive, and calls taken after each.
func (r *run) playSamples(ctx context.Context, o replay.Options, limit int, taken func(t time.Time) error) error {
	n := 0
	return replay.NewPlayer(r.collector.Archive.Source, r.session).Play(ctx, o,
		func(_ *session.Session, t time.Time) error {
			if err := taken(t); err != nil {
				return err
			}
			if n++; n == limit {
				return replay.ErrEnough
			}
			return nil
		})
}

// playerOptions returns the options of a player: the selected part of the archive, and warnings of damage. It also
// returns the progress, which the caller clears.
func (r *run) playerOptions() (replay.Options, *progress) {
	archive := r.collector.Archive
	progress := r.progress(archive.Part.Origin, archive.Part.End)
	return replay.Options{
		Start: archive.Part.Origin, End: archive.Part.End, Every: archive.Every,
		Read: progress.recordRead,
		Damaged: func(damage error) {
			progress.clear()
			r.reportDamage(damage)
		},
	}, progress
}
