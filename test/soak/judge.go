package soak

import (
	"math"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

const (
	// mostApart is how far the time between two samples may be from that between the moments at which
	// wave was asked for them: pmcd may have been busy with other agents in between.
	mostApart = 0.5 // seconds

	// oldest is how old a sample, and how long a step may be.
	oldest = 90 * time.Second

	// late is how long after a tick its sample may come. After four gaps in a row there are no values until the next tick.
	late, nextTick = 500 * time.Millisecond, 2 * time.Second
)

// chosen is a metric that a client has chosen: one of the model, one of a track, or an operand.
type chosen struct {
	name   string
	desc   pdu.Desc
	metric *metric // nil: of no model
	track  *track  // nil: of no track
	role   role
}

// judge follows one list of metrics of one context. Those of the tracks come before those of the model, of each track all together. If
// the first one is an operand, which is fetched plainly, nothing is missing that pmcd has no value of in the same moment.
type judge struct {
	*scene
	who  string
	list []chosen
	past map[string]*past // by track
}

// past is what a context has seen of a track.
type past struct {
	last  moment // of the last fetch that had a sample
	joint uint64 // where the next step has to begin; 0: not known
	none  bool   // the last fetch had no value
	early bool   // it need not have one: there are too few ticks so far, or too many gaps
	asked time.Time
}

func newJudge(s *scene, who string, list []chosen) *judge {
	return &judge{scene: s, who: who, list: list, past: make(map[string]*past)}
}

// check judges a fetch.
func (j *judge) check(f rig.Fetched) {
	j.tally.fetches.Add(1)
	sets, answered := f.Sets[:len(j.list)], f.Answered
	if answered.Sub(f.Sent) > late {
		j.stood.Store(answered.UnixNano())
	}
	for i := range sets {
		if sets[i].PMID != j.list[i].desc.PMID {
			j.tally.problem(wrongValue, "%s: %s instead of %s", j.who, sets[i].PMID, j.list[i].desc.PMID)
			return
		}
	}
	excused := j.weather.bad(f.Sent, answered, agentGone, pmcdGone, pmcdTold) || j.list[0].name == plainName && len(sets[0].Values) == 0
	moments := make(map[string]moment)
	for i := range sets {
		switch c := &j.list[i]; {
		case c.metric != nil:
			m, ok := moments[c.metric.form.track]
			p := j.past[c.metric.form.track]
			j.metric(c, &sets[i], m, ok, excused || p != nil && p.early)
		case c.track != nil && c.role == atRole:
			if m, ok := j.moment(c.track, rig.Fetched{Answered: answered, Sets: sets[i:]}, excused); ok {
				moments[c.track.name] = m
			}
		}
	}
}

// metric judges the values of one metric of the model. Without a moment its track has no values.
func (j *judge) metric(c *chosen, set *pdu.ValueSet, m moment, ok, excused bool) {
	x := c.metric
	switch {
	case len(set.Values) > 0 && !ok:
		j.tally.problem(wrongValue, "%s: %s has values, and its track has none", j.who, x.name)
	case len(set.Values) > 0:
		j.tally.values.Add(int64(len(set.Values)))
		if problem := x.wrong(m, c.desc.Type, set.Values); problem != "" {
			j.tally.problem(wrongValue, "%s at %d since %d: %s: %s", j.who, m.at, m.before, x.name, problem)
		}
	case ok && x.form.historic && (m.before == 0 || m.repeated):
	default:
		j.missing(excused, "%s at %d since %d: no value of %s: %v", j.who, m.at, m.before, x.name, set.Code)
	}
}

func (j *judge) missing(excused bool, format string, args ...any) {
	if excused {
		j.tally.excused.Add(1)
		return
	}
	j.tally.problem(missingValue, format, args...)
}

// moment finds out what the values of a track are of, and whether its step joins the one before.
func (j *judge) moment(t *track, sampled rig.Fetched, excused bool) (m moment, ok bool) {
	p, sets, answered := j.past[t.name], sampled.Sets, sampled.Answered
	if p == nil {
		p = new(past)
		j.past[t.name] = p
	}
	renewed := j.weather.bad(p.asked, answered, pmcdTold) // the daemon may be another one
	if renewed || t.looks && j.weather.bad(p.asked, answered, agentGone) {
		p.joint = 0
	}
	p.asked = answered
	at, ok := sampled.Bits(0)
	p.early = !ok && (t.looks && j.early(p, answered) || t.ticks() && j.gaps(answered))
	if !ok {
		p.joint, p.none = 0, true
		j.missing(excused || p.early, "%s: no value of %s: %v", j.who, t.metric(atRole), sets[0].Code)
		return m, false
	}
	m.at = t.when(at, uint64(answered.UnixNano()))
	known, repeated := p.last.at != 0, m.at == p.last.at
	switch age := answered.Sub(time.Unix(0, int64(m.at))); {
	case m.at < p.last.at:
		j.tally.problem(wrongValue, "%s: %s: the sample of %d is served after that of %d", j.who, t.name, m.at, p.last.at)
	case age < 0 || age > oldest:
		j.tally.problem(wrongValue, "%s: %s: the sample is %v old", j.who, t.name, age)
	}
	defer func() { p.last, p.none = m, false }()
	switch {
	case t.ticks():
		j.ticks(t, p, &m, sampled)
		return m, true
	case !t.historic:
		return m, true
	}
	step, stepped := sampled.Bits(1)
	pace, paced := sampled.Bits(2)
	switch {
	case repeated && paced && !stepped:
		m.before, m.took, m.repeated = p.last.before, p.last.took, true
		if is, was := math.Float64frombits(pace)*t.unit, float64(m.at-m.before)/m.took; !equal(is, was, false) {
			j.tally.problem(wrongValue, "%s at %d: the pace of %s was %v, and is %v", j.who, m.at, t.name, was, is)
		}
	case stepped != paced:
		j.tally.problem(wrongValue, "%s: only one of step and pace of %s has a value", j.who, t.name)
	case stepped:
		j.step(t, p, &m, math.Float64frombits(step)*t.unit, math.Float64frombits(pace)*t.unit)
	case !repeated:
		if known && !p.none { // of a fetch without values there is nothing to begin with
			j.missing(excused, "%s at %d: no value of %s: %v", j.who, m.at, t.metric(stepRole), sets[1].Code)
		}
		p.joint = m.at
	}
	return m, true
}

// step judges a step in ns, and a pace in ns a second.
func (j *judge) step(t *track, p *past, m *moment, step, pace float64) {
	if step <= 0 || step > float64(oldest) || pace <= 0 {
		j.tally.problem(wrongValue, "%s at %d: %s: a step of %v, a pace of %v", j.who, m.at, t.name, step, pace)
		return
	}
	m.before, m.took = m.at-uint64(step), step/pace
	if p.joint != 0 && m.before != p.joint {
		j.tally.problem(wrongValue, "%s at %d: the step of %s is since %d, and has to be since %d", j.who, m.at, t.name, m.before, p.joint)
	}
	if apart := math.Abs(m.took - step/1e9); apart > mostApart {
		j.tally.problem(wrongValue, "%s at %d: %s: %v s between samples, %v s between what is in them", j.who, m.at, t.name, m.took, step/1e9)
	}
	p.joint = m.at
}

// mostSpan is how long it may be from the first tick of a window to the last one: one less than there are, and each is late by half an interval at most.
const mostSpan = 5 * time.Second

// ticks judges the ticks of a window, of which the last one is that of m.
func (j *judge) ticks(t *track, p *past, m *moment, sampled rig.Fetched) {
	m.first = m.at
	if v, ok := sampled.Bits(1); ok {
		m.first = t.when(v, m.at)
	}
	if m.first > m.at || t.span != "" && m.at-m.first > uint64(mostSpan) {
		j.tally.problem(wrongValue, "%s at %d: the first tick of %s is that of %d", j.who, m.at, t.name, m.first)
	}
	if !t.looks {
		return
	}
	bits, counted := sampled.Bits(2)
	switch {
	case m.at == p.last.at:
		m.before, m.repeated = p.last.before, true
		if counted || m.first != p.last.first {
			j.tally.problem(wrongValue, "%s at %d: the ticks of %s are those of the fetch before, and it counts them again", j.who, m.at, t.name)
		}
		return
	case m.first <= p.last.at:
		j.tally.problem(wrongValue, "%s at %d: %s has the tick of %d again", j.who, m.at, t.name, m.first)
	case counted:
		m.before = m.at - uint64(math.Float64frombits(bits))
	}
	if p.joint != 0 && m.before != p.joint {
		j.tally.problem(wrongValue, "%s at %d: %s counts since %d, and has to count since %d", j.who, m.at, t.name, m.before, p.joint)
	}
	p.joint = m.at
}

// early reports whether there may be too few ticks for a change from one to the next: at the first fetch, since ticks are seldom while nobody looks, and for
// two ticks more than others take to be well again.
func (j *judge) early(p *past, answered time.Time) bool {
	return p.last.at == 0 || j.weather.bad(answered.Add(-2*time.Second), answered, agentGone, pmcdGone, pmcdTold)
}

// gaps reports whether there may have been gaps only: an agent that lies may make pmcd stand still for longer than a tick waits, again and again.
func (j *judge) gaps(answered time.Time) bool {
	return j.lying && answered.Sub(time.Unix(0, j.stood.Load())) < nextTick
}
