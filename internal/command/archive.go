package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
)

// archiveOptions has the options about archives.
type archiveOptions struct {
	collector.Selection
	onlyArchive string // the first option that needs -a
}

// archiveOption adds -a.
func (t *invocation) archiveOption() {
	t.flags.FuncP("archive", "a", "ask the archives in `FILES`, several or those of a folder, instead of a pmcd",
		func(arg string) error {
			t.archive.Paths = append(t.archive.Paths, arg)
			return nil
		})
}

// timeOptions adds -a and the options that select a part of an archive.
func (t *invocation) timeOptions() {
	t.archiveOption()
	o := &t.archive
	text := func(to *string, name, short, help string) {
		t.flags.FuncP(name, short, help, func(arg string) error {
			o.onlyArchive = cmp.Or(o.onlyArchive, "-"+short)
			*to = arg
			return nil
		})
	}
	text(&o.Window.Start, "start", "S", "begin at this `TIME` of the archive: 30min, -1hour, @10:00")
	text(&o.Window.End, "finish", "T", "end at this `TIME`")
	text(&o.Window.Align, "align", "A", "begin at a multiple of this `TIME`")
	text(&o.Window.Origin, "origin", "O", "take the first sample at this `TIME`")
	t.flags.StringVarP(&o.Zone, "timezone", "Z", "", "read and print times in this `ZONE`, as in the variable TZ")
	t.flags.BoolFuncP("hostzone", "z", "read and print times in the zone of the archive's host",
		func(arg string) (err error) {
			o.onlyArchive = cmp.Or(o.onlyArchive, "-z")
			o.HostZone, err = strconv.ParseBool(arg)
			return err
		})
}

// intervalOption adds -t, the time between samples.
func (t *invocation) intervalOption(pause *time.Duration, help string) {
	t.flags.FuncP("interval", "t", help, func(arg string) error {
		var d time.Duration
		if err := commandline.Duration(&d, time.Millisecond)(arg); err != nil {
			return err
		}
		*pause, t.archive.Every = d, d
		return nil
	})
}

// misfits returns an error if options contradict each other.
func (o *archiveOptions) misfits(pmcdGiven bool) error {
	switch {
	case len(o.Paths) == 0 && o.onlyArchive != "":
		return fmt.Errorf("%s needs an archive: use -a", o.onlyArchive)
	case len(o.Paths) > 0 && pmcdGiven:
		return errors.New("only one host or archive allowed: -a cannot be used with -h or PCP_HOST")
	case o.HostZone && o.Zone != "":
		return errors.New("-z and -Z cannot be used together")
	}
	return nil
}

// localZone returns the zone of the variable TZ, or that of this host. A zone that is not known counts as UTC, with a
// warning.
func (t *invocation) localZone() *time.Location {
	zone, err := collector.LocalZone(t.getenv("TZ"))
	if err != nil {
		t.complain(fmt.Errorf("TZ: %w; times are in UTC", err))
	}
	return zone
}

// play opens the selected archive, and warns of damage.
func (t *invocation) play() (*collector.Archive, error) {
	t.archive.Local = t.localZone()
	p, err := t.archive.Open()
	if err != nil {
		return nil, err
	}
	for _, damage := range p.Damage() {
		t.reportDamage(damage)
	}
	if p.Part.Unaligned {
		t.complain(fmt.Errorf("-A is ignored: the time window contains no multiple of %s", t.archive.Window.Align))
	}
	return p, nil
}

// reportDamage prints a fault of an archive, unless one of that kind in the same file has been printed.
func (t *invocation) reportDamage(err error) {
	if kind := collector.DamageKind(err); !t.damage[kind] {
		t.damage[kind] = true
		t.complain(err)
	}
}

// verify reports all damage of an archive, for a command that does not read all of it.
func (t *invocation) verify(ctx context.Context, c *collector.Collector) error {
	if c.Archive == nil {
		return nil
	}
	return c.Archive.Verify(ctx, t.reportDamage)
}

// connect opens the selected archive. Without one it connects to the pmcd of -h or of this host.
func (t *invocation) connect(ctx context.Context) (*collector.Collector, error) {
	if len(t.archive.Paths) == 0 {
		if t.confErr != nil {
			t.complain(t.confErr)
		}
		return collector.Connect(ctx, t.pmcd)
	}
	p, err := t.play()
	if err != nil {
		return nil, err
	}
	return collector.FromArchive(p), nil
}

// playerOptions returns the options of a player: the selected samples, warnings of damage, and the progress.
func (t *invocation) playerOptions(p *collector.Archive, progress *progress) replay.Options {
	return replay.Options{
		Start: p.Part.Origin, End: p.Part.End, Every: p.Every,
		Read: progress.recordRead,
		Damaged: func(damage error) {
			progress.clear()
			t.reportDamage(damage)
		},
	}
}

// showTicks prints how many samples an archive has for the functions over time of a metric.
func (t *invocation) showTicks(ctx context.Context, a *query, m *derived.Metric) error {
	p := a.collector.Archive
	if p == nil || len(m.Needs().Windows) == 0 {
		return nil
	}
	progress := t.progress(p.Part.Start, p.Part.End)
	defer progress.clear()
	a.Watch(m)
	player := replay.NewPlayer(p.Source, a.Session)
	o := t.playerOptions(p, progress)
	o.Every = max(1, 2*o.End.Sub(o.Start)) // one sample is enough
	if err := player.Play(ctx, o, func(*session.Session, time.Time) error { return nil }); err != nil {
		return err
	}
	progress.clear()
	fmt.Fprintln(t.stdout)
	t.printTicks(t.stdout, player.Ticks())
	return nil
}

// printTicks prints how many samples functions over time had.
func (t *invocation) printTicks(w io.Writer, all []replay.Ticks) {
	for _, ticks := range all {
		over := " since the last fetch"
		if span := ticks.Window.Span; span > 0 {
			over = " over " + timeText(time.Duration(span)*ticks.Window.Every)
		}
		if ticks.Window.Func == syntax.Latch {
			over = ""
		}
		fmt.Fprintf(w, "%s%s, every %s: the archive has %d of %s (records with all operands).\n",
			ticks.Window.Func, over, timeText(ticks.Window.Every), ticks.Recorded,
			plural.Of(int(ticks.Possible), "sample"))
	}
}

// progress shows at a terminal how much of an archive has been read, if that takes long.
type progress struct {
	w          io.Writer // nil: not shown
	start, end time.Time // of the selected part
	passes     int       // how often the part will be read
	pass       int       // how often it has been read
	last       time.Time // time of the last record
	began      time.Time
	shown      time.Time
}

// The progress is shown after this time, and updated that often.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// progress makes the progress of reading a part of an archive.
func (t *invocation) progress(start, end time.Time) *progress {
	p := &progress{start: start, end: end, passes: 1, began: time.Now()}
	if t.stderr.isTerminal() {
		p.w = t.stderr.w
	}
	return p
}

func (p *progress) recordRead(at time.Time) {
	if at.Before(p.last) {
		p.pass++
	}
	p.last = at
	now := time.Now()
	if p.w == nil || now.Sub(p.began) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	part := max(0, min(1, at.Sub(p.start).Seconds()/max(p.end.Sub(p.start), 1).Seconds()))
	fmt.Fprintf(p.w, "\r\033[K%3.0f %% of the archive read", 100*(float64(p.pass)+part)/float64(p.passes))
}

// clear removes the progress from the terminal.
func (p *progress) clear() {
	if p.w != nil && !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
