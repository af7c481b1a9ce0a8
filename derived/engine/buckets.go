package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// buckets has the instances of a set as buckets of histograms, one histogram for each group. It is valid as long as
// the instances, their names and the groups are the same.
type buckets struct {
	from     *column.InstSet
	names    *column.NameTable
	grouping *group.Grouping // nil: all instances are one group

	histograms []histogram // of the groups
	why        string      // the rule that an instance breaks; "": none
}

// histogram has the buckets of a group, by their bounds.
type histogram struct {
	unnamed bool      // an instance has no known name
	at      []int32   // the positions of the buckets in the set
	bounds  []bound   // their bounds
	counts  []float64 // what was counted at or below each bound
}

// rounding is by how much a cumulative count may be less than that of the bucket before, relative to that: sums of the
// same numbers differ by less if the order is another. Source: smallDeltaTolerance of Prometheus.
const rounding = 1e-12

// noHistogram says why a histogram has no value.
const noHistogram = "a bucket is missing, a count falls, or nothing was counted"

// buckets computes opBuckets, also for groups. A group whose buckets are not complete and plausible has no value.
func (e *Evaluation) buckets(s *step, c *cell) {
	a := e.step(s.first)
	if c.v.Code = min(0, a.Code); s.set {
		c.v.Code = cmp.Or(c.v.Code, e.keyCode(s.second, a.Insts))
	}
	if c.v.Code < 0 || a.Len() == 0 {
		return
	}
	m, f := c.memory(), functions[s.function()].buckets
	var g *group.Grouping
	if s.set {
		m.grouping = e.grouping(s.second, m, m.grouping, a.Insts)
		g = m.grouping
	}
	if g != nil && g.Insts.Len() == 0 {
		return
	}
	domain, _ := e.set.bucketDomain(s)
	names := e.nameTable(domain, s.age)
	if c.v.Code = names.LabelCode(BoundLabelName); c.v.Code < 0 {
		return
	}
	if b := m.buckets; b == nil || b.from != a.Insts || b.names != names || b.grouping != g {
		m.buckets = newBuckets(a.Insts, names, g, e.set.groupDomains[domain])
	}
	if m.buckets.why != "" {
		c.v.Code, c.v.Why = pdu.ErrInst, m.buckets.why
		return
	}
	c.v.Incomplete = a.Incomplete
	out := c.makeNumbers(len(m.buckets.histograms))[:0]
	m.ids = m.ids[:0]
	for k := range m.buckets.histograms {
		h := &m.buckets.histograms[k]
		value := math.NaN()
		if h.count(a.Bits) {
			value = f(h, e.number(s))
		}
		if math.IsNaN(value) {
			c.v.Incomplete = true
			continue
		}
		out = append(out, column.FromDouble(value))
		if s.set {
			m.ids = append(m.ids, g.Insts.IDs()[k])
		}
	}
	if c.v.Bits = out; s.set && len(out) > 0 {
		c.v.Insts = m.collectedSet()
	} else if s.set {
		c.v.Why = "in each group " + noHistogram
	}
}

// bucketDomain returns the domain of the buckets that a step takes; ok is false if it takes none.
func (s *Set) bucketDomain(of *step) (d pdu.InDom, ok bool) {
	switch {
	case of.op == opBuckets:
		return of.domain, true
	case of.op == opGroup && functions[of.function()].step == opBuckets:
		return s.groupDomains[of.domain].Of, true
	}
	return pdu.NoInDom, false
}

// newBuckets returns the instances of a set as buckets. d is their domain if they are groups, which can have the label
// le.
func newBuckets(from *column.InstSet, names *column.NameTable, g *group.Grouping, d group.Domain) *buckets {
	b := &buckets{from: from, names: names, grouping: g, histograms: make([]histogram, 1)}
	all, le := make([]bound, from.Len()), slices.Index(d.Labels(), BoundLabelName)
	var values []string
	for i, id := range from.IDs() {
		name, _ := names.Name(id)
		label, _ := names.Label(BoundLabelName, id)
		if le >= 0 {
			values = d.AppendValues(values[:0], name)
			label = values[le]
		}
		all[i] = boundOf(label, name)
		if g == nil {
			b.histograms[0].at = append(b.histograms[0].at, int32(i))
		}
	}
	if g != nil {
		b.histograms = make([]histogram, g.Insts.Len())
		for k := range b.histograms {
			b.histograms[k].at = slices.Clone(g.Order[g.Bounds[k]:g.Bounds[k+1]])
		}
	}
	for k := range b.histograms {
		h := &b.histograms[k]
		slices.SortStableFunc(h.at, func(x, y int32) int { return cmp.Compare(all[x].high, all[y].high) })
		for _, at := range h.at {
			_, named := names.Name(from.IDs()[at])
			h.bounds, h.unnamed = append(h.bounds, all[at]), h.unnamed || !named
		}
		h.counts = make([]float64, len(h.at))
		b.why = cmp.Or(b.why, h.rule(from, names))
		for i, low := range h.bounds {
			if low.form != BoundLower {
				continue
			}
			h.bounds[i].high = math.Inf(1)
			if i > 0 { // it ends the bucket before
				h.bounds[i-1].high = low.low
			}
		}
	}
	return b
}

// rule returns the rule that an instance breaks, "" for none: each has a bound, of the same kind as the others, and no
// two have the same.
func (h *histogram) rule(from *column.InstSet, names *column.NameTable) string {
	if h.unnamed {
		return "" // no value, until the name is known
	}
	name := func(i int) string {
		text, _ := names.Name(from.IDs()[h.at[i]])
		return text
	}
	for i, b := range h.bounds {
		switch {
		case b.form == NoBound:
			return fmt.Sprintf("instance %q has no bound", name(i))
		case b.form.Cumulative() != h.bounds[0].form.Cumulative():
			return fmt.Sprintf("instances %q and %q tell their bounds differently: only one is cumulative", name(0), name(i))
		case (b.form == BoundLower) != (h.bounds[0].form == BoundLower):
			return fmt.Sprintf("instances %q and %q tell their bounds differently: only one has a lower bound", name(0), name(i))
		case i > 0 && b.high == h.bounds[i-1].high:
			return fmt.Sprintf("instances %q and %q have the same bound", name(i-1), name(i))
		}
	}
	return ""
}

// count sets h.counts from the values of the set. It reports false if a count is missing or impossible: below 0, not
// finite, or less than that of the bucket before, beyond rounding, if they are cumulative; or if nothing was counted.
func (h *histogram) count(values []uint64) bool {
	if h.unnamed {
		return false
	}
	cumulative, total := h.bounds[0].form.Cumulative(), 0.0
	for i, at := range h.at {
		n := column.ToDouble(values[at])
		if !cumulative {
			n += total
		}
		if !(n >= total*(1-rounding)) {
			return false
		}
		total = max(total, n)
		h.counts[i] = total
	}
	last := len(h.bounds) - 1
	low, high, _, _ := h.bucket(last)
	infinite := math.IsInf(high, 1)
	return total > 0 && total <= math.MaxFloat64 && (infinite || !cumulative) && !(infinite && last == 0 && low <= 0)
}

// bucket returns the ends of a bucket, and what was counted up to each. The lower end of the first one is 0 if its
// bound is positive, else its bound. The upper end of the last one may be infinite.
func (h *histogram) bucket(i int) (low, high, before, upTo float64) {
	low, high, upTo = h.bounds[i].low, h.bounds[i].high, h.counts[i]
	if i > 0 {
		before = h.counts[i-1]
	}
	if i > 0 && math.IsNaN(low) {
		low = h.bounds[i-1].high
	}
	if !(low > math.Inf(-1)) {
		low = min(high, 0)
	}
	return low, high, before, upTo
}

// percentile returns the value below which n percent of what was counted are, by linear interpolation in its bucket. In
// a bucket without an end it is the lower end. Source: histogram_quantile() in the documentation of PromQL.
func (h *histogram) percentile(n float64) float64 {
	rank := n * h.counts[len(h.counts)-1] / 100
	for i := range h.counts {
		low, high, before, upTo := h.bucket(i)
		switch {
		case upTo < rank*(1-rounding) || upTo == before:
		case math.IsInf(high, 1):
			return low
		default:
			return low + (high-low)*min((rank-before)/(upTo-before), 1)
		}
	}
	return math.NaN()
}

// share returns the share of what was counted at or below n, by linear interpolation in its bucket. A bucket without an
// end is above n.
func (h *histogram) share(n float64) float64 {
	below := 0.0
	for i := range h.counts {
		low, high, before, upTo := h.bucket(i)
		if high <= n {
			below = upTo
			continue
		}
		if low < n && !math.IsInf(high, 1) {
			below = before + (upTo-before)*((n-low)/(high-low))
		}
		break
	}
	return below / h.counts[len(h.counts)-1]
}

// whole drops the values of each histogram of which an instance of the third operand has no finite value, and those in
// none.
func (e *Evaluation) whole(s *step, c *cell) {
	a, all := e.step(s.first), e.step(s.third)
	if c.v.Code = min(0, a.Code); c.v.Code < 0 || a.Len() == 0 || all.Len() == 0 {
		return
	}
	if c.v.Code = cmp.Or(e.keyCode(s.second, all.Insts), e.keyCode(s.outer(), nil)); c.v.Code < 0 {
		return
	}
	if c.v.Incomplete = a.Incomplete; a.Finite() && a.Insts.HasAll(all.Insts) {
		c.v.Insts, c.v.Bits = a.Insts, a.Bits
		return
	}
	n := all.Insts.Len()
	m, out := c.memory(), c.makeNumbers(n)
	groups := parts{ends: []int32{0, int32(n)}}
	if s.second >= 0 {
		m.grouping = e.grouping(s.second, m, m.grouping, all.Insts)
		groups = parts{m.grouping.Order, m.grouping.Bounds}
	}
	histograms := parts{ends: []int32{0, int32(len(groups.ends) - 1)}}
	if s.outer() >= 0 {
		m.outer = e.grouping(s.outer(), m, m.outer, m.grouping.Insts)
		histograms = parts{m.outer.Order, m.outer.Bounds}
	}
	m.ids = m.ids[:0]
	for h := range len(histograms.ends) - 1 {
		first, lacked := len(m.ids), 0
		for k := histograms.ends[h]; k < histograms.ends[h+1]; k++ {
			if s.merges() == notMerged {
				first = len(m.ids)
			}
			g, lacks := histograms.member(k), 0
			for i := groups.ends[g]; i < groups.ends[g+1]; i++ {
				place := int(groups.member(i))
				id := all.Insts.IDs()[place]
				if has := a.Insts.Near(id, place); has >= 0 && column.Finite(a.Type, a.Bits[has]) {
					out[len(m.ids)], m.ids = a.Bits[has], append(m.ids, id)
				} else {
					lacks, c.v.Incomplete = lacks+1, true
				}
			}
			whole := lacks == 0
			if s.merges() == evenly {
				whole = lacks == lacked || k == histograms.ends[h]
			}
			if lacked = lacks; !whole {
				m.ids = m.ids[:first]
				if s.merges() != notMerged {
					break
				}
			}
		}
	}
	if c.v.Bits = out[:len(m.ids)]; len(m.ids) > 0 {
		c.v.Insts = m.collectedSet()
	}
}

// parts are parts of a list: part k has the members ends[k] to ends[k+1], which are at these positions of the list.
type parts struct {
	at   []int32 // the position of each member; nil: that of the list itself
	ends []int32
}

// member returns the position of a member.
func (p parts) member(i int32) int32 {
	if p.at == nil {
		return i
	}
	return p.at[i]
}
