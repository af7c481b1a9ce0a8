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

// Options select the times of samples.
type Options struct {
	Start, End time.Time     // first and last time
	Every      time.Duration // time between samples; 0: a sample for each round of records

	Read    func(at time.Time)       // gets the time up to which records have been read; may be nil
	Mark    func(at time.Time) error // gets the time of each mark between Start and End; may be nil
	Damaged func(err error)          // gets an error for each damaged part of the archive; may be nil
}

// ErrEnough ends [Player.Play] without an error if a SampleFunc returns it.
var ErrEnough = errors.New("enough samples")

// SampleFunc gets a session that has taken a sample.
type SampleFunc func(s *session.Session, at time.Time) error

// Player takes the samples of sessions over one archive.
type Player struct {
	source    *Source
	sessions  []*sessionState
	firstTick time.Time // when ticks begin
	end       time.Time
}

// sessionState is a session that is being played.
type sessionState struct {
	*session.Session
	operands []pdu.PMID // operands of the watched metrics, without discrete ones unless all are
	windows  []*windowTicks

	// A round: pmlogger writes a record for each of its groups, milliseconds apart. One sample is taken for all records
	// with different operands, at the time of the last. From one record to the next, a rate would only show how
	// interpolated values are rounded.
	roundStart, roundEnd time.Time         // times of its first and last record; zero roundEnd: its sample is taken
	roundOperands        map[pdu.PMID]bool // operands in its records
}

// longestRound is the longest time between the first and the last record of a round.
const longestRound = time.Second

// inNextRound reports whether a record with some of the operands does not belong to the present round.
func (t *sessionState) inNextRound(at time.Time, has []pdu.PMID) bool {
	return at.Sub(t.roundStart) >= longestRound ||
		slices.ContainsFunc(has, func(id pdu.PMID) bool { return t.roundOperands[id] })
}

// addToRound adds a record to the round, or begins a round.
func (t *sessionState) addToRound(at time.Time, has []pdu.PMID) {
	if t.roundEnd.IsZero() {
		t.roundStart = at
		clear(t.roundOperands)
	}
	t.roundEnd = at
	for _, id := range has {
		t.roundOperands[id] = true
	}
}

// windowTicks counts the ticks of a window.
type windowTicks struct {
	window    int // index in the set
	interval  time.Duration
	operands  []pdu.PMID
	last      int64 // number of the newest
	afterMark bool  // there was a mark since
	count     int64
}

// NewPlayer makes a player of sessions over one source. The sessions watch the metrics to be computed.
func NewPlayer(source *Source, sessions ...*session.Session) *Player {
	p := &Player{source: source}
	for _, s := range sessions {
		t := &sessionState{Session: s, operands: s.Operands(), roundOperands: make(map[pdu.PMID]bool)}
		for _, i := range s.Windows() {
			w := s.Set().Windows()[i]
			operands := w.Needs().Operands
			for _, k := range w.Needs().Windows { // those within a latch tick at the same records
				operands = append(slices.Clip(operands), s.Set().Windows()[k].Needs().Operands...)
			}
			t.windows = append(t.windows, &windowTicks{window: i, interval: w.Every, operands: operands})
		}
		p.sessions = append(p.sessions, t)
	}
	return p
}

// Play takes samples, and passes each to sampled. An error of sampled ends it.
func (p *Player) Play(ctx context.Context, o Options, sampled SampleFunc) error {
	p.firstTick, p.end = o.Start, o.End
	for _, t := range p.sessions {
		t.operands, t.roundEnd = p.source.withoutDiscrete(ctx, t.operands), time.Time{}
		if first := o.Start.Add(-t.Span()); first.Before(p.firstTick) {
			p.firstTick = first
		}
	}
	if start := p.source.Start(); p.firstTick.Before(start) {
		p.firstTick = start
	}
	records := p.source.NewContext(p.firstTick, o.End)
	defer records.Close()
	var operands []pdu.PMID
	for _, t := range p.sessions {
		operands = append(operands, t.operands...)
		for _, w := range t.windows {
			operands = append(operands, w.operands...)
		}
	}
	next := o.Start // time of the next sample, with Every
	until := func(end time.Time) error {
		for ; o.Every > 0 && next.Before(end); next = next.Add(o.Every) {
			if err := ctx.Err(); err != nil { // there may be millions of samples between two records
				return err
			}
			for _, t := range p.sessions {
				if err := p.sample(ctx, t, next, sampled); err != nil {
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
				if err := p.sampleRounds(ctx, nil, sampled); err != nil {
					return err
				}
				return until(o.End.Add(1))
			}
			if damage, ok := errors.AsType[*archive.DamageError](err); ok {
				if o.Damaged != nil {
					o.Damaged(damage)
				}
				p.markBroken()
				continue
			}
			if err == nil {
				err = until(r.Time)
			}
			if err == nil {
				err = p.handleRecord(ctx, o, r, sampled)
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

// handleRecord passes a record to the windows, and without Every adds it to rounds.
func (p *Player) handleRecord(ctx context.Context, o Options, r *archive.Record, sampled SampleFunc) error {
	inside := !r.Time.Before(o.Start)
	if r.Mark {
		if err := p.sampleRounds(ctx, nil, sampled); err != nil {
			return err
		}
		p.markBroken()
		if inside && o.Mark != nil {
			return o.Mark(r.Time)
		}
		return nil
	}
	p.source.setRecord(r)
	if err := p.sampleRounds(ctx, r, sampled); err != nil {
		return err
	}
	for _, t := range p.sessions {
		if err := p.tickWindows(ctx, t, r.Time); err != nil {
			return err
		}
	}
	if o.Every > 0 || !inside {
		return nil
	}
	for _, t := range p.sessions {
		if has := p.source.inRecord(t.operands); len(has) > 0 {
			t.addToRound(r.Time, has)
		}
	}
	return nil
}

// sampleRounds takes the samples of rounds to which record r does not belong; nil ends all rounds. The source has
// already read r. Rounds that ended earlier are sampled with them, because samples are in order of time.
func (p *Player) sampleRounds(ctx context.Context, r *archive.Record, sampled SampleFunc) error {
	var last time.Time
	for _, t := range p.sessions {
		if t.roundEnd.After(last) && (r == nil || t.inNextRound(r.Time, p.source.inRecord(t.operands))) {
			last = t.roundEnd
		}
	}
	var due []*sessionState
	for _, t := range p.sessions {
		if !t.roundEnd.IsZero() && !t.roundEnd.After(last) {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b *sessionState) int { return a.roundEnd.Compare(b.roundEnd) })
	for _, t := range due {
		at := t.roundEnd
		t.roundEnd = time.Time{}
		if err := p.sample(ctx, t, at, sampled); err != nil {
			return err
		}
	}
	if len(due) > 0 && r != nil {
		p.source.setRecord(r)
	}
	return nil
}

// markBroken notes that part of the archive is missing: the next tick of a window does not continue the last.
func (p *Player) markBroken() {
	for _, t := range p.sessions {
		for _, w := range t.windows {
			w.afterMark = true
		}
	}
}

// tickWindows passes the record to a session, for the windows that it is a tick of.
func (p *Player) tickWindows(ctx context.Context, t *sessionState, at time.Time) error {
	var windows, begin []int
	for _, w := range t.windows {
		number := session.TickNumber(at, w.interval)
		if number == w.last || !p.source.hasAll(ctx, w.operands) {
			continue
		}
		windows = append(windows, w.window)
		if w.afterMark || w.count == 0 {
			begin = append(begin, w.window)
		}
		w.last, w.afterMark = number, false
		w.count++
	}
	if len(windows) == 0 {
		return nil
	}
	return t.Tick(ctx, at, begin, windows...)
}

// sample takes a sample of a session.
func (p *Player) sample(ctx context.Context, t *sessionState, at time.Time, sampled SampleFunc) error {
	p.source.setRecord(nil)
	p.source.SetTime(at)
	t.Expire(at)
	if err := t.Sample(ctx, at); err != nil {
		return err
	}
	return sampled(t.Session, at)
}

// Ticks is the number of ticks that the archive has for a function over time.
type Ticks struct {
	Window             *derived.Window
	Recorded, Possible int64 // number of ticks in the played part, and the number there can be
}

// Ticks returns the ticks of each function over time of the sessions.
func (p *Player) Ticks() []Ticks {
	var all []Ticks
	for _, t := range p.sessions {
		for _, w := range t.windows {
			all = append(all, Ticks{
				Window: t.Set().Windows()[w.window], Recorded: w.count,
				Possible: session.TickNumber(p.end, w.interval) - session.TickNumber(p.firstTick, w.interval) + 1,
			})
		}
	}
	return all
}
