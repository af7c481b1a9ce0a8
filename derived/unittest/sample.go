package unittest

import (
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// collector makes the samples of a test.
type collector struct {
	test     *Test
	operands []supplied
	names    map[pdu.InDom]*derived.NameTable
	indoms   map[pdu.InDom]*indom
	last     map[pdu.PMID]*derived.InstSet // the same one again where nothing changes, as the agent does
}

// supplied is a metric that a test gives values of.
type supplied struct {
	*target
	operand *operand
}

// epoch is when tests begin.
var epoch = time.Unix(0, 0) //nolint:gochecknoglobals // never changed

func newCollector(t *Test) *collector {
	c := &collector{
		test: t, names: map[pdu.InDom]*derived.NameTable{}, indoms: map[pdu.InDom]*indom{},
		last: map[pdu.PMID]*derived.InstSet{},
	}
	for _, s := range t.given.targets {
		c.operands = append(c.operands, supplied{s, t.operand(s.all[0].name)})
	}
	for _, d := range []*declared{t.shared, t.own} {
		for id, made := range d.indoms {
			c.indoms[id] = made
			names := make(map[pdu.Inst]string, len(made.instances))
			for _, instance := range made.instances {
				names[instance.ID] = instance.Name
			}
			c.names[id] = derived.NewNameTable(names, made.byName)
		}
	}
	return c
}

// sample is one of a test. Metrics that the test says nothing of have no values in it.
type sample struct {
	*collector
	at      time.Time
	values  map[pdu.PMID]*derived.Vector
	members map[pdu.InDom]*derived.InstSet
}

func (s *sample) Time() time.Time                      { return s.at }
func (s *sample) Names(d pdu.InDom) *derived.NameTable { return s.names[d] }
func (s *sample) Members(d pdu.InDom) *derived.InstSet { return s.members[d] }

func (s *sample) Values(id pdu.PMID, _ *int32) *derived.Vector {
	if v := s.values[id]; v != nil {
		return v
	}
	return &derived.Vector{}
}

// take makes a sample.
func (c *collector) take(n int) *sample {
	m := &sample{
		collector: c, at: epoch.Add(c.test.at(n)),
		values:  make(map[pdu.PMID]*derived.Vector, len(c.operands)),
		members: make(map[pdu.InDom]*derived.InstSet, len(c.indoms)),
	}
	there := map[pdu.InDom]map[pdu.Inst]bool{} // domains that some metric has a say in
	for i := range c.operands {
		s := &c.operands[i]
		d := s.operand.desc.InDom
		if d != pdu.NoInDom && there[d] == nil {
			there[d] = map[pdu.Inst]bool{}
		}
		v := c.vector(s, n)
		m.values[s.operand.desc.PMID] = v
		for _, id := range v.Insts.IDs() {
			there[d][id] = true
		}
	}
	for d, known := range c.indoms {
		var ids []pdu.Inst
		for _, instance := range known.instances {
			if there[d] == nil || there[d][instance.ID] {
				ids = append(ids, instance.ID)
			}
		}
		m.members[d] = derived.NewInstSet(ids)
	}
	return m
}

// vector is the values of a metric in a sample.
func (c *collector) vector(s *supplied, n int) *derived.Vector {
	t := s.operand.desc.Type
	v := &derived.Vector{Type: t}
	whole := s.whole().item(n)
	if whole != nil && whole.kind == code {
		v.Code = whole.code
		return v
	}
	if s.operand.desc.InDom == pdu.NoInDom {
		whole.add(v, n)
		return v
	}
	known := c.indoms[s.operand.desc.InDom]
	if known == nil {
		return v // nothing but _: an instance would need a name
	}
	var ids []pdu.Inst
	for _, instance := range known.instances {
		it := whole
		if own := s.instance(instance.Name); own != nil {
			it = own.item(n)
		}
		if it.add(v, n) {
			ids = append(ids, instance.ID)
		}
	}
	if last := c.last[s.operand.desc.PMID]; last == nil || !slices.Equal(last.IDs(), ids) {
		c.last[s.operand.desc.PMID] = derived.NewInstSet(ids)
	}
	v.Insts = c.last[s.operand.desc.PMID]
	return v
}

// add appends the value of an item to a vector, if it has one.
func (it *item) add(v *derived.Vector, sample int) bool {
	if it == nil {
		return false
	}
	switch it.kind {
	case number:
		b, _ := bits(v.Type, it.value(sample)) // judged when the file was read
		v.Bits = append(v.Bits, b)
	case special:
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
