package window

import (
	"math"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// rowsAtOnce is the number of instances whose values are gathered at a time.
const rowsAtOnce = 16

// reducer computes results from columns. It has the memory for that, and one owner.
type reducer struct {
	rows  []uint64  // the values of rowsAtOnce instances, oldest first
	ticks []float64 // of these values, since the oldest column
	runs  []run
	found []bool // by instance: it has a result
}

// run has successive columns with the same instances.
type run struct {
	columns []column
	next    int // position of the first instance that is not below those that were gathered
}

// result returns the result of a window over some columns, at least one. It has the instances that the window serves,
// in a domain of groups those of all columns. An instance without values is left out.
func (r *reducer) result(w *derived.Window, served *view, of []column) *derived.Vector {
	o := served.insts
	if w.Grouped {
		all := allInstances(of)
		o = &ordered{from: all, set: all}
	}
	ids := o.set.IDs()
	v := &derived.Vector{Type: w.Desc.Type, Insts: o.from, Bits: make([]uint64, max(len(o.from.IDs()), len(ids)))}
	r.found = slices.Grow(r.found[:0], len(v.Bits))[:len(v.Bits)]
	clear(r.found)
	r.begin(of)
	rows := slices.Grow(r.rows[:0], rowsAtOnce*len(of))[:rowsAtOnce*len(of)]
	ticks := slices.Grow(r.ticks[:0], len(rows))[:len(rows)]
	r.rows, r.ticks = rows, ticks
	for from := 0; from < len(ids); from += rowsAtOnce {
		lengths := r.gather(ids[from:min(from+rowsAtOnce, len(ids))], len(of), w.Func == syntax.SlopeSample)
		for k, n := range lengths {
			if n == 0 {
				continue
			}
			at := from + k
			if o.at != nil {
				at = int(o.at[at])
			}
			first := k * len(of)
			v.Bits[at], r.found[at] = reduceRow(w, rows[first:first+n], ticks[first:first+n])
		}
	}
	clear(r.runs) // they would keep columns in memory
	r.removeOthers(v)
	v.Incomplete = served.unknown && len(v.Bits) == 0
	return v
}

// begin divides columns into runs.
func (r *reducer) begin(of []column) {
	r.runs = r.runs[:0]
	for first, i := 0, 1; i <= len(of); i++ {
		if i == len(of) || of[i].insts != of[first].insts {
			r.runs = append(r.runs, run{columns: of[first:i]})
			first = i
		}
	}
}

// gather gathers the values of some instances in r.rows, each row at a multiple of stride, and returns the lengths of
// the rows. The instances are above those of the call before.
func (r *reducer) gather(ids []pdu.Inst, stride int, withTicks bool) (lengths [rowsAtOnce]int) {
	var ends, at [rowsAtOnce]int // the present instances of a run: where their rows end, and their positions
	var row [rowsAtOnce]int
	first := r.runs[0].columns[0].tick
	for i := range r.runs {
		run := &r.runs[i]
		have, n := run.columns[0].insts.IDs(), 0
		for k, id := range ids {
			for run.next < len(have) && have[run.next] < id {
				run.next++
			}
			if run.next < len(have) && have[run.next] == id {
				row[n], at[n], ends[n] = k, run.next, k*stride+lengths[k]
				lengths[k] += len(run.columns)
				n++
			}
		}
		for c := range run.columns {
			bits, tick := run.columns[c].bits, float64(run.columns[c].tick-first)
			for k, from := range at[:n] {
				r.rows[ends[k]+c] = bits[from]
			}
			for k := 0; withTicks && k < n; k++ {
				r.ticks[ends[k]+c] = tick
			}
		}
	}
	return lengths
}

// removeOthers removes the instances for which no result was found.
func (r *reducer) removeOthers(v *derived.Vector) {
	if !slices.Contains(r.found, false) {
		return
	}
	bits, former := v.Bits[:0], v.Insts.IDs()
	var ids []pdu.Inst
	for i, found := range r.found {
		if found {
			bits = append(bits, v.Bits[i])
			ids = append(ids, former[min(i, len(former)):min(i+1, len(former))]...)
		}
	}
	if v.Bits, v.Insts = bits, nil; len(ids) > 0 {
		v.Insts = derived.NewInstSet(ids)
	}
}

// reduceRow returns the result of a window for the values of an instance, oldest first; ok is false if there is none.
// Sums and means are added from the oldest value to the first, in DOUBLE. A row may be reordered.
func reduceRow(w *derived.Window, row []uint64, ticks []float64) (result uint64, ok bool) {
	switch w.Func {
	case syntax.MaxSample:
		return derived.Reduce(syntax.Max, w.Type, row, 0), true
	case syntax.MinSample:
		return derived.Reduce(syntax.Min, w.Type, row, 0), true
	case syntax.StdevSample:
		return derived.Reduce(syntax.Stdev, w.Type, row, 0), true
	case syntax.PercentileSample:
		return derived.Reduce(syntax.Percentile, w.Type, row, w.Number), true
	case syntax.SumSample:
		return math.Float64bits(total(w.Type, row)), true
	case syntax.AvgSample:
		return math.Float64bits(total(w.Type, row) / float64(len(row))), true
	case syntax.CountSample:
		return uint64(len(row)), true
	case syntax.FirstSample:
		return row[0], true
	case syntax.LastSample:
		return row[len(row)-1], true
	case syntax.SlopeSample:
		growth := slope(w.Type, row, ticks) / w.Every.Seconds()
		return math.Float64bits(growth), !math.IsNaN(growth) && !math.IsInf(growth, 0)
	default:
		return 0, false
	}
}

// total returns the sum of numbers.
func total(t pdu.Type, row []uint64) (sum float64) {
	for _, v := range row {
		sum += t.Float64(v)
	}
	return sum
}

// slope fits a straight line to numbers and returns its growth per tick, NaN for one tick. The first number is
// subtracted from all before they are added, so that a small growth of a large value is not lost.
func slope(t pdu.Type, row []uint64, ticks []float64) float64 {
	first, n, tick, value := t.Float64(row[0]), float64(len(row)), 0.0, 0.0
	for i, v := range row {
		tick += ticks[i]
		value += t.Float64(v) - first
	}
	tick, value = tick/n, value/n
	squares, product := 0.0, 0.0
	for i, v := range row {
		squares += (ticks[i] - tick) * (ticks[i] - tick)
		product += (ticks[i] - tick) * (t.Float64(v) - first - value)
	}
	return product / squares
}
