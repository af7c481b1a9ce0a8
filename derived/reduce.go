package derived

import (
	"math"

	"pmdaderived/pdu"
)

// The loops that reduce a column of type t to one number. Floating point numbers are added one after the other: the
// order decides the last bits.

// total is the sum, in the type itself.
func total(t pdu.Type, a []uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		sum := 0.0
		for _, v := range a {
			sum += toDouble(v)
		}
		return fromDouble(sum)
	case pdu.TypeFloat:
		sum := float32(0)
		for _, v := range a {
			sum += toFloat(v)
		}
		return fromFloat(sum)
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

// average is computed in double and given as FLOAT.
func average(t pdu.Type, a []uint64) uint64 {
	sum := 0.0
	if t == pdu.TypeDouble {
		sum = toDouble(total(t, a))
	} else {
		for _, v := range a {
			sum += t.Float64(v)
		}
	}
	return fromFloat(float32(sum / float64(len(a))))
}

// largest is the maximum of one value at least. It passes over numbers that do not compare, but for the first one.
func largest(t pdu.Type, a []uint64) uint64 { return furthest(t, a, 0) }

// smallest is the minimum, likewise: the largest if the order is turned round, which flipping the sign does for floating
// point, and flipping all bits for integers.
func smallest(t pdu.Type, a []uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		return furthest(t, a, 1<<63)
	case pdu.TypeFloat:
		return furthest(t, a, 1<<31)
	case pdu.Type32, pdu.TypeU32:
		return furthest(t, a, math.MaxUint32)
	}
	return furthest(t, a, math.MaxUint64)
}

func furthest(t pdu.Type, a []uint64, flip uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		most := toDouble(a[0] ^ flip)
		for _, v := range a[1:] {
			if n := toDouble(v ^ flip); n > most {
				most = n
			}
		}
		return fromDouble(most) ^ flip
	case pdu.TypeFloat:
		most := toFloat(a[0] ^ flip)
		for _, v := range a[1:] {
			if n := toFloat(v ^ flip); n > most {
				most = n
			}
		}
		return fromFloat(most) ^ flip
	case pdu.Type32:
		return uint64(uint32(furthestInteger[int32](a, flip))) ^ flip
	case pdu.Type64:
		return uint64(furthestInteger[int64](a, flip)) ^ flip
	}
	return furthestInteger[uint64](a, flip) ^ flip
}

func furthestInteger[T int32 | int64 | uint64](a []uint64, flip uint64) T {
	most := T(a[0] ^ flip)
	for _, v := range a[1:] {
		most = max(most, T(v^flip))
	}
	return most
}
