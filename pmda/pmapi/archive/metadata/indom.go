package metadata

import (
	"fmt"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/logfile"
)

// InDom is the history of an instance domain.
type InDom struct {
	states []state          // in the order of time
	Last   map[pdu.Inst]int // for each instance the index of the last state that has it; set by setLast
}

// state is one record of an instance domain: all its instances from a time on, or their changes since the previous
// state.
type state struct {
	from      time.Time
	delta     bool           // the record has changes only
	instances []pdu.Instance // all, or the new ones
	gone      []pdu.Inst     // for changes only
}

func (s state) since() time.Time { return s.from }

// instances adds a record of an instance domain, without the instances of which libpcp would refuse the archive.
func (m *Metadata) instances(f *logfile.Fields, version int, delta bool) (wrong string) {
	s := state{from: f.Time(version), delta: delta}
	indom := pdu.InDom(f.U32())
	n := f.Count(8)
	ids, offsets := f.Part(4*n), f.Part(4*n)
	if f.Failed() {
		return ""
	}
	texts := f.Bytes(f.Left())
	s.instances = make([]pdu.Instance, 0, n)
	for range n {
		id, off := pdu.Inst(ids.I32()), int(offsets.I32())
		switch {
		case id < 0:
			wrong = fmt.Sprintf("%d is not a valid number of an instance of domain %v", id, indom)
		case delta && off == -1:
			s.gone = append(s.gone, id)
		case off < 0 || off >= len(texts):
			f.Fail()
			return ""
		default:
			name := texts[off:]
			if end := slices.Index(name, 0); end >= 0 {
				name = name[:end]
			}
			s.instances = append(s.instances, pdu.Instance{ID: id, Name: m.intern(name)})
		}
	}
	d := m.InDoms[indom]
	if d == nil {
		d = &InDom{}
		m.InDoms[indom] = d
	}
	d.states = insert(d.states, s, state.since)
	return wrong
}

// intern returns text as a string. All instances with that name share its memory.
func (m *Metadata) intern(text []byte) string {
	if s, ok := m.interned[string(text)]; ok {
		return s
	}
	s := string(text)
	m.interned[s] = s
	return s
}

// Until returns the number of records of the domain up to a time. It is at least 1 if there are any: the first one is
// used for earlier times, too.
func (d *InDom) Until(t time.Time) int { return until(d.states, t, state.since) }

// At returns the instances at a time; before the first record, those of that record.
func (d *InDom) At(t time.Time) []pdu.Instance {
	last := d.Until(t) - 1
	first := last
	for first > 0 && d.states[first].delta {
		first--
	}
	if first == last {
		return slices.Clone(d.states[last].instances)
	}
	return merge(d.states[first : last+1])
}

// merge applies states one after the other and returns the instances after the last one, the oldest instance first.
func merge(states []state) []pdu.Instance {
	var list []pdu.Instance
	indexes := make(map[pdu.Inst]int) // of instances in list
	for _, s := range states {
		if !s.delta {
			list = list[:0]
			clear(indexes)
		}
		for _, id := range s.gone {
			if at, ok := indexes[id]; ok {
				list[at].ID = pdu.NoInst
				delete(indexes, id)
			}
		}
		for _, in := range s.instances {
			if at, ok := indexes[in.ID]; ok {
				list[at].Name = in.Name
				continue
			}
			indexes[in.ID] = len(list)
			list = append(list, in)
		}
	}
	return slices.DeleteFunc(list, func(in pdu.Instance) bool { return in.ID == pdu.NoInst })
}

// All returns every instance that the domain has had, with its last name.
func (d *InDom) All() []pdu.Instance {
	all := make([]state, len(d.states))
	for i, s := range d.states {
		all[i] = state{delta: true, instances: s.instances} // without gone: all stay
	}
	return merge(all)
}

// setLast sets Last. It is called after the last record.
func (d *InDom) setLast() {
	d.Last = make(map[pdu.Inst]int)
	alive := make(map[pdu.Inst]bool)
	end := func(id pdu.Inst, i int) {
		delete(alive, id)
		d.Last[id] = i - 1
	}
	for i, s := range d.states {
		now := make(map[pdu.Inst]bool, len(s.instances))
		for _, in := range s.instances {
			now[in.ID], alive[in.ID] = true, true
		}
		for _, id := range s.gone {
			end(id, i)
		}
		if !s.delta && len(alive) > len(now) {
			for id := range alive {
				if !now[id] {
					end(id, i)
				}
			}
		}
	}
	for id := range alive {
		d.Last[id] = len(d.states) - 1
	}
}

// Find returns the first instance for which wanted returns true. It searches the instances at a time, then those of all
// records, the last record first.
func (d *InDom) Find(t time.Time, wanted func(pdu.Instance) bool) (pdu.Instance, bool) {
	now := d.At(t)
	if i := slices.IndexFunc(now, wanted); i >= 0 {
		return now[i], true
	}
	for _, s := range slices.Backward(d.states) {
		if i := slices.IndexFunc(s.instances, wanted); i >= 0 {
			return s.instances[i], true
		}
	}
	return pdu.Instance{ID: pdu.NoInst}, false
}
