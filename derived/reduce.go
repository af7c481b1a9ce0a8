package derived

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// aggregate reduces a column of type t, of one value at least for max and min, to one number:
// sum, max and min in the type itself, avg computed in double and given as FLOAT. Floating point
// numbers are added one after the other: the order decides the last bits.
func aggregate(f syntax.Func, t pdu.Type, a []uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		return reduceDouble(f, a)
	case pdu.TypeFloat:
		return reduceFloat(f, a)
	case pdu.Type32:
		return uint64(uint32(reduceInteger[int32](f, a)))
	case pdu.TypeU32:
		return uint64(uint32(reduceInteger[uint32](f, a)))
	case pdu.Type64:
		return reduceInteger[int64](f, a)
	}
	return reduceInteger[uint64](f, a)
}

func reduceInteger[T int32 | uint32 | int64 | uint64](f syntax.Func, a []uint64) uint64 {
	acc := T(0)
	switch f {
	case syntax.Sum:
		for _, v := range a {
			acc += T(v)
		}
	case syntax.Max:
		acc = T(a[0])
		for _, v := range a[1:] {
			acc = max(acc, T(v))
		}
	case syntax.Min:
		acc = T(a[0])
		for _, v := range a[1:] {
			acc = min(acc, T(v))
		}
	case syntax.Avg:
		sum := 0.0
		for _, v := range a {
			sum += float64(T(v))
		}
		return mean(sum, len(a))
	}
	return uint64(acc)
}

// reduceDouble lets max and min pass over numbers that do not compare, but for the first one.
func reduceDouble(f syntax.Func, a []uint64) uint64 {
	acc := 0.0
	switch f {
	case syntax.Sum, syntax.Avg:
		for _, v := range a {
			acc += toDouble(v)
		}
	case syntax.Max:
		acc = toDouble(a[0])
		for _, v := range a[1:] {
			if n := toDouble(v); n > acc {
				acc = n
			}
		}
	case syntax.Min:
		acc = toDouble(a[0])
		for _, v := range a[1:] {
			if n := toDouble(v); n < acc {
				acc = n
			}
		}
	}
	if f == syntax.Avg {
		return mean(acc, len(a))
	}
	return fromDouble(acc)
}

func reduceFloat(f syntax.Func, a []uint64) uint64 {
	acc := float32(0)
	switch f {
	case syntax.Sum:
		for _, v := range a {
			acc += toFloat(v)
		}
	case syntax.Max:
		acc = toFloat(a[0])
		for _, v := range a[1:] {
			if n := toFloat(v); n > acc {
				acc = n
			}
		}
	case syntax.Min:
		acc = toFloat(a[0])
		for _, v := range a[1:] {
			if n := toFloat(v); n < acc {
				acc = n
			}
		}
	case syntax.Avg:
		sum := 0.0
		for _, v := range a {
			sum += float64(toFloat(v))
		}
		return mean(sum, len(a))
	}
	return fromFloat(acc)
}

// mean is an average as FLOAT.
func mean(sum float64, n int) uint64 { return fromFloat(float32(sum / float64(n))) }
