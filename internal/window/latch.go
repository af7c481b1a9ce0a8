package window

import (
	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// addToLatch applies the conditions of a tick: v has 0 if neither is true, 1 if only the second is, more if the first
// is. An instance without a value keeps its state. A new instance has 0, and one that is not in insts loses its state.
// The former states stay as they are, because readers may have them.
func (w *window) addToLatch(tick int64, v *derived.Vector, insts *derived.InstSet) {
	next := &derived.Vector{Type: w.Desc.Type, Insts: insts, Bits: make([]uint64, len(insts.IDs()))}
	if w.Desc.InDom == pdu.NoInDom {
		next.Bits = []uint64{0}
	}
	if former := w.states; former != nil {
		if former.Insts == insts {
			copy(next.Bits, former.Bits)
		} else if former.Insts != nil {
			for i, id := range insts.IDs() {
				if at := former.Insts.Near(id, i); at >= 0 {
					next.Bits[i] = former.Bits[at]
				}
			}
		}
	}
	for i, sum := range v.Bits {
		at := i
		if insts != nil {
			at = insts.Near(v.At(i), i)
		}
		switch sum {
		case 0: // neither is true
		case 1:
			next.Bits[at] = 0
		default:
			next.Bits[at] = 1
		}
	}
	w.newest, w.values, w.states, w.result, w.failed = tick, len(next.Bits), next, next, nil
}
