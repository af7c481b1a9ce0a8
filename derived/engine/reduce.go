package engine

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Loops that reduce a column of type t to one number. Floating point numbers are added from first to last: the order
// decides the last bits.

// total returns the sum, in the type itself.
func total(t pdu.Type, a []uint64, _ float64) uint64 {
	switch t {
	case pdu.TypeDouble:
		sum := 0.0
		for _, v := range a {
			sum += column.ToDouble(v)
		}
		return column.FromDouble(sum)
	case pdu.TypeFloat:
		sum := float32(0)
		for _, v := range a {
			sum += column.ToFloat(v)
		}
		return column.FromFloat(sum)
	}
	sum := uint64(0)
	for _, v := range a {
		sum += v
	}
	if t == pdu.Type32 || t == pdu.TypeU32 {
		return uint64(uint32(sum))
	}
	return sum
}

// average returns the mean as FLOAT. It is computed in double precision.
func average(t pdu.Type, a []uint64, _ float64) uint64 {
	sum := 0.0
	if t == pdu.TypeDouble {
		sum = column.ToDouble(total(t, a, 0))
	} else {
		for _, v := range a {
			sum += t.Float64(v)
		}
	}
	return column.FromFloat(float32(sum / float64(len(a))))
}

// largest returns the maximum of at least one value. NaN is ignored unless it is the first value.
func largest(t pdu.Type, a []uint64, _ float64) uint64 { return extreme(t, a, 0) }

// smallest returns the minimum likewise: the largest number in the opposite order.
func smallest(t pdu.Type, a []uint64, _ float64) uint64 { return extreme(t, a, flip(t)) }

// flip returns the bits to invert so that numbers have the opposite order: the sign of floating point, all bits of
// integers. NaN stays NaN.
func flip(t pdu.Type) uint64 {
	switch t {
	case pdu.TypeDouble:
		return 1 << 63
	case pdu.TypeFloat:
		return 1 << 31
	case pdu.Type32, pdu.TypeU32:
		return math.MaxUint32
	}
	return math.MaxUint64
}

func extreme(t pdu.Type, a []uint64, flip uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		most := column.ToDouble(a[0] ^ flip)
		for _, v := range a[1:] {
			if n := column.ToDouble(v ^ flip); n > most {
				most = n
			}
		}
		return column.FromDouble(most) ^ flip
	case pdu.TypeFloat:
		most := column.ToFloat(a[0] ^ flip)
		for _, v := range a[1:] {
			if n := column.ToFloat(v ^ flip); n > most {
				most = n
			}
		}
		return column.FromFloat(most) ^ flip
	case pdu.Type32:
		return uint64(uint32(extremeInteger[int32](a, flip))) ^ flip
	case pdu.Type64:
		return uint64(extremeInteger[int64](a, flip)) ^ flip
	}
	return extremeInteger[uint64](a, flip) ^ flip
}

func extremeInteger[T int32 | int64 | uint64](a []uint64, flip uint64) T {
	most := T(a[0] ^ flip)
	for _, v := range a[1:] {
		most = max(most, T(v^flip))
	}
	return most
}

// deviation returns the standard deviation of the values as a whole population. The first value is subtracted before
// they are added, so that the deviation of equal values is 0.
func deviation(t pdu.Type, a []uint64, _ float64) uint64 {
	first, sum, squares := t.Float64(a[0]), 0.0, 0.0
	for _, v := range a {
		sum += t.Float64(v) - first
	}
	mean := first + sum/float64(len(a))
	for _, v := range a {
		d := t.Float64(v) - mean
		squares += d * d
	}
	return column.FromDouble(math.Sqrt(squares / float64(len(a))))
}

// percentile returns the value at the nearest rank: the smallest value that n percent of the values do not exceed. NaN
// is not counted.
func percentile(t pdu.Type, a []uint64, n float64) uint64 {
	none := 0
	for _, v := range a {
		if math.IsNaN(t.Float64(v)) {
			none++
		}
	}
	at := min(none+NearestRank(n, len(a)-none), len(a)) - 1
	selectNth(a, at, ascending(t))
	return a[at]
}

// NearestRank returns the rank, from 1, of the smallest of count values that n percent of them do not exceed, at least
// 1. n is a decimal fraction rounded to a double: a rank that exceeds an integer only by this rounding is the integer.
func NearestRank(n float64, count int) int {
	const inexact = 1e-15
	return max(int(math.Ceil(n*float64(count)/100*(1-inexact))), 1)
}

// selectNth reorders a list so that the element at a position is the one that sorting would put there, and no element
// before it comes after it in the order.
func selectNth[T any](list []T, at int, order func(x, y T) int) {
	for rounds := 2 * bits.Len(uint(len(list))); len(list) > 1; rounds-- {
		if rounds == 0 { // bad pivots: sort the rest
			slices.SortFunc(list, order)
			return
		}
		pivot, i, j := list[len(list)/2], 0, len(list)-1
		for i <= j {
			for order(list[i], pivot) < 0 {
				i++
			}
			for order(pivot, list[j]) < 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case at <= j:
			list = list[:j+1]
		case at >= i:
			list, at = list[i:], at-i
		default:
			return
		}
	}
}

// ascending returns the order of numbers of a type. NaN comes first.
func ascending(t pdu.Type) func(x, y uint64) int {
	switch t {
	case pdu.TypeDouble:
		return func(x, y uint64) int { return cmp.Compare(column.ToDouble(x), column.ToDouble(y)) }
	case pdu.TypeFloat:
		return func(x, y uint64) int { return cmp.Compare(column.ToFloat(x), column.ToFloat(y)) }
	case pdu.Type32:
		return func(x, y uint64) int { return cmp.Compare(int32(uint32(x)), int32(uint32(y))) }
	case pdu.Type64:
		return func(x, y uint64) int { return cmp.Compare(int64(x), int64(y)) }
	}
	return cmp.Compare[uint64]
}
