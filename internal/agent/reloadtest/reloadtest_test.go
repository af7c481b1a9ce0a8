package reloadtest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var operands = Operands{
	Number: "up.load",
	Bins:   "up.bin",
	Count:  3,
	Names:  []string{"one", "two", "three"},
	Text:   "up.name",
}

// server is an agent that does everything right.
type server struct {
	site *Site
}

func (s server) id(slot int, f form) pdu.PMID { return pdu.NewPMID(510, 1+slot, int(f)) }

func (s server) desc(slot int, f form) pdu.Desc {
	d := pdu.Desc{PMID: s.id(slot, f), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	d.Units = pdu.Units{Count: int8(f)}
	return d
}

func (s server) look(t *testing.T, c *Client) {
	t.Helper()
	g := s.site.latest()
	for _, name := range c.ChooseNames() {
		switch name {
		case full(first), full(second), full(third):
			d := s.desc(slots, 0)
			d.PMID = pdu.NewPMID(510, 1+slots, int(name[len("derived.gen.")]))
			require.NoError(t, c.AddMetric(name, d))
		}
		for i, v := range g.slots {
			if name == full(slotName(i)) && v.served {
				require.NoError(t, c.AddMetric(name, s.desc(i, v.definition.form)))
			}
		}
	}
}

func (s server) fetch(c *Client, g *generation) []pdu.ValueSet {
	c.IDs()
	var sets []pdu.ValueSet
	for _, e := range c.entries {
		set := pdu.ValueSet{PMID: e.desc.PMID}
		value, n := g.number, 1
		if e.slot >= 0 {
			v := g.slots[e.slot]
			switch {
			case !v.served:
				set.Code, n = pdu.ErrPMID, 0
			case e.desc.PMID != s.id(e.slot, v.definition.form):
				n = 0
			default:
				value = e.slot*unit + v.definition.constant
				if v.definition.form == nested {
					value += g.number
				}
				if v.definition.form == members || v.definition.form == grouped {
					n = 3
				}
			}
		}
		for i := range n {
			set.Values = append(set.Values, pdu.DoubleValue(pdu.Inst(i), float64(value)))
		}
		sets = append(sets, set)
	}
	return sets
}

func newServer(t *testing.T) (server, *Client) {
	t.Helper()
	s := server{NewSite(1, operands)}
	c := s.site.NewClient(1)
	for range 10 { // all forms are learnt
		s.look(t, c)
	}
	for range 100 {
		s.site.Edit()
	}
	s.look(t, c)
	return s, c
}

func TestRightAnswersPass(t *testing.T) {
	s, c := newServer(t)
	for range 3000 {
		s.site.Edit()
		require.NoError(t, c.Check(s.fetch(c, s.site.latest()), time.Now()))
		require.NoError(t, s.site.CheckNames(s.site.Names(), s.site.State().Served))
	}
	assert.Positive(t, c.Values)
	assert.Zero(t, c.NotSampled)
	assert.Positive(t, s.site.State().Broken)
	assert.Equal(t, s.site.State().Generation, s.site.State().Served)
}

// Each row is a mistake of an agent that must not pass.
func TestWrongAnswersFail(t *testing.T) {
	served := func(c *Client, sets []pdu.ValueSet) *pdu.ValueSet { // one with a value, of a slot
		i := slices.IndexFunc(c.entries, func(e entry) bool {
			v := c.site.latest().slots[max(0, e.slot)]
			return e.slot >= 0 && v.served &&
				len(sets[slices.IndexFunc(c.entries, func(x entry) bool { return x == e })].Values) == 1
		})
		return &sets[i]
	}
	for _, row := range []struct {
		name   string
		spoil  func(c *Client, sets []pdu.ValueSet)
		reason string
	}{
		{"another value", func(c *Client, sets []pdu.ValueSet) { served(c, sets).Values[0] = pdu.DoubleValue(0, 3) }, "value 3, want"},
		{"a value too many", func(c *Client, sets []pdu.ValueSet) {
			set := served(c, sets)
			set.Values = append(set.Values, set.Values[0])
		}, "2 values, want 1"},
		{"no value", func(c *Client, sets []pdu.ValueSet) { served(c, sets).Values = nil }, "0 values, want 1"},
		{"an error", func(c *Client, sets []pdu.ValueSet) {
			*served(c, sets) = pdu.ValueSet{PMID: served(c, sets).PMID, Code: pdu.ErrBadDerive}
		}, pdu.ErrBadDerive.Error()},
		{"no sample for something old", func(c *Client, sets []pdu.ValueSet) {
			*served(c, sets) = pdu.ValueSet{PMID: served(c, sets).PMID, Code: pdu.ErrAgain}
		}, pdu.ErrAgain.Error()},
		{"another metric", func(c *Client, sets []pdu.ValueSet) { served(c, sets).PMID = 1 }, "instead of"},
		{"a mixture", func(c *Client, sets []pdu.ValueSet) {
			sets[len(sets)-1].Values = []pdu.Value{pdu.DoubleValue(0, float64(c.site.latest().number-1))}
		}, "gen.second: value"},
		{"an older generation", func(c *Client, sets []pdu.ValueSet) {
			for i, e := range c.entries {
				if e.slot < 0 {
					sets[i].Values = []pdu.Value{pdu.DoubleValue(0, 1)}
				}
			}
		}, "served again"},
		{"a generation to come", func(c *Client, sets []pdu.ValueSet) { sets[0].Values = []pdu.Value{pdu.DoubleValue(0, 999)} }, "a generation that is not"},
		{"nothing", func(_ *Client, sets []pdu.ValueSet) { sets[0].Values = nil }, "no value that shows"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := newServer(t)
			sets := s.fetch(c, s.site.latest())
			require.NoError(t, c.Check(sets, time.Now()))
			c.IDs()
			late := time.Now().Add(2 * SampleGrace)
			row.spoil(c, sets)
			require.ErrorContains(t, c.Check(sets, late), row.reason)
		})
	}
}

func TestDeletedMetricMayHaveNoValue(t *testing.T) {
	s, c := newServer(t)
	for i := range c.entries {
		if slot := c.entries[i].slot; slot >= 0 {
			s.site.file[slot].fault = absent
		}
	}
	before := s.fetch(c, s.site.latest())
	s.site.addGeneration()
	require.NoError(t, c.Check(s.fetch(c, s.site.latest()), time.Now()))
	for i := range before {
		if c.entries[i].slot < 0 {
			before[i].Values[0] = pdu.DoubleValue(0, float64(s.site.State().Generation))
		}
	}
	require.ErrorContains(t, c.Check(before, time.Now()), "it is not served")
}

func TestRepairLeavesNothingWrong(t *testing.T) {
	s, _ := newServer(t)
	require.Equal(t, s.site.State().Generation+1, s.site.Repair())
	for i, v := range s.site.latest().slots {
		assert.Equal(t, v.configured, v.served, "slot %d", i)
		assert.Contains(t, []fault{none, absent}, s.site.file[i].fault, "slot %d", i)
	}
}

func TestIdentifiersStayWhatTheyAre(t *testing.T) {
	s, c := newServer(t)
	d := s.desc(3, 3)
	require.NoError(t, c.AddMetric("derived.slot3.m", d))
	require.ErrorContains(t, c.AddMetric("derived.slot4.m", d), "and was")
	other := d
	other.Type = pdu.TypeU32
	require.ErrorContains(t, c.AddMetric("derived.slot3.m", other), "and was")
	second := d
	second.PMID++
	require.ErrorContains(t, c.AddMetric("derived.slot3.m", second), "and had")
}
