package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
	"pmdaderived/internal/unittest"
	"pmdaderived/pdu"
)

// pair is a definition whose values are compared. It keeps no values but those of two differences.
type pair struct {
	metrics             [2]*derived.Metric
	compared, differing int // number of values
	first, largest      *difference
	raised              *difference // the first where only one side is 1, if this is an alarm
	gap                 float64     // of the largest difference
	notAlarm            bool        // a value is neither 0 nor 1
	alarms              [2]alarm
}

// difference is a value that differs.
type difference struct {
	Time     string `json:"time"`
	Instance string `json:"instance"`
	Before   any    `json:"before"`
	After    any    `json:"after"`
	text     string
}

// alarm counts how long, and how often, values are 1, for each instance separately.
type alarm struct {
	Seconds float64           `json:"seconds"`
	Times   int               `json:"times"`
	last    time.Time         // of the last sample; zero: it was before a mark
	on      map[pdu.Inst]bool // the instances that are 1
}

// comparedClass has the pairs whose operands are in the same records, and the session of each side that computes them.
type comparedClass struct {
	pairs    []*pair
	sessions [2]*session.Session
}

// compareValues computes the affected definitions of both sides over the archive, side by side, and compares each
// sample. It reads the archive twice: first to find which operands are recorded together.
func (d *differences) compareValues(ctx context.Context) error {
	if len(d.affected) == 0 {
		return nil
	}
	o, progress := d.playerOptions()
	defer progress.clear()
	if o.Every == 0 {
		progress.passes = 2
	}
	classes, err := d.comparedClasses(ctx, o)
	if err != nil {
		return err
	}
	var before, after []*session.Session
	classOf := map[*session.Session]*comparedClass{} // by the session that takes its samples last
	for _, c := range classes {
		before, after = append(before, c.sessions[0]), append(after, c.sessions[1])
		classOf[c.sessions[1]] = c
	}
	player := replay.NewPlayer(d.collector.Archive.Source, before...)
	player.Join(after...)
	o.Mark = func(time.Time) error {
		for _, p := range d.pairs {
			p.alarms[0].last, p.alarms[1].last = time.Time{}, time.Time{}
		}
		return nil
	}
	return player.Play(ctx, o, func(s *session.Session, at time.Time) error {
		if c := classOf[s]; c != nil {
			for _, p := range c.pairs {
				d.compareSample(p, c.sessions, at)
			}
		}
		return nil
	})
}

// comparedClasses makes the pairs and their sessions.
func (d *differences) comparedClasses(ctx context.Context, o replay.Options) ([]*comparedClass, error) {
	var pairs []*pair
	var operands [][]pdu.PMID
	for _, name := range slices.Sorted(maps.Keys(d.affected)) {
		p := &pair{metrics: [2]*derived.Metric{d.sides[0].metric(name), d.sides[1].metric(name)}}
		if p.metrics[0] == nil || p.metrics[1] == nil {
			continue
		}
		var ids []pdu.PMID
		for _, m := range p.metrics {
			for needs := range m.Fetches {
				ids = append(ids, needs.Operands...)
			}
		}
		d.pairs[name] = p
		pairs, operands = append(pairs, p), append(operands, ids)
	}
	indexes, err := replay.Classes(ctx, d.collector.Archive.Source, o, operands)
	groups := derived.NewGroups()
	var classes []*comparedClass
	for _, class := range indexes {
		c := &comparedClass{}
		var watched [2][]*derived.Metric
		for _, i := range class {
			c.pairs = append(c.pairs, pairs[i])
			for k, m := range pairs[i].metrics {
				watched[k] = append(watched[k], m)
			}
		}
		for k, s := range d.sides {
			c.sessions[k] = session.NewWithSet(d.collector.Archive.Source, d.catalog, s.set, groups)
			c.sessions[k].Watch(watched[k]...)
		}
		classes = append(classes, c)
	}
	return classes, err
}

// pairSample has the values of a pair at one time, as the agent serves them.
type pairSample struct {
	at       time.Time
	sessions [2]*session.Session
	values   [2]*derived.Vector
}

// compareSample compares the values of a sample.
func (d *differences) compareSample(p *pair, sessions [2]*session.Session, at time.Time) {
	s := pairSample{at: at, sessions: sessions}
	for i, m := range p.metrics {
		s.values[i] = sessions[i].Value(m).OnlyFinite()
	}
	before, after := s.values[0], s.values[1]
	both := 0 // number of instances that both have
	for i := range before.Len() {
		j := p.position(after, before.At(i), i)
		if j >= 0 {
			both++
		}
		d.compareValue(p, &s, [2]int{i, j})
	}
	for j := 0; both < after.Len() && j < after.Len(); j++ {
		if p.position(before, after.At(j), j) < 0 {
			d.compareValue(p, &s, [2]int{-1, j})
		}
	}
	for i, v := range s.values {
		if !p.notAlarm {
			p.alarms[i].add(v, at)
		}
	}
}

// position returns where the other side has the value of an instance, or -1. An instance of another domain is another
// one.
func (p *pair) position(v *derived.Vector, id pdu.Inst, hint int) int {
	switch {
	case v.Len() == 0 || p.metrics[0].Desc.InDom != p.metrics[1].Desc.InDom:
		return -1
	case v.Insts == nil:
		return 0
	}
	return v.Insts.Near(id, hint)
}

// compareValue compares a value of both sides, by its positions. A position is -1 where there is none.
func (d *differences) compareValue(p *pair, s *pairSample, at [2]int) {
	p.compared++
	var numbers [2]float64
	for k, i := range at {
		if i >= 0 && s.values[k].Type.Numeric() {
			numbers[k] = s.values[k].Type.Float64(s.values[k].Bits[i])
		}
		p.notAlarm = p.notAlarm || i >= 0 && !s.values[k].Type.Numeric() || numbers[k] != 0 && numbers[k] != 1
	}
	both := at[0] >= 0 && at[1] >= 0
	if both && unittest.Same(s.values[0], at[0], s.values[1], at[1]) {
		return
	}
	p.differing++
	gap := 0.0
	if both {
		gap = math.Abs(numbers[0] - numbers[1])
	}
	if p.first == nil || gap > p.gap {
		p.largest, p.gap = d.describe(p, s, at), gap
	}
	if p.first == nil {
		p.first = p.largest
	}
	if p.raised == nil && numbers[0] != numbers[1] {
		p.raised = d.describe(p, s, at)
	}
}

// describe returns a value that differs, in words and for JSON.
func (d *differences) describe(p *pair, s *pairSample, at [2]int) *difference {
	archive := d.collector.Archive
	found := &difference{Time: s.at.In(archive.Zone).Format(time.RFC3339Nano)}
	texts := [2]string{absent, absent}
	for k, to := range []*any{&found.Before, &found.After} {
		if v, i := s.values[k], at[k]; i >= 0 {
			*to, texts[k] = jsonValue(v, i), cellText(v, i)
			if id := v.At(i); id != pdu.NoInst {
				found.Instance = d.instanceName(s.sessions[k], p.metrics[k].Desc.InDom, id)
			}
		}
	}
	if texts[0] == texts[1] { // they differ in later digits
		texts = [2]string{plainText(s.values[0], at[0]), plainText(s.values[1], at[1])}
	}
	found.text = strings.TrimSuffix(archive.FormatTime(s.at), ".000") + " "
	if found.Instance != "" {
		found.text += printable.Line(found.Instance) + " "
	}
	found.text += texts[0] + " -> " + texts[1]
	return found
}

// isAlarm reports whether all values are 0 or 1, without units.
func (p *pair) isAlarm() bool {
	return !p.notAlarm && p.compared > 0 && p.metrics[1].Desc.Units == (pdu.Units{})
}

// add adds a sample. A value counts until the next one.
func (a *alarm) add(v *derived.Vector, at time.Time) {
	if !a.last.IsZero() {
		a.Seconds += at.Sub(a.last).Seconds() * float64(len(a.on))
	}
	on := make(map[pdu.Inst]bool, len(a.on))
	for i := range v.Len() {
		if id := v.At(i); v.Type.Float64(v.Bits[i]) == 1 {
			if on[id] = true; !a.on[id] {
				a.Times++
			}
		}
	}
	a.last, a.on = at, on
}

// String returns how long, and how often, values were 1.
func (a *alarm) String() string {
	if a.Times == 0 {
		return "never 1"
	}
	lasted := time.Duration(a.Seconds * float64(time.Second)).Round(time.Second)
	return "1 for " + timeText(lasted) + " in " + plural.Of(a.Times, "time")
}

// addValues adds what differs in the values of a definition that both sides have, and reports whether something does.
// It also tells that there are no values.
func (d *differences) addValues(p *pair, add func(kind, format string, args ...any) *change) bool {
	d.addWindows(p, add)
	if p.compared == 0 {
		add("error", "not compared: it has no values in this part of the archive")
	}
	if p.differing == 0 {
		return false
	}
	var c *change
	if before, after := &p.alarms[0], &p.alarms[1]; p.isAlarm() {
		p.first = cmp.Or(p.raised, p.first)
		c = add("alarm", "%s -> %s, first %s", before, after, p.first.text)
		c.Before, c.After = before, after
	} else {
		c = add("values", "%d of %s differ, first %s", p.differing, plural.Of(p.compared, "value"), p.first.text)
		if p.largest != p.first {
			c.Message += ", largest " + p.largest.text
		}
		c.Largest = p.largest
	}
	c.First, c.Compared, c.Differing = p.first, p.compared, p.differing
	return true
}

// addWindows tells that the longest window of a definition is longer than the archive.
func (d *differences) addWindows(p *pair, add func(kind, format string, args ...any) *change) {
	archive := d.collector.Archive
	has, text := archive.Part.End.Sub(archive.Start()), ""
	longest := has
	for i, m := range p.metrics {
		for _, k := range m.Needs().Windows {
			w := d.sides[i].set.Windows()[k]
			if span := time.Duration(w.Span) * w.Every; span > longest && w.Func != syntax.Latch {
				longest, text = span, windowText(w)
			}
		}
	}
	if text != "" {
		add("error", "%s: the archive has %s only", text, timeText(has.Round(time.Second)))
	}
}

// addMetadata adds what differs in the metadata of a definition, because of which the agent gives it another PMID.
func (d *differences) addMetadata(name string, add func(kind, format string, args ...any) *change) {
	var metadata [2]map[string]string
	for i, s := range d.sides {
		m := s.metric(name)
		if m == nil {
			return
		}
		inDom := m.Desc.InDom.String()
		if g, ok := s.set.GroupDomains()[m.Desc.InDom]; ok {
			inDom = fmt.Sprintf("groups of %s by %s", g.Of, g.Label)
		} else if m.Desc.InDom == pdu.NoInDom {
			inDom = "none"
		}
		metadata[i] = map[string]string{
			"type": m.Desc.Type.String(), "semantics": m.Desc.Sem.String(),
			"units": cmp.Or(m.Desc.Units.String(), "none"), "indom": inDom,
		}
	}
	var texts []string
	for _, field := range []string{"type", "semantics", "units", "indom"} {
		if before, after := metadata[0][field], metadata[1][field]; before != after {
			texts = append(texts, field+" "+before+" -> "+after)
		}
	}
	if len(texts) > 0 {
		c := add("metadata", "%s: a new PMID", strings.Join(texts, ", "))
		c.Before, c.After = metadata[0], metadata[1]
	}
}
