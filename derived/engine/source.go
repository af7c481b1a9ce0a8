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
