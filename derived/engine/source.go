package engine

import (
	"pmdaderived/derived/column"
)

// blockSize is the number of values that are gathered at a time, in memory that stays in the cache.
const blockSize = 512

// blocks is scratch memory for the two operands of a step.
type blocks [2][blockSize]uint64

// source is a column of numbers that a loop reads: the numbers at some places of a vector, or one number repeated.
type source struct {
	bits []uint64
	column.Places
	single bool // the column is bits[0], repeated
}

// plain reports whether the column is bits as it is.
func (c *source) plain() bool { return c.At == nil && !c.single }

// fillScratch prepares scratch memory for the blocks of a column of n numbers: a repeated number is written once.
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

// block returns n numbers from a position on, at most blockSize. Numbers that are not adjacent are gathered in scratch
// memory.
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

// fit returns a slice of length n. It uses the memory of buf unless that is too small or far too large.
func fit[T any](buf []T, n int) []T {
	const small = 1024 // elements: too few to give back
	if n > cap(buf) || n > 0 && cap(buf) > max(small, 4*n) {
		return make([]T, n)
	}
	return buf[:n]
}

// registers are the columns of results that only one step takes. They are reused as soon as that step is computed: an
// expression of fifty operators needs 40 to 73 bytes a value (BenchmarkMemory/fifty), without registers 8 more for each
// operator.
type registers struct {
	free [][]uint64 // few: as many as the deepest expression needs at a time
	peak int        // the longest column since the last shrink
	idle int        // rounds since the last shrink
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
	case best < 0: // all are too short: one is dropped, so that the list does not grow
		r.free = r.free[:last]
		return make([]uint64, n)
	}
	buf := r.free[best]
	r.free[best], r.free[last] = r.free[last], nil
	r.free = r.free[:last]
	return buf[:n]
}

// give makes a register available again.
func (r *registers) give(buf []uint64) { r.free = append(r.free, buf) }

// shrink drops registers that were far too large for some rounds. No register may be in use.
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
