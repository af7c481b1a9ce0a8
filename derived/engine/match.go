package engine

import (
	"strings"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
)

// match is the result of a pattern for a set, and its names or keys. It is valid as long as these stay the same.
type match struct {
	from  *column.InstSet
	names *column.NameTable
	keys  *group.Texts
	texts []string // the part of each name, or the key, that the pattern was compared with; "": there was none
	kept  []bool   // of each instance of from
	insts *column.InstSet
	at    []int32 // their positions in from
}

// matchInstances keeps the instances whose external name, up to its first blank, or whose whole key matches a pattern,
// or does not match it if the step is negated. An instance without a known name is never kept, unless the key is a
// metric, and is an error if its agent refused to tell it.
func (e *Evaluation) matchInstances(s *step, c *cell) {
	a := e.step(s.first)
	c.v.Code = min(0, a.Code)
	if a.Insts == nil {
		return
	}
	names := e.nameTable(s.domain, s.age)
	code := e.keyCode(s.second, a.Insts)
	if s.second < 0 {
		code = names.NameCode(a.Insts)
	}
	if code < 0 {
		c.v.Code = code
		return
	}
	m := c.memory()
	keys := m.match.keys
	if s.second >= 0 {
		key := e.key(s.second)
		if keys = key.Texts(a.Insts, keys); e.keySource(s.second).key == group.KeyMetric {
			names = nil // they do not matter
		}
	}
	if m.match.from != a.Insts || m.match.names != names || m.match.keys != keys {
		e.applyPattern(s, m, match{from: a.Insts, names: names, keys: keys})
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

// applyPattern sets m.match for a set, and its names or keys. An instance with the same text as in the last result is
// kept if it was kept there, which saves matching the pattern.
func (e *Evaluation) applyPattern(s *step, m *cellMemory, of match) {
	re, last := e.set.program.pattern(s), m.match
	var was []int
	if last.from != nil {
		was = of.from.PositionsIn(last.from)
	}
	m.ids = m.ids[:0]
	of.texts, of.kept, of.at = make([]string, of.from.Len()), make([]bool, of.from.Len()), last.at[:0]
	byMetric := s.second >= 0 && e.keySource(s.second).key == group.KeyMetric
	for i, id := range of.from.IDs() {
		text, ok := of.names.Name(id)
		switch {
		case !ok && !byMetric:
			continue
		case of.keys != nil:
			text = of.keys.Of[i]
		default:
			text, _, _ = strings.Cut(text, " ")
		}
		of.texts[i] = text
		if was != nil && was[i] >= 0 && text != "" && text == last.texts[was[i]] {
			of.kept[i] = last.kept[was[i]]
		} else {
			of.kept[i] = re.MatchString(text) != s.negated()
		}
		if of.kept[i] {
			of.at = append(of.at, int32(i))
			m.ids = append(m.ids, id)
		}
	}
	m.match = of
	m.match.insts = m.collectedSet()
}
