package engine

import (
	"math"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// Kernels are the loops over columns of numbers. All columns of a call have the length of dst, which may be one of the
// operands unless the comment excludes it. Numbers are bits as in column.Vector.Bits. The loop is chosen by type and
// operator before it begins. It calls no function and checks no bounds, and it does not branch on values that vary.
//
// Arithmetic on 32-bit types gives the low 32 bits of that on 64-bit types, whatever the signs, so types of one size
// share their loops. Arithmetic and relations of FLOAT are computed in DOUBLE: rounding the result to FLOAT gives the
// same as single precision.

// unary computes a step that takes one column of numbers.
func (p *program) unary(s *step, dst, a []uint64) {
	switch s.op {
	case opConvert:
		conversion(s.from, s.typ)(dst, a)
	case opScale:
		scale(p.factor(s), dst, a)
	case opRescale:
		p.converter(s).Convert(s.typ, dst, a)
	case opTruth:
		truths(s.from, dst, a)
	case opNot:
		for i, v := range a {
			dst[i] = v ^ 1
		}
	case opNegate:
		negate(s.typ, dst, a)
	case opEach:
		functions[s.function()].each(s.typ, dst, a)
	default:
	}
}

// binary returns the loop of a step that takes two columns of numbers.
func (s *step) binary() func(dst, a, b []uint64) {
	op := s.operator()
	switch {
	case s.op == opArith:
		return arith(op, s.typ)
	case s.op == opCompare:
		return relation(op, s.from)
	case s.op == opPair:
		return functions[s.function()].pair(s.typ)
	case op == syntax.And:
		return bothTrue
	}
	return eitherTrue
}

func bothTrue(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
}

func eitherTrue(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
}

// larger returns the loop for the larger of two numbers. NaN is the result if one of them is NaN.
func larger(t pdu.Type) func(dst, a, b []uint64) {
	switch t {
	case pdu.TypeDouble:
		return largerDouble
	case pdu.Type32:
		return largerInteger[int32]
	case pdu.Type64:
		return largerInteger[int64]
	}
	return largerInteger[uint64]
}

// smaller returns the loop for the smaller of two numbers.
func smaller(t pdu.Type) func(dst, a, b []uint64) {
	switch t {
	case pdu.TypeDouble:
		return smallerDouble
	case pdu.Type32:
		return smallerInteger[int32]
	case pdu.Type64:
		return smallerInteger[int64]
	}
	return smallerInteger[uint64]
}

func largerDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(max(column.ToDouble(a[i]), column.ToDouble(b[i])))
	}
}

func smallerDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(min(column.ToDouble(a[i]), column.ToDouble(b[i])))
	}
}

func largerInteger[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		v := a[i]
		if T(v) < T(b[i]) {
			v = b[i]
		}
		dst[i] = v
	}
}

func smallerInteger[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		v := a[i]
		if T(b[i]) < T(v) {
			v = b[i]
		}
		dst[i] = v
	}
}

// selectLoop takes the number of a if the guard is not 0, else that of b.
func selectLoop(dst, guard, a, b []uint64) {
	guard, a, b = guard[:len(dst)], a[:len(dst)], b[:len(dst)]
	for i := range dst {
		v := a[i]
		if guard[i] == 0 {
			v = b[i]
		}
		dst[i] = v
	}
}

// conversion returns the loop that promotes one numeric type to another, nil if the bits are the same in both. Besides
// promotions there is only the way back from DOUBLE to FLOAT, and none from floating point to integers.
func conversion(from, to pdu.Type) func(dst, a []uint64) {
	switch {
	case from == to:
		return nil
	case to == pdu.TypeDouble:
		switch from {
		case pdu.Type32:
			return inDouble[int32]
		case pdu.Type64:
			return inDouble[int64]
		case pdu.TypeFloat:
			return widened
		}
		return inDouble[uint64]
	case to == pdu.TypeFloat:
		switch from {
		case pdu.Type32:
			return inSingle[int32]
		case pdu.Type64:
			return inSingle[int64]
		case pdu.TypeDouble:
			return narrowed
		}
		return inSingle[uint64]
	case from == pdu.Type32 && (to == pdu.Type64 || to == pdu.TypeU64):
		return extended
	}
	return nil
}

func inDouble[T int32 | int64 | uint64](dst, a []uint64) {
	for i, v := range a {
		dst[i] = column.FromDouble(float64(T(v)))
	}
}

func inSingle[T int32 | int64 | uint64](dst, a []uint64) {
	for i, v := range a {
		dst[i] = column.FromFloat(float32(T(v)))
	}
}

func widened(dst, a []uint64) {
	for i, v := range a {
		dst[i] = column.FromDouble(float64(column.ToFloat(v)))
	}
}

func narrowed(dst, a []uint64) {
	for i, v := range a {
		dst[i] = column.FromFloat(float32(column.ToDouble(v)))
	}
}

func extended(dst, a []uint64) {
	for i, v := range a {
		dst[i] = uint64(int64(int32(uint32(v))))
	}
}

// scale divides and multiplies in libpcp's order, so that results agree to the last bit. A division by a power of two
// is a multiplication by its reciprocal.
func scale(f units.Factor, dst, a []uint64) {
	dst = dst[:len(a)]
	fraction, _ := math.Frexp(f.Divisor)
	switch inverse := 1 / f.Divisor; {
	case fraction == 0.5 && f.Multiplier == 1:
		for i, v := range a {
			dst[i] = column.FromDouble(column.ToDouble(v) * inverse)
		}
	case f.Divisor == 1:
		for i, v := range a {
			dst[i] = column.FromDouble(column.ToDouble(v) * f.Multiplier)
		}
	default:
		for i, v := range a {
			dst[i] = column.FromDouble(column.ToDouble(v) / f.Divisor * f.Multiplier)
		}
	}
}

// truths gives 1 for any number but zero, also for fractions, negative numbers, infinities and NaN.
func truths(t pdu.Type, dst, a []uint64) {
	mask := uint64(math.MaxUint64)
	switch t {
	case pdu.TypeFloat:
		mask = math.MaxInt32 // minus zero is zero
	case pdu.TypeDouble:
		mask = math.MaxInt64
	}
	for i, v := range a {
		dst[i] = column.Truth(v&mask != 0)
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
