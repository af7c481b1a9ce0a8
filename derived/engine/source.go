package engine

import (
	"pmdaderived/derived/column"
)

// blockSize is how many numbers are brought into line at a time, in memory that stays in the cache.
const blockSize = 512

// blocks is scratch space for the operands of one step.
type blocks [2][blockSize]uint64

// source is where an operand's numbers come from: those of a vector that are at certain places, or
// one number again and again.
type source struct {
	bits []uint64
	column.Places
	single bool // all are bits[0]
}

// plain reports whether the numbers lie in order as they are.
func (c *source) plain() bool { return c.At == nil && !c.single }

// fillScratch prepares scratch space for the blocks of a column of n numbers.
func (c *source) fillScratch(scratch *[blockSize]uint64, n int) {
	if !c.single {
		return
	}
	v := c.bits[0]
	fill := scratch[:min(n, blockSize)]
	for i := range fill {
		fill[i] = v
	}
}

// block returns n numbers from a position on, at most block, if need be in scratch space.
func (c *source) block(scratch *[blockSize]uint64, from, n int) []uint64 {
	switch {
	case c.single:
		return scratch[:n]
	case c.At == nil:
		return c.bits[from : from+n]
	}
	at := c.At[from : from+n]
	if first := int(at[0]); c.Rising && int(at[n-1])-first == n-1 {
		return c.bits[first : first+n]
	}
	out := scratch[:n]
	column.Gather(out, c.bits, at)
	return out
}

// fit returns a slice of length n that uses the memory of buf if that is enough and not far too much.
func fit[T any](buf []T, n int) []T {
	const small = 1024 // elements: not worth giving back
	if n > cap(buf) || n > 0 && cap(buf) > max(small, 4*n) {
		return make([]T, n)
	}
	return buf[:n]
}

// registers are the columns that steps hand to the only step that takes from them. With them an expression of fifty operators
// holds 40 to 73 bytes a value (BenchmarkMemory/fifty), without them 8 more for each operator.
type registers struct {
	free [][]uint64 // few: as many as the deepest expression needs at a time
	peak int        // the longest column since the last rest
	idle int        // rounds since then
}

// take returns room for n numbers.
func (r *registers) take(n int) []uint64 {
	r.peak = max(r.peak, n)
	best, last := -1, len(r.free)-1
	for i, buf := range r.free {
		if cap(buf) >= n && (best < 0 || cap(buf) < cap(r.free[best])) {
			best = i
		}
	}
	switch {
	case last < 0:
		return make([]uint64, n)
	case best < 0: // all are too short: one makes room, so that the list does not grow
		r.free = r.free[:last]
		return make([]uint64, n)
	}
	buf := r.free[best]
	r.free[best], r.free[last] = r.free[last], nil
	r.free = r.free[:last]
	return buf[:n]
}

func (r *registers) give(buf []uint64) { r.free = append(r.free, buf) }

// shrink gives back memory that was not needed for some rounds. No register is in use.
func (r *registers) shrink() {
	const rounds = 64
	if r.idle++; r.idle < rounds {
		return
	}
	kept := r.free[:0]
	for _, buf := range r.free {
		if cap(buf) <= 4*r.peak {
			kept = append(kept, buf)
		}
	}
	clear(r.free[len(kept):])
	r.free, r.peak, r.idle = kept, 0, 0
}
