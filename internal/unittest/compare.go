package unittest

import (
	"bytes"
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
			tolerance = new(big.Rat).SetFloat64(doubleError)
			if t == pdu.TypeFloat {
				tolerance.SetFloat64(floatError)
			}
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
