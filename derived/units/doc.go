// Package units converts numbers between scales of units, and derives the units of sums and products.
//
//	operands of + - < …   Widen ──► a Factor for each, and the units that they then have
//	operands of * /       Widen, then Product ──► units of the result
//	rescale(), rate()     NewConverter ──► Converter, which is exact for integers
//
// Scales of the same dimension differ by exact ratios: powers of 1024 for space, of 10 for counts, a table for time.
package units
