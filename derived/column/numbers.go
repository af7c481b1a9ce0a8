package column

import (
	"math"
	"strconv"

	"pmdaderived/pdu"
)

// Conversions between bits, as in Vector.Bits, and Go's numbers.

// ToFloat returns the value of a FLOAT.
func ToFloat(b uint64) float32 { return math.Float32frombits(uint32(b)) }

// FromFloat returns the bits of a FLOAT.
func FromFloat(f float32) uint64 { return uint64(math.Float32bits(f)) }

// ToDouble returns the value of a DOUBLE.
func ToDouble(b uint64) float64 { return math.Float64frombits(b) }

// FromDouble returns the bits of a DOUBLE.
func FromDouble(f float64) uint64 { return math.Float64bits(f) }

// Truth returns 1 for true and 0 for false.
func Truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Finite reports whether a number of a type, as in Vector.Bits, is neither infinite nor NaN.
func Finite(t pdu.Type, bits uint64) bool {
	exponent := exponentOf(t)
	return exponent == 0 || bits&exponent != exponent
}

// exponentOf returns the bits that are all set if and only if a number of a type is infinite or NaN; 0 if the type has
// no such numbers.
func exponentOf(t pdu.Type) uint64 {
	switch t {
	case pdu.TypeFloat:
		return 0xff << 23
	case pdu.TypeDouble:
		return 0x7ff << 52
	}
	return 0
}

// FormatNumber returns a number of type t as text, with the fewest digits that distinguish it, and with an exponent where
// C's %.16g has one.
func FormatNumber(t pdu.Type, v uint64) string {
	switch t {
	case pdu.Type32:
		return strconv.Itoa(int(int32(uint32(v))))
	case pdu.Type64:
		return strconv.FormatInt(int64(v), 10)
	case pdu.TypeFloat:
		return formatFloat(float64(ToFloat(v)), 32)
	case pdu.TypeDouble:
		return formatFloat(math.Float64frombits(v), 64)
	}
	return strconv.FormatUint(v, 10)
}

func formatFloat(x float64, bits int) string {
	if size := math.Abs(x); size >= 1e16 || size < 1e-4 && size > 0 {
		return strconv.FormatFloat(x, 'g', -1, bits)
	}
	return strconv.FormatFloat(x, 'f', -1, bits)
}

// WentDown reports whether a number of type t went down from b to a.
func WentDown(t pdu.Type, a, b uint64) bool {
	switch t {
	case pdu.Type32:
		return int32(uint32(a)) < int32(uint32(b))
	case pdu.Type64:
		return int64(a) < int64(b)
	case pdu.TypeDouble:
		return ToDouble(a) < ToDouble(b)
	}
	return a < b
}
