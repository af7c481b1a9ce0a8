package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// Options say at which times samples are taken.
type Options struct {
	Start, End time.Time     // first and last
	Every      time.Duration // between two; 0: at each round of records that hold operands that are not discrete, or any if all are

	Read    func(at time.Time)       // is told how far records have been read; nil: nobody is
	Mark    func(at time.Time) error // is told of each mark between Start and End; nil: nobody is
	Damaged func(err error)          // is told of what of the archive cannot be read; nil: nobody is
}

// ErrEnough ends [Player.Play] before its end, as no error.
var ErrEnough = errors.New("enough samples")

// Player takes the samples of sessions over one archive.
type Player struct {
	source *Source
	tracks []*track
	first  time.Time // where ticks begin
	end    time.Time
}

// track is a session with what it is computed from.
type track struct {
	*session.Session
	operands []pdu.PMID // of all that is watched; while it is played, without those that are discrete, unless all are
	windows  []*ticks

	round time.Time  // of the record that the newest sample was taken at
	had   []pdu.PMID // the operands that the records of this round have
}

// A round of pmlogger takes no longer.
const round = time.Second

// begins reports whether a record with some of the operands begins a round. pmlogger writes a record for each of its groups, milliseconds apart, and a sample is
// for all that have different operands: from one of them to the next, a rate would be what rounding makes of values in between.
func (t *track) begins(at time.Time, has []pdu.PMID) bool {
	again := func(id pdu.PMID) bool { return slices.Contains(t.had, id) }
	if at.Sub(t.round) < round && !slices.ContainsFunc(has, again) {
		t.had = append(t.had, has...)
		return false
	}
	t.round, t.had = at, append(t.had[:0], has...)
	return true
}

// ticks are those of a window.
type ticks struct {
	at     int // in the set
	every  time.Duration
	needs  []pdu.PMID
	last   int64 // the newest
	broken bool  // there was a mark since
	n      int64
}

// NewPlayer makes a player of sessions over a source, which watch what is to be computed.
func NewPlayer(source *Source, sessions ...*session.Session) *Player {
	p := &Player{source: source}
	for _, s := range sessions {
		t := &track{Session: s, operands: s.Operands()}
		for _, i := range s.Windows() {
			w := s.Set().Windows()[i]
			t.windows = append(t.windows, &ticks{at: i, every: w.Every, needs: w.Needs().Operands})
		}
		p.tracks = append(p.tracks, t)
	}
	return p
}

// Play takes samples, and calls taken after each with the session that has it. An error of taken ends it.
func (p *Player) Play(ctx context.Context, o Options, taken func(s *session.Session, at time.Time) error) error {
	p.first, p.end = o.Start, o.End
	for _, t := range p.tracks {
		t.operands = p.source.changing(ctx, t.operands)
		if first := o.Start.Add(-t.Span()); first.Before(p.first) {
			p.first = first
		}
	}
	if start := p.source.Start(); p.first.Before(start) {
		p.first = start
	}
	records := p.source.NewContext(p.first, o.End)
	defer records.Close()
	var operands []pdu.PMID
	for _, t := range p.tracks {
		operands = append(operands, t.operands...)
		for _, w := range t.windows {
			operands = append(operands, w.needs...)
		}
	}
	next := o.Start // with Every
	until := func(end time.Time) error {
		for ; o.Every > 0 && next.Before(end); next = next.Add(o.Every) {
			for _, t := range p.tracks {
				if err := p.sample(ctx, t, next, taken); err != nil {
					return err
				}
			}
		}
		return nil
	}
	read := func() error {
		for {
			r, err := records.Next(ctx, operands...)
			if errors.Is(err, io.EOF) {
				return until(o.End.Add(1))
			}
			if damage, ok := errors.AsType[*archive.DamageError](err); ok {
				if o.Damaged != nil {
					o.Damaged(damage)
				}
				p.breakOff()
				continue
			}
			if err == nil {
				err = until(r.Time)
			}
			if err == nil {
				err = p.record(ctx, o, r, taken)
			}
			if err != nil {
				return err
			}
			if o.Read != nil {
				o.Read(r.Time)
			}
		}
	}
	if err := read(); !errors.Is(err, ErrEnough) {
		return err
	}
	return nil
}

// record takes what a record gives: ticks, and without Every samples.
func (p *Player) record(ctx context.Context, o Options, r *archive.Record, taken func(s *session.Session, at time.Time) error) error {
	inside := !r.Time.Before(o.Start)
	if r.Mark {
		p.breakOff()
		if inside && o.Mark != nil {
			return o.Mark(r.Time)
		}
		return nil
	}
	p.source.read(r)
	for _, t := range p.tracks {
		if err := p.tick(ctx, t, r.Time); err != nil {
			return err
		}
	}
	if o.Every > 0 || !inside {
		return nil
	}
	for _, t := range p.tracks {
		p.source.read(r)
		if has := p.source.among(t.operands); len(has) == 0 || !t.begins(r.Time, has) {
			continue
		}
		if err := p.sample(ctx, t, r.Time, taken); err != nil {
			return err
		}
	}
	return nil
}

// breakOff says that nothing is known of a time.
func (p *Player) breakOff() {
	for _, t := range p.tracks {
		t.round = time.Time{}
		for _, w := range t.windows {
			w.broken = true
		}
	}
}

// tick gives a session the record, for those windows that it is a tick of.
func (p *Player) tick(ctx context.Context, t *track, at time.Time) error {
	var goOn, begin []int
	for _, w := range t.windows {
		number := session.Number(at, w.every)
		if number == w.last || !p.source.has(ctx, w.needs) {
			continue
		}
		if w.broken || w.n == 0 {
			begin = append(begin, w.at)
		} else {
			goOn = append(goOn, w.at)
		}
		w.last, w.broken = number, false
		w.n++
	}
	for i, windows := range [][]int{begin, goOn} {
		if len(windows) == 0 {
			continue
		}
		if err := t.Tick(ctx, at, i == 1, windows...); err != nil {
			return err
		}
	}
	return nil
}

// sample takes a sample of a session.
func (p *Player) sample(ctx context.Context, t *track, at time.Time, taken func(s *session.Session, at time.Time) error) error {
	p.source.read(nil)
	p.source.SetTime(at)
	t.Expire(at)
	if err := t.Sample(ctx, at); err != nil {
		return err
	}
	return taken(t.Session, at)
}

// Ticks is how many ticks a function over time had from the time on that was played, and how many there can be.
type Ticks struct {
	Window     *derived.Window
	Had, Asked int64
}

// Ticks tells this for each function of the sessions.
func (p *Player) Ticks() []Ticks {
	var all []Ticks
	for _, t := range p.tracks {
		for _, w := range t.windows {
			all = append(all, Ticks{
				Window: t.Set().Windows()[w.at], Had: w.n,
				Asked: session.Number(p.end, w.every) - session.Number(p.first, w.every) + 1,
			})
		}
	}
	return all
}
