package reloadtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"pmdaderived/pdu"
)

// SampleGrace is the longest time for which a metric may have no sample after its name is first served.
const SampleGrace = time.Second

// Client checks what one client of the agent gets for the metrics that it has looked up. It belongs to one goroutine.
type Client struct {
	// NotSampled and NoHistory count the answers that are right only because the metric is new: it has no sample yet, or no
	// previous sample yet.
	NotSampled, NoHistory int

	// Repeated counts metrics with a history that had no value because there was no newer sample.
	Repeated int

	// Values counts the metrics that had values, Histories those of them with a history.
	Values, Histories int

	site    *Site
	rand    *rand.Rand
	entries []entry
	oldest  int // the oldest generation that the next fetch may be of
}

// entry is a metric as the client knows it.
type entry struct {
	name   string
	slot   int // -1: it shows the generation
	desc   pdu.Desc
	valued int // generation of the last value; -1: none
}

// NewClient returns a client that knows no metric.
func (s *Site) NewClient(seed uint64) *Client {
	return &Client{site: s, rand: rand.New(rand.NewPCG(seed, 1))}
}

// ChooseNames forgets all metrics, and returns the full names to look up instead: some that exist and some that do
// not.
func (c *Client) ChooseNames() []string {
	c.entries = c.entries[:0]
	names := []string{full(first)}
	for i := range slots {
		if c.rand.IntN(4) > 0 {
			names = append(names, full(slotName(i)))
		}
	}
	return append(names, full(third), full(second))
}

// AddMetric adds a name with its descriptor from the agent. It is not called for names that the agent does not know,
// or has no descriptor for now.
func (c *Client) AddMetric(name string, desc pdu.Desc) error {
	e := entry{name: name, slot: -1, desc: desc, valued: -1}
	for i := range slots {
		if name == full(slotName(i)) {
			e.slot = i
		}
	}
	if err := c.site.recordMetric(e); err != nil {
		return err
	}
	c.entries = append(c.entries, e)
	return nil
}

// recordMetric records what a PMID stands for, which must never change. One name with one metadata must not have two
// PMIDs either. In generation 0 it also records the metadata of the forms.
func (s *Site) recordMetric(e entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := e.desc.PMID
	now := identity{e.name, withoutPMID(e.desc)}
	if e.slot >= 0 && s.latest().number == 0 {
		f := s.file[e.slot].form
		if known, ok := s.metadata[f]; ok && known != now.desc {
			return fmt.Errorf("%s: %+v, and another definition of that form has %+v", e.name, now.desc, known)
		}
		s.metadata[f] = now.desc
	}
	if was, ok := s.names[id]; ok && was != now {
		return fmt.Errorf("%s is %+v, and was %+v", id, now, was)
	}
	if was, ok := s.ids[now]; ok && was != id {
		return fmt.Errorf("%+v has the identifier %s, and had %s", now, id, was)
	}
	s.names[id], s.ids[now] = now, id
	return nil
}

func withoutPMID(d pdu.Desc) pdu.Desc {
	d.PMID = pdu.NoPMID
	return d
}

// IDs returns the PMIDs to fetch, and records the oldest generation that the fetch may be of.
func (c *Client) IDs() []pdu.PMID {
	ids := make([]pdu.PMID, len(c.entries))
	for i, e := range c.entries {
		ids[i] = e.desc.PMID
	}
	c.oldest = c.site.State().Served
	return ids
}

// Check returns what is wrong with the answer to a fetch of the last IDs; nil: nothing.
func (c *Client) Check(sets []pdu.ValueSet, now time.Time) error {
	if len(sets) != len(c.entries) {
		return fmt.Errorf("%d value sets for %d metrics", len(sets), len(c.entries))
	}
	number, err := c.number(sets)
	if err != nil {
		return err
	}
	s := c.site
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.generation(number)
	switch {
	case g == nil:
		return fmt.Errorf("a generation that is not: %d, the newest is %d", number, s.latest().number)
	case number < c.oldest:
		return fmt.Errorf("generation %d is served again, after %d", number, c.oldest)
	}
	s.newestServed = max(s.newestServed, number)
	var wrong []error
	for i := range sets {
		e := &c.entries[i]
		if sets[i].PMID != e.desc.PMID {
			wrong = append(wrong, fmt.Errorf("%s: value set of %s instead of %s", e.name, sets[i].PMID, e.desc.PMID))
			continue
		}
		if err := c.checkMetric(e, &sets[i], g, now); err != nil {
			wrong = append(wrong, fmt.Errorf("generation %d: %s: %w", number, e.name, err))
		}
	}
	return errors.Join(wrong...)
}

// number returns the generation of a fetch.
func (c *Client) number(sets []pdu.ValueSet) (int, error) {
	for i := range sets {
		if e := &c.entries[i]; e.name == full(first) && sets[i].Code >= 0 && len(sets[i].Values) == 1 {
			return int(number(&sets[i].Values[0], e.desc.Type)), nil
		}
	}
	return 0, errors.New("no value that shows the generation")
}

// checkMetric returns what is wrong with one metric of a fetch. The caller holds the lock of the site.
func (c *Client) checkMetric(e *entry, set *pdu.ValueSet, g *generation, now time.Time) error {
	want, count := g.number, 1
	v := serving{configured: true, served: true}
	if e.slot >= 0 {
		v = g.slots[e.slot]
		d := v.definition
		if v.served && !c.site.hasDesc(d.form, e.desc) {
			return checkUnserved(set, pdu.ErrPMID)
		}
		want = e.slot*unit + d.constant
		if d.form == nested {
			want += g.number
		}
		if d.form == members || d.form == grouped {
			count = c.site.operands.Count
		}
	}
	switch {
	case !v.served && v.configured:
		return checkUnserved(set, pdu.ErrPMID, pdu.ErrBadDerive, pdu.ErrAgain)
	case !v.served:
		return checkUnserved(set, pdu.ErrPMID)
	case set.Code == pdu.ErrAgain && e.slot >= 0 && c.isNew(v.since, now):
		c.NotSampled++
		return nil
	case set.Code == 0 && len(set.Values) == 0 && v.definition.form == historic && e.slot >= 0:
		if e.valued < 0 || e.valued < v.sampled {
			c.NoHistory++
		} else {
			c.Repeated++
		}
		return nil
	case set.Code < 0:
		return fmt.Errorf("%w", set.Code)
	case len(set.Values) != count:
		return fmt.Errorf("%d values, want %d", len(set.Values), count)
	}
	for i := range set.Values {
		if got := number(&set.Values[i], e.desc.Type); got != float64(want) {
			return fmt.Errorf("value %v, want %d", got, want)
		}
	}
	c.Values++
	if e.slot >= 0 && v.definition.form == historic {
		c.Histories++
	}
	e.valued = g.number
	return nil
}

// isNew reports whether a name has been served for so short a time that it may have no sample yet. since is a
// generation.
func (c *Client) isNew(since int, now time.Time) bool {
	g := c.site.generation(since)
	return g != nil && now.Sub(g.made) < SampleGrace
}

// hasDesc reports whether the metrics of a form have this descriptor.
func (s *Site) hasDesc(f form, desc pdu.Desc) bool {
	desc = withoutPMID(desc)
	known, ok := s.metadata[f]
	return ok && known == desc
}

// checkUnserved returns an error unless a metric has no values, or one of the codes.
func checkUnserved(set *pdu.ValueSet, codes ...pdu.Code) error {
	for _, code := range codes {
		if set.Code == code {
			return nil
		}
	}
	if set.Code == 0 && len(set.Values) == 0 {
		return nil
	}
	return fmt.Errorf("it is not served: %d values, %w", len(set.Values), set.Code)
}

// number returns a value as a number, exact up to 2^53.
func number(v *pdu.Value, t pdu.Type) float64 {
	return v.TypeOr(t).Float64(v.Bits)
}
