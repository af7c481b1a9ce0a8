package derivedtest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// NumericTypes are the types of numbers in the order of promotion, from the last.
var NumericTypes = []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble}

// Amount is a number of the model of arithmetic: an exact value, or a special one.
type Amount struct {
	Exact   *big.Float // nil: special
	Special float64    // an infinity or NaN
}

// Exactly returns the value of a number of a type.
func Exactly(t pdu.Type, bits uint64) Amount {
	f := new(big.Float).SetPrec(200)
	switch t {
	case pdu.Type32:
		return Amount{Exact: f.SetInt64(int64(int32(uint32(bits))))}
	case pdu.Type64:
		return Amount{Exact: f.SetInt64(int64(bits))}
	case pdu.TypeU32, pdu.TypeU64:
		return Amount{Exact: f.SetUint64(bits)}
	case pdu.TypeFloat:
		return Amount{Exact: f.SetFloat64(float64(math.Float32frombits(uint32(bits))))}
	}
	return Amount{Exact: f.SetFloat64(math.Float64frombits(bits))}
}

// As rounds or wraps an exact number to a type and returns its bits.
func (n Amount) As(t pdu.Type) uint64 {
	switch t {
	case pdu.TypeDouble:
		if n.Exact == nil {
			return math.Float64bits(n.Special)
		}
		f, _ := n.Exact.Float64()
		return math.Float64bits(f)
	case pdu.TypeFloat:
		f, _ := n.Exact.Float32()
		return uint64(math.Float32bits(f))
	}
	i, _ := n.Exact.Int(nil)
	wrapped := new(big.Int).And(i, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if t == pdu.Type32 || t == pdu.TypeU32 {
		wrapped = uint64(uint32(wrapped))
	}
	return wrapped
}

// RandomBits is a number of a type: often small or at an edge.
func RandomBits(r *rand.Rand, t pdu.Type) uint64 {
	switch t {
	case pdu.TypeFloat:
		return uint64(math.Float32bits(float32(r.IntN(1<<24)-1<<23) / float32(int(1)<<r.IntN(20))))
	case pdu.TypeDouble:
		return math.Float64bits(float64(r.Int64N(1<<50)-1<<49) / float64(int64(1)<<r.IntN(50)))
	}
	v := r.Uint64() >> r.IntN(64)
	switch r.IntN(4) {
	case 0:
		v = -v
	case 1:
		v = []uint64{
			0, 1, math.MaxUint64, math.MaxInt64, math.MaxInt64 + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32,
		}[r.IntN(8)]
	}
	if t == pdu.Type32 || t == pdu.TypeU32 {
		v = uint64(uint32(v))
	}
	return v
}

// ScanNumber returns the bits of a number of a type that is written as text.
func ScanNumber(tb testing.TB, t pdu.Type, text string) uint64 {
	tb.Helper()
	switch t {
	case pdu.Type32:
		n, err := strconv.ParseInt(text, 10, 32)
		require.NoError(tb, err)
		return uint64(uint32(n))
	case pdu.TypeU32:
		n, err := strconv.ParseUint(text, 10, 32)
		require.NoError(tb, err)
		return n
	case pdu.Type64:
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(tb, err)
		return uint64(n)
	case pdu.TypeU64:
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(tb, err)
		return n
	case pdu.TypeFloat:
		f, err := strconv.ParseFloat(text, 32)
		require.NoError(tb, err)
		return uint64(math.Float32bits(float32(f)))
	}
	f, err := strconv.ParseFloat(text, 64)
	require.NoError(tb, err)
	return math.Float64bits(f)
}
