package unittest

import (
	"maps"
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// collector makes the samples of a test. It is in the place of pmcd.
type collector struct {
	test      *Test
	indoms    map[pdu.InDom]*indomDecl
	lastInsts map[pdu.PMID]*derived.InstSet // reused while the instances are the same, as in the agent
	births    map[pdu.PMID]*derived.Births  // of the metrics of which an increase is computed
}

func newCollector(t *Test, set *derived.Set) *collector {
	c := &collector{
		test: t, indoms: maps.Clone(t.shared.indoms), lastInsts: map[pdu.PMID]*derived.InstSet{},
		births: map[pdu.PMID]*derived.Births{},
	}
	for _, id := range set.Increases() {
		c.births[id] = &derived.Births{}
	}
	maps.Copy(c.indoms, t.own.indoms)
	return c
}

// sample is a sample of a test, as package derived asks for it. Metrics without given values have none, as if their
// agent had no instances.
type sample struct {
	*collector
	time    time.Time
	values  map[pdu.PMID]*derived.Vector
	members map[pdu.InDom]*derived.InstSet
}

func (s *sample) Time() time.Time                      { return s.time }
func (s *sample) Members(d pdu.InDom) *derived.InstSet { return s.members[d] }

func (s *sample) Names(d pdu.InDom) *derived.NameTable {
	if known := s.indoms[d]; known != nil {
		return known.names
	}
	return nil
}

func (s *sample) Values(id pdu.PMID, _ *int32) *derived.Vector {
	if v := s.values[id]; v != nil {
		return v
	}
	return &derived.Vector{}
}

// sample makes a sample. A domain has the instances with a value, because the agent sees no others; one of which no
// metric is given, as for labels alone, has all that are declared.
func (c *collector) sample(n int) *sample {
	m := &sample{
		collector: c, time: c.test.start.Add(c.test.sampleTime(n)),
		values:  make(map[pdu.PMID]*derived.Vector, len(c.test.given.byMetric)),
		members: make(map[pdu.InDom]*derived.InstSet, len(c.indoms)),
	}
	present := map[pdu.InDom]map[pdu.Inst]bool{} // instances with a value, in domains with given metrics
	for _, s := range c.test.given.byMetric {
		desc := c.test.metric(s.series[0].name).desc
		d := desc.InDom
		if d != pdu.NoInDom && present[d] == nil {
			present[d] = map[pdu.Inst]bool{}
		}
		v := c.vector(s, desc, n)
		if b := c.births[desc.PMID]; b != nil {
			v.Lives = b.Add(v, nil, m.time, m.time)
		}
		m.values[desc.PMID] = v
		for _, id := range v.Insts.IDs() {
			present[d][id] = true
		}
	}
	for d, known := range c.indoms {
		var ids []pdu.Inst
		for _, instance := range known.instances {
			if present[d] == nil || present[d][instance.ID] {
				ids = append(ids, instance.ID)
			}
		}
		m.members[d] = derived.NewInstSet(ids)
	}
	return m
}

// vector returns the values of a metric in a sample.
func (c *collector) vector(s *target, desc pdu.Desc, n int) *derived.Vector {
	v := &derived.Vector{Type: desc.Type}
	whole := s.whole().item(n)
	if whole != nil && whole.kind == code {
		v.Code = whole.code
		return v
	}
	if desc.InDom == pdu.NoInDom {
		whole.appendTo(v, n)
		return v
	}
	known := c.indoms[desc.InDom]
	if known == nil {
		return v // all its values are _
	}
	var ids []pdu.Inst
	for _, instance := range known.instances {
		it := whole
		if own := s.instance(instance.Name); own != nil {
			it = own.item(n)
		}
		if it.appendTo(v, n) {
			ids = append(ids, instance.ID)
		}
	}
	if last := c.lastInsts[desc.PMID]; last == nil || !slices.Equal(last.IDs(), ids) {
		c.lastInsts[desc.PMID] = derived.NewInstSet(ids)
	}
	v.Insts = c.lastInsts[desc.PMID]
	return v
}

// appendTo appends the value of an item to a vector. It returns false if there is none.
func (it *item) appendTo(v *derived.Vector, sample int) bool {
	if it == nil {
		return false
	}
	switch it.kind {
	case number:
		b, _ := bits(v.Type, it.value(sample)) // checkItem has found no error
		v.Bits = append(v.Bits, b)
	case nonFinite:
		b := math.Float64bits(it.float)
		if v.Type == pdu.TypeFloat {
			b = uint64(math.Float32bits(float32(it.float)))
		}
		v.Bits = append(v.Bits, b)
	case text, blob:
		v.Blobs = append(v.Blobs, it.bytes)
	default:
		return false
	}
	return true
}
