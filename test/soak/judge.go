package soak

import (
	"math"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

const (
	// maxSampleSkew limits the difference between the time from one sample to the next and the time between the two
	// answers of wave: pmcd may have been busy with other agents. The machine may have stood still, too: see judgeSkews.
	maxSampleSkew = 0.5 // seconds

	// maxAge limits the age of a sample, and the length of a step.
	maxAge = 90 * time.Second

	// maxTickDelay is the longest time from a tick to its sample. After four gaps in a row there are no values until the
	// next tick.
	maxTickDelay, nextTick = 500 * time.Millisecond, 2 * time.Second
)

// selection is a metric on the list of a client: one of the model, one of a track, or an operand.
type selection struct {
	name   string
	desc   pdu.Desc
	metric *metric // nil: of no model
	track  *track  // nil: of no track
	role   role
}

// text returns the definition of a metric of the model or of a track.
func (c *selection) text() string {
	if c.metric != nil {
		return c.metric.text()
	}
	return c.track.text(c.role)
}

// judge checks the fetches of one list of metrics of one context. The metrics of the tracks are before those of the
// model, and those of one track are together. If the first metric is an operand, values may be missing when pmcd has no
// value of that operand in the same fetch.
type judge struct {
	*shared
	client string
	list   []selection
	states map[string]*trackState // by track

	// windows counts windows since the last fetch that join the one before, and whose ticks are all known. It may be nil.
	windows *atomic.Int64
}

// trackState is the state of a track in a context.
type trackState struct {
	last      moment // of the last fetch with a sample
	nextStart uint64 // the begin of the next step; 0: unknown
	lastEmpty bool   // the last fetch had no value
	mayLack   bool   // a value may be missing: there are too few ticks so far, or too many gaps
	fetchedAt time.Time
}

func newJudge(s *shared, who string, list []selection, windows *atomic.Int64) *judge {
	return &judge{shared: s, client: who, list: list, states: make(map[string]*trackState), windows: windows}
}

// check checks the values of a fetch.
func (j *judge) check(f rig.Fetched) {
	j.tally.fetches.Add(1)
	sets, answered := f.Sets[:len(j.list)], f.Answered
	if answered.Sub(f.Sent) > maxTickDelay {
		j.blockedAt.Store(answered.UnixNano())
	}
	for i := range sets {
		if sets[i].PMID != j.list[i].desc.PMID {
			j.tally.addProblem(wrongValue, "%s: %s instead of %s", j.client, sets[i].PMID, j.list[i].desc.PMID)
			return
		}
	}
	excused := j.disturbances.affect(f.Sent, answered, agentGone, pmcdGone, pmcdSIGHUP) ||
		j.list[0].name == plainName && len(sets[0].Values) == 0
	moments := make(map[string]moment)
	for i := range sets {
		switch c := &j.list[i]; {
		case c.metric != nil:
			m, ok := moments[c.metric.form.track]
			p := j.states[c.metric.form.track]
			j.checkMetric(c, &sets[i], m, ok, excused || p != nil && p.mayLack)
		case c.track != nil && c.role == atRole:
			if m, ok := j.checkTrack(c.track, rig.Fetched{Answered: answered, Sets: sets[i:]}, excused); ok {
				moments[c.track.name] = m
			}
		}
	}
}

// checkMetric checks the values of one metric of the model. ok is false if its track has no values.
func (j *judge) checkMetric(c *selection, set *pdu.ValueSet, m moment, ok, excused bool) {
	x := c.metric
	switch {
	case len(set.Values) > 0 && !ok:
		j.tally.addProblem(wrongValue, "%s: %s has values, and its track has none", j.client, x.name)
	case len(set.Values) > 0:
		j.tally.values.Add(int64(len(set.Values)))
		if problem := x.problem(m, c.desc.Type, set.Values); problem != "" {
			j.tally.addProblem(wrongValue, "%s at %d since %d: %s: %s", j.client, m.at, m.before, x.name, problem)
		}
	case ok && x.form.historic && (m.before == 0 || m.repeated):
	default:
		if unsure := ok && x.form.unsure != nil && x.form.unsure(m); unsure {
			j.tally.unsure.Add(1)
			return
		}
		j.reportMissing(excused, "%s at %d since %d: no value of %s: %v", j.client, m.at, m.before, x.name, set.Code)
	}
}

// Names and labels of instances are known within namesKnown of a change, as docs/freshness.md says, and after a
// disturbance in that time at the next change at the latest.
const namesKnown = 20*time.Second + Grace

// lookUpTime returns how old the names and labels may be that a sample is evaluated with.
func (j *judge) lookUpTime(at uint64, answered time.Time) time.Duration {
	begin := time.Unix(0, int64(at)).Add(-namesKnown)
	if j.disturbances.overlap(begin, answered, agentGone, pmcdGone, pmcdSIGHUP) {
		return rig.SwapTime
	}
	return namesKnown
}

func (j *judge) reportMissing(excused bool, format string, args ...any) {
	if excused {
		j.tally.excused.Add(1)
		return
	}
	j.tally.addProblem(missingValue, format, args...)
}

// checkTrack returns the times of the sample of a track, and checks whether its step begins where the one before ended.
func (j *judge) checkTrack(t *track, sampled rig.Fetched, excused bool) (m moment, ok bool) {
	p, sets, answered := j.states[t.name], sampled.Sets, sampled.Answered
	if p == nil {
		p = new(trackState)
		j.states[t.name] = p
	}
	renewed := j.disturbances.affect(p.fetchedAt, answered, pmcdSIGHUP, pmcdGone) // the daemon may be another one
	if renewed || t.sinceLastFetch && j.disturbances.affect(p.fetchedAt, answered, agentGone) {
		p.nextStart = 0
	}
	p.fetchedAt = answered
	at, ok := sampled.Bits(0)
	p.mayLack = !ok && ((t.sinceLastFetch || t.counted) && j.maybeTooEarly(p, answered) || t.ticks() && j.maybeGaps(answered))
	if !ok {
		p.nextStart, p.lastEmpty = 0, true
		j.reportMissing(excused || p.mayLack, "%s: no value of %s: %v", j.client, t.metric(atRole), sets[0].Code)
		return m, false
	}
	m.at = t.when(at, uint64(answered.UnixNano()))
	m.answered, m.known = uint64(answered.UnixNano()), m.at-uint64(j.lookUpTime(m.at, answered))
	known, repeated := p.last.at != 0, m.at == p.last.at
	switch age := answered.Sub(time.Unix(0, int64(m.at))); {
	case m.at < p.last.at:
		j.tally.addProblem(wrongValue, "%s: %s: the sample of %d is served after that of %d", j.client, t.name, m.at,
			p.last.at)
	case age < 0 || age > maxAge:
		j.tally.addProblem(wrongValue, "%s: %s: the sample is %v old", j.client, t.name, age)
	}
	defer func() { p.last, p.lastEmpty = m, false }()
	switch {
	case t.ticks():
		j.checkTicks(t, p, &m, sampled)
		return m, true
	case !t.historic:
		return m, true
	}
	step, stepped := sampled.Bits(1)
	pace, paced := sampled.Bits(2)
	switch {
	case repeated && paced && !stepped:
		m.before, m.interval, m.repeated = p.last.before, p.last.interval, true
		if is, was := math.Float64frombits(pace)*t.unit, float64(m.at-m.before)/m.interval; !equal(is, was, false) {
			j.tally.addProblem(wrongValue, "%s at %d: the pace of %s was %v, and is %v", j.client, m.at, t.name, was, is)
		}
	case stepped != paced:
		j.tally.addProblem(wrongValue, "%s: only one of step and pace of %s has a value", j.client, t.name)
	case stepped:
		j.checkStep(t, p, &m, math.Float64frombits(step)*t.unit, math.Float64frombits(pace)*t.unit)
	case !repeated:
		if known && !p.lastEmpty { // a step does not begin at a fetch without values
			j.reportMissing(excused, "%s at %d: no value of %s: %v", j.client, m.at, t.metric(stepRole), sets[1].Code)
		}
		p.nextStart = m.at
	}
	return m, true
}

// checkStep checks a step in ns, and a pace in ns per second.
func (j *judge) checkStep(t *track, p *trackState, m *moment, step, pace float64) {
	if step <= 0 || step > float64(maxAge) || pace <= 0 {
		j.tally.addProblem(wrongValue, "%s at %d: %s: a step of %v, a pace of %v", j.client, m.at, t.name, step, pace)
		return
	}
	m.before, m.interval = m.at-uint64(step), step/pace
	if p.nextStart != 0 && m.before != p.nextStart {
		j.tally.addProblem(wrongValue, "%s at %d: the step of %s is since %d, and has to be since %d", j.client, m.at,
			t.name, m.before, p.nextStart)
	}
	if apart := math.Abs(m.interval - step/1e9); apart > maxSampleSkew {
		j.tally.addSkew(m.before, m.answered, apart, "%s at %d: %s: %v s between samples, %v s between what is in them", j.client,
			m.at, t.name, m.interval, step/1e9)
	}
	p.nextStart = m.at
}

// mostRounding limits the difference of two times of the same tick, in ns: pmrep prints gauges as a DOUBLE.
const mostRounding = 1000

// checkTicks checks the ticks of a window, the last of which is at m.at.
func (j *judge) checkTicks(t *track, p *trackState, m *moment, sampled rig.Fetched) {
	m.first = m.at
	if v, ok := sampled.Bits(1); ok {
		m.first = t.when(v, m.at)
	}
	// The time from the first tick to the last one is one interval less than there are ticks, and each tick is late by
	// half an interval at most.
	if span, err := time.ParseDuration(t.span); m.first > m.at || err == nil && m.at-m.first > uint64(span) {
		j.tally.addProblem(wrongValue, "%s at %d: the first tick of %s is that of %d", j.client, m.at, t.name, m.first)
	}
	if !t.sinceLastFetch && !t.counted {
		return
	}
	bits, counted := sampled.Bits(2)
	ticks, _ := sampled.Bits(3)
	if t.counted {
		late, told := sampled.Bits(4)
		m.before = m.at - uint64(math.Float64frombits(bits))
		m.whole = counted && told && ticks == rig.TickOf(m.at)-rig.TickOf(m.before) && !isLate(m.before) &&
			math.Float64frombits(late) <= mostDistance
		return
	}
	switch {
	case m.at == p.last.at:
		m.before, m.whole, m.repeated = p.last.before, p.last.whole, true
		if counted || ticks != 0 || m.first != p.last.first {
			j.tally.addProblem(wrongValue,
				"%s at %d: the ticks of %s are those of the fetch before, and it counts them again", j.client, m.at, t.name)
		}
		return
	case m.first <= p.last.at:
		j.tally.addProblem(wrongValue, "%s at %d: %s has the tick of %d again", j.client, m.at, t.name, m.first)
	case counted:
		m.before = m.at - uint64(math.Float64frombits(bits))
	}
	all, late := rig.TickOf(m.at)-rig.TickOf(m.first)+1, isLate(m.at) || isLate(m.first)
	if m.whole = ticks == all && !late; !late && (ticks > all || ticks < min(2, all)) {
		j.tally.addProblem(wrongValue, "%s at %d: %s has %d ticks since %d", j.client, m.at, t.name, ticks, m.first)
	}
	switch {
	case p.nextStart == 0:
	case max(m.before, p.nextStart)-min(m.before, p.nextStart) > mostRounding:
		j.tally.addProblem(wrongValue, "%s at %d: %s counts since %d, and has to count since %d", j.client, m.at, t.name,
			m.before, p.nextStart)
	case m.whole && j.windows != nil:
		j.windows.Add(1)
	}
	p.nextStart = m.at
}

// maybeTooEarly reports whether there may be too few ticks for a change: at the first fetch, as ticks are rare without
// a client, and for two ticks after a disturbance and its grace.
func (j *judge) maybeTooEarly(p *trackState, answered time.Time) bool {
	return p.last.at == 0 || j.disturbances.affect(answered.Add(-2*time.Second), answered, agentGone, pmcdGone, pmcdSIGHUP)
}

// maybeGaps reports whether all ticks may be gaps: an agent that lies may block pmcd for longer than a tick waits,
// again and again.
func (j *judge) maybeGaps(answered time.Time) bool {
	return j.lying && answered.Sub(time.Unix(0, j.blockedAt.Load())) < nextTick
}
