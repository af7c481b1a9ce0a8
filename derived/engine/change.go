package engine

import (
	"math/bits"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// difference returns the loop that subtracts numbers of type t. The type of the result is the one that the checker
// gives to delta().
func difference(t pdu.Type) func(dst, a, b []uint64) {
	switch t {
	case pdu.TypeU64:
		return subtractUnsigned
	case pdu.TypeU32: // into 64
		return subtract[uint64]
	}
	return arith(syntax.Sub, t)
}

// subtractUnsigned converts the exact difference of U64 numbers to DOUBLE.
func subtractUnsigned(dst, a, b []uint64) { changeUnsigned(dst, a, b) }

// change computes the difference of numbers of type t in double precision, which rate divides by the time. dst must be
// none of the operands. down reports whether any number went down from b to a.
func change(t pdu.Type, dst, a, b []uint64) (down bool) {
	switch t {
	case pdu.Type32:
		return changeSigned[int32](dst, a, b)
	case pdu.Type64:
		return changeSigned[int64](dst, a, b)
	case pdu.TypeDouble:
		return changeDouble(dst, a, b)
	}
	return changeUnsigned(dst, a, b)
}

func changeUnsigned(dst, a, b []uint64) (down bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	any := uint64(0)
	for i := range dst {
		d, borrow := bits.Sub64(a[i], b[i], 0)
		size := (d ^ -borrow) + borrow // -d if b is the larger
		dst[i] = column.FromDouble(float64(size)) | borrow<<63
		any |= borrow
	}
	return any != 0
}

func changeSigned[T int32 | int64](dst, a, b []uint64) (down bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	any := uint64(0)
	for i := range dst {
		x, y := T(a[i]), T(b[i])
		dst[i] = column.FromDouble(float64(x - y))
		any |= column.Truth(x < y)
	}
	return any != 0
}

func changeDouble(dst, a, b []uint64) (down bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	any := uint64(0)
	for i := range dst {
		x, y := column.ToDouble(a[i]), column.ToDouble(b[i])
		dst[i] = column.FromDouble(x - y)
		any |= column.Truth(x < y)
	}
	return any != 0
}

// divideAll divides each number of a column of DOUBLE by one number.
func divideAll(dst []uint64, by float64) {
	for i, v := range dst {
		dst[i] = column.FromDouble(column.ToDouble(v) / by)
	}
}
