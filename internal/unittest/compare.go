package unittest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// A computed value may differ from the expected one by this part of its size, because arithmetic rounds, and an author
// does not know how.
const (
	doubleError = 1e-9
	floatError  = 1e-6
)

// accepts reports whether value i of a vector is the expected one in a sample. i is -1 for no value.
func (it *item) accepts(sample int, v *derived.Vector, i int) bool {
	if v.Code < 0 || it.kind == code {
		return it.kind == code && v.Code == it.code
	}
	if i < 0 || i >= v.Len() {
		return it.kind == none
	}
	switch {
	case !it.kind.fits(v.Type):
		return false
	case it.kind == number:
		return it.closeTo(sample, v.Type, v.Bits[i])
	case it.kind == nonFinite:
		got := v.Type.Float64(v.Bits[i])
		return got == it.float || math.IsNaN(got) && math.IsNaN(it.float)
	}
	return bytes.Equal(v.Blobs[i], it.bytes)
}

// closeTo reports whether a number is the expected one, within the tolerance. It compares fractions: a float64 does not
// have every U64.
func (it *item) closeTo(sample int, t pdu.Type, b uint64) bool {
	want, got, tolerance := it.value(sample), new(big.Rat), it.tolerance
	switch t {
	case pdu.TypeFloat, pdu.TypeDouble:
		f := t.Float64(b)
		if got.SetFloat64(f) == nil {
			return false // not finite
		}
		if tolerance == nil {
			tolerance = new(big.Rat).SetFloat64(errorOf(t))
			tolerance.Mul(tolerance, new(big.Rat).Abs(want))
		}
	case pdu.TypeU64:
		got.SetUint64(b)
	default:
		n, _ := t.Int64(b)
		got.SetInt64(n)
	}
	off := got.Sub(got, want)
	if tolerance == nil {
		return off.Sign() == 0
	}
	return off.Abs(off).Cmp(tolerance) <= 0
}

// errorOf returns the part of its size by which a value of a type may differ.
func errorOf(t pdu.Type) float64 {
	switch t {
	case pdu.TypeFloat:
		return floatError
	case pdu.TypeDouble:
		return doubleError
	}
	return 0
}

// Same reports whether value j of a vector is the expected one, which is value i of another vector. If one of the two
// types has fewer digits, only these count.
func Same(want *derived.Vector, i int, got *derived.Vector, j int) bool {
	switch {
	case want.Type.Numeric() != got.Type.Numeric():
		return false
	case !want.Type.Numeric():
		return bytes.Equal(want.Blobs[i], got.Blobs[j])
	}
	if most := max(errorOf(want.Type), errorOf(got.Type)); most > 0 {
		x, y := want.Type.Float64(want.Bits[i]), got.Type.Float64(got.Bits[j])
		return cmp.Compare(x, y) == 0 || math.Abs(x-y) <= most*math.Abs(x) && !math.IsInf(x, 0)
	}
	x, small := want.Type.Int64(want.Bits[i])
	y, both := got.Type.Int64(got.Bits[j])
	return x == y && small == both
}

// valueText returns value i of a vector as test files have it.
func valueText(v *derived.Vector, i int) string {
	switch {
	case v.Code < 0:
		return v.Code.Name()
	case i < 0 || i >= v.Len():
		return "_"
	case v.Type.Numeric():
		return lowerNumber(derived.FormatNumber(v.Type, v.Bits[i]))
	case v.Type == pdu.TypeString:
		return strconv.Quote(string(v.Blobs[i]))
	}
	return "[" + hex.EncodeToString(v.Blobs[i]) + "]"
}
