package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
)

// Options say at which times samples are taken.
type Options struct {
	Start, End time.Time     // first and last
	Every      time.Duration // between two; 0: one for each round of records that hold operands that are not discrete, or any if all are

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

	// A round: pmlogger writes a record for each of its groups, milliseconds apart. One sample is taken for all that have different operands, at the time of
	// the last one: from one to the next, a rate would be what rounding makes of values in between.
	begun, due time.Time         // when the first and the last record of the round were; due is zero: the sample of the round has been taken
	had        map[pdu.PMID]bool // the operands in its records
}

// A round takes no longer.
const longestRound = time.Second

// over reports whether a record of a time, with some of the operands, is not of the round.
func (t *track) over(at time.Time, has []pdu.PMID) bool {
	return at.Sub(t.begun) >= longestRound || slices.ContainsFunc(has, func(id pdu.PMID) bool { return t.had[id] })
}

// join adds a record to the round, or begins one.
func (t *track) join(at time.Time, has []pdu.PMID) {
	if t.due.IsZero() {
		t.begun = at
		clear(t.had)
	}
	t.due = at
	for _, id := range has {
		t.had[id] = true
	}
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
		t := &track{Session: s, operands: s.Operands(), had: make(map[pdu.PMID]bool)}
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
		t.operands, t.due = p.source.changing(ctx, t.operands), time.Time{}
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
				if err := p.settle(ctx, nil, taken); err != nil {
					return err
				}
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
		if err := p.settle(ctx, nil, taken); err != nil {
			return err
		}
		p.breakOff()
		if inside && o.Mark != nil {
			return o.Mark(r.Time)
		}
		return nil
	}
	p.source.read(r)
	if err := p.settle(ctx, r, taken); err != nil {
		return err
	}
	for _, t := range p.tracks {
		if err := p.tick(ctx, t, r.Time); err != nil {
			return err
		}
	}
	if o.Every > 0 || !inside {
		return nil
	}
	for _, t := range p.tracks {
		if has := p.source.among(t.operands); len(has) > 0 {
			t.join(r.Time, has)
		}
	}
	return nil
}

// settle takes the samples of the rounds that a record, which the source has read, is not of; nil: of all. Earlier ones are taken with them: samples are in
// the order of their times.
func (p *Player) settle(ctx context.Context, r *archive.Record, taken func(s *session.Session, at time.Time) error) error {
	var last time.Time
	for _, t := range p.tracks {
		if t.due.After(last) && (r == nil || t.over(r.Time, p.source.among(t.operands))) {
			last = t.due
		}
	}
	var due []*track
	for _, t := range p.tracks {
		if !t.due.IsZero() && !t.due.After(last) {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b *track) int { return a.due.Compare(b.due) })
	for _, t := range due {
		at := t.due
		t.due = time.Time{}
		if err := p.sample(ctx, t, at, taken); err != nil {
			return err
		}
	}
	if len(due) > 0 && r != nil {
		p.source.read(r)
	}
	return nil
}

// breakOff says that nothing is known of a time.
func (p *Player) breakOff() {
	for _, t := range p.tracks {
		for _, w := range t.windows {
			w.broken = true
		}
	}
}

// tick gives a session the record, for those windows that it is a tick of.
func (p *Player) tick(ctx context.Context, t *track, at time.Time) error {
	var goOn, begin []int
	for _, w := range t.windows {
		number := session.TickNumber(at, w.every)
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
				Asked: session.TickNumber(p.end, w.every) - session.TickNumber(p.first, w.every) + 1,
			})
		}
	}
	return all
}
