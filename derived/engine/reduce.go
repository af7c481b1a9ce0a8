package engine

import (
	"math"
	"math/bits"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Reduce computes an aggregate, such as max(), of at least one number of type t. n is the number among the arguments of
// the function, if it has one. The numbers may be reordered.
func Reduce(f syntax.Func, t pdu.Type, numbers []uint64, n float64) uint64 {
	return functions[f].reduce(t, numbers, n)
}

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
	none, of := 0, a[0]
	for i, v := range a {
		if a[i] = orderWord(t, v); a[i] == 0 && math.IsNaN(t.Float64(v)) {
			none++
		}
	}
	if none == len(a) {
		return of
	}
	return fromOrderWord(t, selectWord(a, none+nearestRank(n, len(a)-none)-1))
}

// orderWord converts a number of type t to an integer that is larger for larger numbers. NaN is 0.
func orderWord(t pdu.Type, v uint64) uint64 {
	const sign64, sign32, infinity64, infinity32 = 1 << 63, 1 << 31, 0x7ff << 52, 0xff << 23
	switch t {
	case pdu.TypeDouble:
		if v&^sign64 > infinity64 {
			return 0
		}
		return v ^ (uint64(int64(v)>>63) | sign64)
	case pdu.TypeFloat:
		if v&^sign32 > infinity32 {
			return 0
		}
		return v ^ uint64(uint32(int32(uint32(v))>>31)|sign32)
	case pdu.Type32:
		return v ^ sign32
	case pdu.Type64:
		return v ^ sign64
	}
	return v
}

// fromOrderWord is the opposite of orderWord, for numbers that are not NaN.
func fromOrderWord(t pdu.Type, word uint64) uint64 {
	const sign64, sign32 = 1 << 63, 1 << 31
	switch t {
	case pdu.TypeDouble:
		return word ^ (^uint64(int64(word)>>63) | sign64)
	case pdu.TypeFloat:
		return word ^ uint64(^uint32(int32(uint32(word))>>31)|sign32)
	}
	return orderWord(t, word)
}

// selectWord returns the element that sorting would put at a position. It reorders the list.
func selectWord(list []uint64, at int) uint64 {
	for rounds := 2 * bits.Len(uint(len(list))); len(list) > 1; rounds-- {
		if rounds == 0 { // bad pivots: sort the rest
			slices.Sort(list)
			return list[at]
		}
		last := len(list) - 1
		x, y, z := list[0], list[last/2], list[last]
		pivot := max(min(x, y), min(max(x, y), z))
		below := 0
		for i, v := range list { // without a branch: the processor would guess wrong
			list[i] = list[below]
			list[below] = v
			if v < pivot {
				below++
			}
		}
		if at < below {
			list = list[:below]
			continue
		}
		list, at = list[below:], at-below
		equal := 0
		for i, v := range list {
			list[i] = list[equal]
			list[equal] = v
			if v == pivot {
				equal++
			}
		}
		if at < equal {
			return pivot
		}
		list, at = list[equal:], at-equal
	}
	return list[at]
}

// nearestRank returns the rank, from 1, of the smallest of count values that n percent of them do not exceed, at least
// 1. n is a decimal fraction rounded to a double: a rank that exceeds an integer only by this rounding is the integer.
func nearestRank(n float64, count int) int {
	const inexact = 1e-15
	return max(int(math.Ceil(n*float64(count)/100*(1-inexact))), 1)
}
