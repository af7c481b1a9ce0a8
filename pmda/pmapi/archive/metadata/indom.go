package metadata

import (
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/logfile"
)

// InDom is the history of an instance domain.
type InDom struct {
	States []State          // by time
	Last   map[pdu.Inst]int // of each instance that there has been, the number of the last state that has it
}

// State is what a record says of an instance domain from a time on: all its instances, or how they differ from those before.
type State struct {
	From      time.Time
	Delta     bool           // the others of before stay
	Instances []pdu.Instance // of a Delta those that have come
	Gone      []pdu.Inst     // of a Delta
}

func (s State) from() time.Time { return s.From }

// instances takes a record of an instance domain.
func (m *Metadata) instances(f *logfile.Fields, version int, delta bool) {
	s := State{From: f.Time(version), Delta: delta}
	indom := pdu.InDom(f.U32())
	n := f.Count(8)
	ids, offsets := f.Part(4*n), f.Part(4*n)
	if f.Failed() {
		return
	}
	texts := f.Take(f.Left())
	s.Instances = make([]pdu.Instance, 0, n)
	for range n {
		id, off := pdu.Inst(ids.I32()), int(offsets.I32())
		switch {
		case delta && off == -1:
			s.Gone = append(s.Gone, id)
		case off < 0 || off >= len(texts):
			f.Fail()
			return
		default:
			name := texts[off:]
			if end := slices.Index(name, 0); end >= 0 {
				name = name[:end]
			}
			s.Instances = append(s.Instances, pdu.Instance{ID: id, Name: m.pooled(name)})
		}
	}
	d := m.InDoms[indom]
	if d == nil {
		d = &InDom{}
		m.InDoms[indom] = d
	}
	d.States = insert(d.States, s, State.from)
}

// pooled returns text as a string that all instances of that name share.
func (m *Metadata) pooled(text []byte) string {
	if s, ok := m.interned[string(text)]; ok {
		return s
	}
	s := string(text)
	m.interned[s] = s
	return s
}

// Until is how many states there are up to a time; the first one counts for what is before it, too.
func (d *InDom) Until(t time.Time) int { return until(d.States, t, State.from) }

// At returns the instances as of a time, or as they were first recorded, if that is later.
func (d *InDom) At(t time.Time) []pdu.Instance {
	last := d.Until(t) - 1
	first := last
	for first > 0 && d.States[first].Delta {
		first--
	}
	if first == last {
		return slices.Clone(d.States[last].Instances)
	}
	return merge(d.States[first : last+1])
}

// merge applies the states one after the other. The order is that in which instances have come.
func merge(states []State) []pdu.Instance {
	var list []pdu.Instance
	places := make(map[pdu.Inst]int) // in list
	for _, s := range states {
		if !s.Delta {
			list = list[:0]
			clear(places)
		}
		for _, id := range s.Gone {
			if at, ok := places[id]; ok {
				list[at].ID = pdu.NoInst
				delete(places, id)
			}
		}
		for _, in := range s.Instances {
			if at, ok := places[in.ID]; ok {
				list[at].Name = in.Name
				continue
			}
			places[in.ID] = len(list)
			list = append(list, in)
		}
	}
	return slices.DeleteFunc(list, func(in pdu.Instance) bool { return in.ID == pdu.NoInst })
}

// All returns every instance that there has been, with its last name.
func (d *InDom) All() []pdu.Instance {
	var list []pdu.Instance
	places := make(map[pdu.Inst]int)
	for _, s := range d.States {
		for _, in := range s.Instances {
			if at, ok := places[in.ID]; ok {
				list[at].Name = in.Name
				continue
			}
			places[in.ID] = len(list)
			list = append(list, in)
		}
	}
	return list
}

// done is called when all states are there.
func (d *InDom) done() {
	d.Last = make(map[pdu.Inst]int)
	alive := make(map[pdu.Inst]bool)
	end := func(id pdu.Inst, i int) {
		delete(alive, id)
		d.Last[id] = i - 1
	}
	for i, s := range d.States {
		now := make(map[pdu.Inst]bool, len(s.Instances))
		for _, in := range s.Instances {
			now[in.ID], alive[in.ID] = true, true
		}
		for _, id := range s.Gone {
			end(id, i)
		}
		if !s.Delta && len(alive) > len(now) {
			for id := range alive {
				if !now[id] {
					end(id, i)
				}
			}
		}
	}
	for id := range alive {
		d.Last[id] = len(d.States) - 1
	}
}

// Find returns the first instance that is wanted: of those as of a time, or else of all, the last state first.
func (d *InDom) Find(t time.Time, wanted func(pdu.Instance) bool) (pdu.Instance, bool) {
	now := d.At(t)
	if i := slices.IndexFunc(now, wanted); i >= 0 {
		return now[i], true
	}
	for _, s := range slices.Backward(d.States) {
		if i := slices.IndexFunc(s.Instances, wanted); i >= 0 {
			return s.Instances[i], true
		}
	}
	return pdu.Instance{ID: pdu.NoInst}, false
}
