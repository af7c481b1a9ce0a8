package archive

import (
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// domain is the history of an instance domain.
type domain struct {
	states []state          // by time
	last   map[pdu.Inst]int // the last state that an instance is in
}

// state is what a record says of an instance domain from a time on: all its instances, or in what they differ from those before.
type state struct {
	t         time.Time
	delta     bool
	instances []pdu.Instance // of a delta, those that have come
	gone      []pdu.Inst     // of a delta
}

func (s state) time() time.Time { return s.t }

// instances takes a record of an instance domain.
func (m *meta) instances(f *fields, version int, delta bool) {
	s := state{t: f.time(version), delta: delta}
	indom := pdu.InDom(f.u32())
	n := f.count(8)
	ids, offsets := fields{b: f.take(4 * n)}, fields{b: f.take(4 * n)}
	if f.failed {
		return
	}
	texts := f.b[f.off:]
	s.instances = make([]pdu.Instance, 0, n)
	for range n {
		id, off := pdu.Inst(ids.i32()), int(offsets.i32())
		switch {
		case delta && off == -1:
			s.gone = append(s.gone, id)
		case off < 0 || off >= len(texts):
			f.failed = true
			return
		default:
			name := texts[off:]
			if end := slices.Index(name, 0); end >= 0 {
				name = name[:end]
			}
			s.instances = append(s.instances, pdu.Instance{ID: id, Name: m.pooled(name)})
		}
	}
	d := m.indoms[indom]
	if d == nil {
		d = &domain{}
		m.indoms[indom] = d
	}
	d.states = insert(d.states, s, state.time)
}

// pooled returns text as a string that all instances of that name share.
func (m *meta) pooled(text []byte) string {
	if s, ok := m.interned[string(text)]; ok {
		return s
	}
	s := string(text)
	m.interned[s] = s
	return s
}

// state is the number of the last state up to a time, or of the first one if that is later.
func (d *domain) state(t time.Time) int {
	i, _ := slices.BinarySearchFunc(d.states, t, func(s state, t time.Time) int {
		if s.t.After(t) {
			return 1
		}
		return -1
	})
	return max(0, i-1)
}

// at returns the instances of a state.
func (d *domain) at(last int) []pdu.Instance {
	first := last
	for first > 0 && d.states[first].delta {
		first--
	}
	if first == last {
		return slices.Clone(d.states[last].instances)
	}
	return merge(d.states[first : last+1])
}

// merge applies the states one after the other. The order is that in which instances have come.
func merge(states []state) []pdu.Instance {
	var list []pdu.Instance
	places := make(map[pdu.Inst]int) // in list
	for _, s := range states {
		if !s.delta {
			list = list[:0]
			clear(places)
		}
		for _, id := range s.gone {
			if at, ok := places[id]; ok {
				list[at].ID = pdu.NoInst
				delete(places, id)
			}
		}
		for _, in := range s.instances {
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

// all returns every instance that there has been, with its last name.
func (d *domain) all() []pdu.Instance {
	var list []pdu.Instance
	places := make(map[pdu.Inst]int)
	for _, s := range d.states {
		for _, in := range s.instances {
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
func (d *domain) done() {
	d.last = make(map[pdu.Inst]int)
	alive := make(map[pdu.Inst]bool)
	end := func(id pdu.Inst, i int) {
		delete(alive, id)
		d.last[id] = i - 1
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
		d.last[id] = len(d.states) - 1
	}
}

// find returns the first instance that is wanted: of those at a time, or else of all, the last first.
func (d *domain) find(t time.Time, wanted func(pdu.Instance) bool) (pdu.Instance, bool) {
	now := d.at(d.state(t))
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

// called returns what holds for the instance of a name, or of the part of it in front of the first space.
func called(name string) func(pdu.Instance) bool {
	return func(in pdu.Instance) bool {
		rest, ok := strings.CutPrefix(in.Name, name)
		return ok && name != "" && (rest == "" || rest[0] == ' ')
	}
}
