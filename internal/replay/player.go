package replay

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
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
	windows   []*windowTicks               // of all sessions
	operands  []pdu.PMID                   // of samples and ticks
	births    map[pdu.PMID][]*sessionState // for each metric of which an increase is computed
	ticksFrom time.Time                    // the time of the first record that can be a tick
	firstTick time.Time                    // when ticks begin to count: the longest span before the first sample
	end       time.Time
}

// sessionState is a session that is being played.
type sessionState struct {
	*session.Session
	values   *archive.Context // see openContexts
	operands []pdu.PMID       // operands of the watched metrics, without discrete ones unless all are
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
	before    int64 // number of ticks that it needs before those that count; allTicks: a latch, which needs all
	first     int64 // per-client: number of ticks that a first read covers, up to the newest one, however old it is
	last      int64 // number of the newest
	afterMark bool  // there was a mark since, or there is no tick yet
	count     int64 // since Player.firstTick
}

const allTicks = math.MaxInt64

// resetTicks forgets all ticks.
func (p *Player) resetTicks() {
	for _, w := range p.windows {
		w.last, w.afterMark, w.count = 0, true, 0
	}
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
			ticks := &windowTicks{window: i, interval: w.Every, operands: operands}
			if n := w.Needs().History; w.Func == syntax.Latch {
				ticks.before = allTicks
			} else if n > 0 {
				ticks.before = int64(n) + 1 // the first one may be of the second record in its interval
			} else if w.PerClient() {
				ticks.before = 1
			}
			if w.PerClient() {
				ticks.first = session.FirstTicks
			}
			t.windows = append(t.windows, ticks)
		}
		p.windows = append(p.windows, t.windows...)
		p.sessions = append(p.sessions, t)
	}
	return p
}

// Join adds sessions. Each takes its samples right after the session of the player with the same index, and at the same
// times: at the rounds of the operands of both.
func (p *Player) Join(sessions ...*session.Session) {
	joined := NewPlayer(p.source, sessions...)
	for i, t := range joined.sessions {
		first := p.sessions[2*i]
		all := slices.Concat(first.operands, t.operands)
		slices.Sort(all)
		first.operands = slices.Compact(all)
		t.operands = first.operands
		p.sessions = slices.Insert(p.sessions, 2*i+1, t)
	}
	p.windows = append(p.windows, joined.windows...)
}

// Play takes samples, and passes each to sampled. An error of sampled ends it.
func (p *Player) Play(ctx context.Context, o Options, sampled SampleFunc) error {
	p.operands, p.firstTick, p.end = nil, o.Start, o.End
	p.births = make(map[pdu.PMID][]*sessionState)
	defer func() { p.source.values = nil }()
	for _, c := range p.openContexts(ctx) {
		defer c.Close()
	}
	for _, t := range p.sessions {
		for _, id := range t.RecordedBirths() {
			p.births[id] = append(p.births[id], t)
		}
		t.operands, t.roundEnd = p.source.withoutDiscrete(ctx, t.operands), time.Time{}
		p.operands = append(p.operands, t.operands...)
		if first := o.Start.Add(-t.Span()); first.Before(p.firstTick) {
			p.firstTick = first
		}
	}
	for _, w := range p.windows {
		p.operands = append(p.operands, w.operands...)
	}
	begin, err := p.begin(ctx, o.Start)
	if err != nil {
		return err
	}
	p.firstTick, p.ticksFrom = latest(p.firstTick, p.source.Start()), begin
	p.resetTicks()
	if dayBefore := o.Start.Add(-derived.RememberedFor); len(p.births) > 0 && dayBefore.Before(begin) {
		begin = latest(dayBefore, p.source.Start()) // what was there then is not born later
	}
	records := p.source.NewContext(begin, o.End)
	defer records.Close()
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
			r, err := records.Next(ctx, p.operands...)
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

// openContexts gives each session the context that it reads values from, and returns all. Behind a mark, the first fetch
// of a counter has no value: sessions with a counter in common have different contexts.
func (p *Player) openContexts(ctx context.Context) (all []*archive.Context) {
	var counters []map[pdu.PMID]bool // of each context
	for _, t := range p.sessions {
		ids := slices.DeleteFunc(slices.Clone(t.Operands()), func(id pdu.PMID) bool {
			return p.source.desc(ctx, id).Sem != pdu.SemCounter
		})
		free := slices.IndexFunc(counters, func(of map[pdu.PMID]bool) bool {
			return !slices.ContainsFunc(ids, func(id pdu.PMID) bool { return of[id] })
		})
		if free < 0 {
			free = len(all)
			all = append(all, p.source.Archive.NewContext(time.Time{}, time.Time{}))
			counters = append(counters, make(map[pdu.PMID]bool))
		}
		for _, id := range ids {
			counters[free][id] = true
		}
		t.values = all[free]
	}
	return all
}

// begin returns when ticks must begin, so that at start each window has the state that the whole archive gives it. The
// result of a window lasts for a span after its newest tick, and has the ticks of a span before that. Others may be long
// before these: they are looked for in longer and longer parts of the archive.
func (p *Player) begin(ctx context.Context, start time.Time) (time.Time, error) {
	span := start.Sub(p.firstTick)
	for reach := span; ; reach *= 2 {
		from, to := p.firstTick.Add(-span-reach), p.firstTick.Add(-span)
		if from.Before(p.source.Start()) ||
			slices.ContainsFunc(p.windows, func(w *windowTicks) bool { return w.before == allTicks }) {
			return p.source.Start(), nil
		}
		if enough, err := p.hasBefore(ctx, from, to); enough || err != nil {
			return from, err
		}
	}
}

// hasBefore reports whether a part of the archive has the ticks that must be before those that count.
func (p *Player) hasBefore(ctx context.Context, from, to time.Time) (bool, error) {
	p.resetTicks()
	recent := make(map[*windowTicks][]int64) // ticks that a first read covers
	records := p.source.NewContext(from, to)
	defer records.Close()
	for slices.ContainsFunc(p.windows, func(w *windowTicks) bool { return w.count < w.before }) {
		r, err := records.Next(ctx, p.operands...)
		if _, damaged := errors.AsType[*archive.DamageError](err); damaged { // Play reports it
			continue
		} else if errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		p.source.setRecord(ctx, r)
		for _, w := range p.windows {
			if !p.isTick(ctx, w, r.Time) {
				continue
			}
			ticks := append(recent[w], w.last)
			for len(ticks) > 0 && ticks[0] <= w.last-w.first {
				ticks = ticks[1:]
				w.count++
			}
			recent[w] = ticks
		}
	}
	return true, nil
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
	p.source.setRecord(ctx, r)
	if err := p.sampleRounds(ctx, r, sampled); err != nil {
		return err
	}
	p.addBirths(ctx, r)
	for _, t := range p.sessions {
		if r.Time.Before(p.ticksFrom) {
			break
		}
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
		p.source.setRecord(ctx, r)
	}
	return nil
}

// markBroken notes that part of the archive is missing: the next tick of a window does not continue the last.
func (p *Player) markBroken() {
	for _, w := range p.windows {
		w.afterMark = true
	}
	for _, t := range p.sessions {
		t.DoubtBirths()
	}
}

// addBirths tells the sessions which instances a record has.
func (p *Player) addBirths(ctx context.Context, r *archive.Record) {
	for i := range r.Sets {
		for _, t := range p.births[r.Sets[i].PMID] {
			t.AddRecord(&r.Sets[i], p.source.desc(ctx, r.Sets[i].PMID).Type, r.Time)
		}
	}
}

// isTick reports whether the present record is a tick of a window: the first in its interval with all operands.
func (p *Player) isTick(ctx context.Context, w *windowTicks, at time.Time) bool {
	number := session.TickNumber(at, w.interval)
	if number == w.last || !p.source.hasAll(ctx, w.operands) {
		return false
	}
	w.last = number
	return true
}

// tickWindows passes the record to a session, for the windows that it is a tick of.
func (p *Player) tickWindows(ctx context.Context, t *sessionState, at time.Time) error {
	var windows, begin []int
	for _, w := range t.windows {
		if !p.isTick(ctx, w, at) {
			continue
		}
		windows = append(windows, w.window)
		if w.afterMark {
			begin = append(begin, w.window)
		}
		if w.afterMark = false; !at.Before(p.firstTick) {
			w.count++
		}
	}
	if len(windows) == 0 {
		return nil
	}
	return t.Tick(ctx, at, begin, windows...)
}

// sample takes a sample of a session.
func (p *Player) sample(ctx context.Context, t *sessionState, at time.Time, sampled SampleFunc) error {
	p.source.setRecord(ctx, nil)
	p.source.SetTime(at)
	p.source.values = t.values
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
