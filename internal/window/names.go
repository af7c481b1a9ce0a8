package window

import (
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// instanceNames has the names of a window's instances.
type instanceNames struct {
	table *derived.NameTable  // the newest one
	gone  map[pdu.Inst]string // the last names of instances in the window that table does not have

	// ended has the numbers that have become other instances since the last tick. A change since that tick is none.
	ended map[pdu.Inst]bool
}

// name returns the name that an instance of the window has, or had last.
func (n *instanceNames) name(id pdu.Inst) (name string, ok bool) {
	if name, ok = n.table.Name(id); !ok {
		name, ok = n.gone[id]
	}
	return name, ok
}

// InstanceName returns the last known name of an instance of which a window has values.
func (ws *Windows) InstanceName(d pdu.InDom, id pdu.Inst) (name string, ok bool) {
	for i := 0; i < len(ws.windows) && !ok; i++ {
		if w := &ws.windows[i]; w.Desc.InDom == d {
			name, ok = w.names.name(id)
		}
	}
	return name, ok
}

// SetNames tells the windows which names instances have now. A number with another name than before is another
// instance: all that a window has of it ends, and if it is a bucket, all that the window has. SetNames reports whether
// something has ended. Groups are not concerned, as a group has its number as long as a window has values of it.
func (ws *Windows) SetNames(table func(pdu.InDom) *derived.NameTable) (changed bool) {
	for i := range ws.windows {
		w := &ws.windows[i]
		if w.Grouped || w.Desc.InDom == pdu.NoInDom {
			continue
		}
		if t := table(w.Desc.InDom); t != nil && t != w.names.table && w.setTable(t) {
			w.removeEnded(&ws.reducer)
			changed = true
		}
	}
	return changed
}

// setTable sets the names, and reports whether numbers have become other instances.
func (w *window) setTable(t *derived.NameTable) (changed bool) {
	n := &w.names
	for id, now := range t.Names() {
		if before, known := n.name(id); known && w.identity(now) != w.identity(before) {
			if n.ended == nil {
				n.ended = make(map[pdu.Inst]bool)
			}
			n.ended[id], changed = true, true
		}
	}
	if changed && w.Histograms != "" { // sums of one bucket would be of more ticks than those of another one
		for id := range t.Names() {
			n.ended[id] = true
		}
		for _, id := range w.instances().IDs() {
			n.ended[id] = true
		}
	}
	gone := make(map[pdu.Inst]string)
	for _, id := range w.instances().IDs() {
		_, named := t.Name(id)
		if before, known := n.name(id); known && !named {
			gone[id] = before
		}
	}
	n.table, n.gone = t, gone
	return changed
}

// identity returns the part of a name that identifies an instance: an agent may change what follows the first blank, as
// that of processes does with their arguments. If labels follow it, or the instance is a bucket, it is the whole name.
func (w *window) identity(name string) string {
	first, rest, _ := strings.Cut(name, " ")
	label, value, ok := strings.Cut(rest, ":") // as in "3 le:0.5 route:/cart" of pmdaopenmetrics
	if w.Histograms != "" || ok && isLabel(label) && value != "" && value[0] != ' ' && value[0] != ':' {
		return name
	}
	return first
}

// isLabel reports whether text may be the name of a label.
func isLabel(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// removeEnded removes what the window has of instances that have ended. Readers may have the former columns and states.
func (w *window) removeEnded(r *reducer) {
	if w.Func == syntax.Latch {
		if w.states = without(w.states, w.names.ended); w.failed == nil {
			w.result = w.states
		}
		return
	}
	w.replaced = true
	former := w.columns
	w.columns, w.values = make([]column, len(former)), 0
	for i := range former {
		c := &former[i]
		v := without(&derived.Vector{Insts: c.insts, Bits: c.bits}, w.names.ended)
		if i > 0 && c.insts == former[i-1].insts {
			v.Insts = w.columns[i-1].insts // they are still a run
		}
		w.columns[i] = column{c.tick, v.Insts, v.Bits}
		w.values += len(v.Bits)
		w.unknown = w.unknown || len(v.Bits) < len(c.bits)
	}
	if !w.PerClient() && w.failed == nil && len(former) > 0 {
		w.result = r.result(w.Window, &w.view, w.columns)
	}
}

// without returns a column of numbers without some instances. If there is none of them, it is v.
func without(v *derived.Vector, ended map[pdu.Inst]bool) *derived.Vector {
	if !slices.ContainsFunc(v.Insts.IDs(), func(id pdu.Inst) bool { return ended[id] }) {
		return v
	}
	left := &derived.Vector{Type: v.Type, Incomplete: true}
	var ids []pdu.Inst
	for i, id := range v.Insts.IDs() {
		if !ended[id] {
			ids, left.Bits = append(ids, id), append(left.Bits, v.Bits[i])
		}
	}
	left.Insts = derived.NewInstSet(ids)
	return left
}
