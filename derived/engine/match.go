package engine

import (
	"strings"

	"pmdaderived/derived/column"
)

// match is the result of a pattern for a set and its names. It is valid as long as both stay the same.
type match struct {
	from  *column.InstSet
	names *column.NameTable
	insts *column.InstSet
	at    []int32 // their positions in from
}

// matchInstances keeps the instances whose external name, up to its first blank, matches a pattern, or does not match
// it if the step is negated. An instance without a known name is never kept, and is an error if its agent refused to
// tell it.
func (e *Evaluation) matchInstances(s *step, c *cell) {
	a := e.step(s.first)
	c.v.Code = min(0, a.Code)
	if a.Insts == nil {
		return
	}
	names := e.nameTable(s.domain, s.age)
	if code := names.NameCode(a.Insts); code < 0 {
		c.v.Code = code
		return
	}
	m := c.memory()
	if m.match.from != a.Insts || m.match.names != names {
		e.applyPattern(s, m, a.Insts, names)
	}
	c.v.Insts = m.match.insts
	switch {
	case a.Code < 0: // there are only instances
	case a.Type.Numeric():
		column.Gather(c.makeNumbers(len(m.match.at)), a.Bits, m.match.at)
	default:
		m.blobs = fit(m.blobs, len(m.match.at))
		column.Gather(m.blobs, a.Blobs, m.match.at)
		c.v.Blobs = m.blobs
	}
}

// applyPattern sets m.match for a set and its names.
func (e *Evaluation) applyPattern(s *step, m *cellMemory, from *column.InstSet, names *column.NameTable) {
	re := e.set.program.pattern(s)
	m.ids = m.ids[:0]
	m.match = match{from: from, names: names, at: m.match.at[:0]}
	for i, id := range from.IDs() {
		name, ok := names.Name(id)
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if re.MatchString(name) != s.negated() {
			m.match.at = append(m.match.at, int32(i))
			m.ids = append(m.ids, id)
		}
	}
	m.match.insts = m.collectedSet()
}
