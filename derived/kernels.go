package derived

import (
	"math"
	"strconv"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Kernels are the loops over columns of numbers. All columns of a call have the same length, which
// is that of dst; dst may be one of the operands. Numbers are bits as in Vector.Bits.
//
// Arithmetic on 32-bit types gives the low 32 bits of that on 64, whatever the signs, so types of
// one size share their loops.

func toFloat(b uint64) float32   { return math.Float32frombits(uint32(b)) }
func fromFloat(f float32) uint64 { return uint64(math.Float32bits(f)) }

// number computes a step over numbers.
func (p *program) number(s *step, dst, a, b []uint64) {
	switch s.op {
	case opConvert:
		converters(s.from, s.typ)(dst, a)
	case opScale:
		scale(s.factor, dst, a)
	case opRescale:
		p.converters[s.table].convert(s.typ, dst, a)
	case opTruth:
		truths(s.from, dst, a)
	case opNot:
		for i, v := range a {
			dst[i] = v ^ 1
		}
	case opNegate:
		negate(s.typ, dst, a)
	case opArith:
		arith(syntax.Op(s.syntax), s.typ, dst, a, b)
	case opCompare:
		compare(syntax.Op(s.syntax), s.from, dst, a, b)
	case opBool:
		if syntax.Op(s.syntax) == syntax.And {
			for i, v := range a {
				dst[i] = v & b[i]
			}
			return
		}
		for i, v := range a {
			dst[i] = v | b[i]
		}
	}
}

// converters returns the loop that promotes one numeric type to another, nil when the bits are the
// same in both. Only promotions happen: never from floating point to integer, nor from DOUBLE to
// FLOAT.
func converters(from, to pdu.Type) func(dst, a []uint64) {
	switch {
	case from == to:
		return nil
	case to == pdu.TypeDouble:
		switch from {
		case pdu.Type32:
			return func(dst, a []uint64) {
				for i, v := range a {
					dst[i] = math.Float64bits(float64(int32(uint32(v))))
				}
			}
		case pdu.Type64:
			return func(dst, a []uint64) {
				for i, v := range a {
					dst[i] = math.Float64bits(float64(int64(v)))
				}
			}
		case pdu.TypeFloat:
			return func(dst, a []uint64) {
				for i, v := range a {
					dst[i] = math.Float64bits(float64(toFloat(v)))
				}
			}
		}
		return func(dst, a []uint64) { // U32, U64
			for i, v := range a {
				dst[i] = math.Float64bits(float64(v))
			}
		}
	case to == pdu.TypeFloat:
		switch from {
		case pdu.Type32:
			return func(dst, a []uint64) {
				for i, v := range a {
					dst[i] = fromFloat(float32(int32(uint32(v))))
				}
			}
		case pdu.Type64:
			return func(dst, a []uint64) {
				for i, v := range a {
					dst[i] = fromFloat(float32(int64(v)))
				}
			}
		}
		return func(dst, a []uint64) {
			for i, v := range a {
				dst[i] = fromFloat(float32(v))
			}
		}
	case from == pdu.Type32 && (to == pdu.Type64 || to == pdu.TypeU64):
		return func(dst, a []uint64) {
			for i, v := range a {
				dst[i] = uint64(int64(int32(uint32(v))))
			}
		}
	}
	return nil
}

// scale works in the order of the stock library, so that results agree to the last bit.
func scale(f Factor, dst, a []uint64) {
	for i, v := range a {
		dst[i] = math.Float64bits(math.Float64frombits(v) / f.Divisor * f.Multiplier)
	}
}

// truths gives 1 for what is not zero: fractions, negative numbers, infinities and NaN too.
func truths(t pdu.Type, dst, a []uint64) {
	mask := uint64(math.MaxUint64)
	switch t {
	case pdu.TypeFloat:
		mask = math.MaxInt32 // minus zero is zero
	case pdu.TypeDouble:
		mask = math.MaxInt64
	}
	for i, v := range a {
		dst[i] = truth(v&mask != 0)
	}
}

func negate(t pdu.Type, dst, a []uint64) {
	switch t {
	case pdu.TypeFloat:
		for i, v := range a {
			dst[i] = v ^ 1<<31
		}
	case pdu.TypeDouble:
		for i, v := range a {
			dst[i] = v ^ 1<<63
		}
	case pdu.Type32:
		for i, v := range a {
			dst[i] = uint64(uint32(-v))
		}
	default:
		for i, v := range a {
			dst[i] = -v
		}
	}
}

// arith computes + - * in any type and / in DOUBLE, where 0 divided by anything is 0.
func arith(op syntax.Op, t pdu.Type, dst, a, b []uint64) {
	b, dst = b[:len(a)], dst[:len(a)]
	switch t {
	case pdu.TypeDouble:
		arithDouble(op, dst, a, b)
		return
	case pdu.TypeFloat:
		arithFloat(op, dst, a, b)
		return
	}
	switch op {
	case syntax.Add:
		for i, v := range a {
			dst[i] = v + b[i]
		}
	case syntax.Sub:
		for i, v := range a {
			dst[i] = v - b[i]
		}
	case syntax.Mul:
		for i, v := range a {
			dst[i] = v * b[i]
		}
	}
	if t == pdu.Type32 || t == pdu.TypeU32 {
		for i, v := range dst {
			dst[i] = uint64(uint32(v))
		}
	}
}

func arithDouble(op syntax.Op, dst, a, b []uint64) {
	switch op {
	case syntax.Add:
		for i, v := range a {
			dst[i] = math.Float64bits(math.Float64frombits(v) + math.Float64frombits(b[i]))
		}
	case syntax.Sub:
		for i, v := range a {
			dst[i] = math.Float64bits(math.Float64frombits(v) - math.Float64frombits(b[i]))
		}
	case syntax.Mul:
		for i, v := range a {
			dst[i] = math.Float64bits(math.Float64frombits(v) * math.Float64frombits(b[i]))
		}
	case syntax.Div:
		for i, v := range a {
			dst[i] = 0
			if x := math.Float64frombits(v); x != 0 {
				dst[i] = math.Float64bits(x / math.Float64frombits(b[i]))
			}
		}
	}
}

func arithFloat(op syntax.Op, dst, a, b []uint64) {
	switch op {
	case syntax.Add:
		for i, v := range a {
			dst[i] = fromFloat(toFloat(v) + toFloat(b[i]))
		}
	case syntax.Sub:
		for i, v := range a {
			dst[i] = fromFloat(toFloat(v) - toFloat(b[i]))
		}
	case syntax.Mul:
		for i, v := range a {
			dst[i] = fromFloat(toFloat(v) * toFloat(b[i]))
		}
	}
}

// compare relates two columns of type t.
func compare(op syntax.Op, t pdu.Type, dst, a, b []uint64) {
	b, dst = b[:len(a)], dst[:len(a)]
	switch t {
	case pdu.TypeDouble:
		relate(op, dst, a, b, math.Float64frombits)
	case pdu.TypeFloat:
		relate(op, dst, a, b, toFloat)
	case pdu.Type32:
		relate(op, dst, a, b, func(v uint64) int32 { return int32(uint32(v)) })
	case pdu.Type64:
		relate(op, dst, a, b, func(v uint64) int64 { return int64(v) })
	default:
		relate(op, dst, a, b, func(v uint64) uint64 { return v })
	}
}

func relate[T int32 | int64 | uint64 | float32 | float64](op syntax.Op, dst, a, b []uint64, num func(uint64) T) {
	switch op {
	case syntax.Lt:
		for i, v := range a {
			dst[i] = truth(num(v) < num(b[i]))
		}
	case syntax.Leq:
		for i, v := range a {
			dst[i] = truth(num(v) <= num(b[i]))
		}
	case syntax.Eq:
		for i, v := range a {
			dst[i] = truth(num(v) == num(b[i]))
		}
	case syntax.Geq:
		for i, v := range a {
			dst[i] = truth(num(v) >= num(b[i]))
		}
	case syntax.Gt:
		for i, v := range a {
			dst[i] = truth(num(v) > num(b[i]))
		}
	case syntax.Neq:
		for i, v := range a {
			dst[i] = truth(num(v) != num(b[i]))
		}
	}
}

// aggregate reduces a column of type t, of one value at least for max and min, to one number:
// sum, max and min in the type itself, avg computed in double and given as FLOAT.
func aggregate(f syntax.Func, t pdu.Type, a []uint64) uint64 {
	switch t {
	case pdu.TypeDouble:
		return reduce(f, a, math.Float64frombits, math.Float64bits)
	case pdu.TypeFloat:
		return reduce(f, a, toFloat, fromFloat)
	case pdu.Type32:
		return reduce(f, a, func(v uint64) int32 { return int32(uint32(v)) }, func(n int32) uint64 { return uint64(uint32(n)) })
	case pdu.TypeU32:
		return reduce(f, a, func(v uint64) uint32 { return uint32(v) }, func(n uint32) uint64 { return uint64(n) })
	case pdu.Type64:
		return reduce(f, a, func(v uint64) int64 { return int64(v) }, func(n int64) uint64 { return uint64(n) })
	}
	return reduce(f, a, func(v uint64) uint64 { return v }, func(n uint64) uint64 { return n })
}

func reduce[T int32 | uint32 | int64 | uint64 | float32 | float64](
	f syntax.Func, a []uint64, num func(uint64) T, bits func(T) uint64,
) uint64 {
	var acc T
	switch f {
	case syntax.Sum:
		for _, v := range a {
			acc += num(v)
		}
	case syntax.Max:
		acc = num(a[0])
		for _, v := range a[1:] {
			if n := num(v); n > acc {
				acc = n
			}
		}
	case syntax.Min:
		acc = num(a[0])
		for _, v := range a[1:] {
			if n := num(v); n < acc {
				acc = n
			}
		}
	case syntax.Avg:
		sum := 0.0
		for _, v := range a {
			sum += float64(num(v))
		}
		return fromFloat(float32(sum / float64(len(a))))
	}
	return bits(acc)
}

// delta subtracts b from a, both of type t, into the type that builtins gives the difference.
func delta(t pdu.Type, dst, a, b []uint64) {
	switch t {
	case pdu.TypeU64: // exact before it becomes DOUBLE
		for i, v := range a {
			dst[i] = math.Float64bits(unsignedDifference(v, b[i]))
		}
	case pdu.TypeU32: // into 64
		arith(syntax.Sub, pdu.Type64, dst, a, b)
	default:
		arith(syntax.Sub, t, dst, a, b)
	}
}

func unsignedDifference(a, b uint64) float64 {
	if a < b {
		return -float64(b - a)
	}
	return float64(a - b)
}

// change is delta in double precision, before rate divides it by the time.
func change(t pdu.Type, a, b uint64) float64 {
	switch t {
	case pdu.Type32:
		return float64(int32(uint32(a - b)))
	case pdu.Type64:
		return float64(int64(a - b))
	case pdu.TypeFloat:
		return float64(toFloat(a)) - float64(toFloat(b))
	case pdu.TypeDouble:
		return math.Float64frombits(a) - math.Float64frombits(b)
	}
	return unsignedDifference(a, b)
}

// backwards reports whether a number of type t went down from b to a.
func backwards(t pdu.Type, a, b uint64) bool {
	switch t {
	case pdu.Type32:
		return int32(uint32(a)) < int32(uint32(b))
	case pdu.Type64:
		return int64(a) < int64(b)
	case pdu.TypeFloat:
		return toFloat(a) < toFloat(b)
	case pdu.TypeDouble:
		return math.Float64frombits(a) < math.Float64frombits(b)
	}
	return a < b
}

// formatNumber writes a number of type t.
func formatNumber(t pdu.Type, v uint64) string {
	switch t {
	case pdu.Type32:
		return strconv.Itoa(int(int32(uint32(v))))
	case pdu.Type64:
		return strconv.FormatInt(int64(v), 10)
	case pdu.TypeFloat:
		return strconv.FormatFloat(float64(toFloat(v)), 'g', -1, 32)
	case pdu.TypeDouble:
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
	}
	return strconv.FormatUint(v, 10)
}
