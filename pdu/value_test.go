package pdu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		value    Value
		float    float64
		signed   int64
		isSigned bool
		unsigned uint64
		isUns    bool
	}{
		{Int32Value(0, 7), 7, 7, true, 7, true},
		{Int32Value(0, -7), -7, -7, true, 0, false},
		{Int32Value(0, math.MinInt32), -1 << 31, math.MinInt32, true, 0, false},
		{Uint32Value(0, math.MaxUint32), 1<<32 - 1, 1<<32 - 1, true, 1<<32 - 1, true},
		{Int64Value(0, -7), -7, -7, true, 0, false},
		{Int64Value(0, math.MaxInt64), 1 << 63, math.MaxInt64, true, math.MaxInt64, true},
		{Uint64Value(0, math.MaxInt64), 1 << 63, math.MaxInt64, true, math.MaxInt64, true},
		{Uint64Value(0, math.MaxUint64), 1 << 64, 0, false, math.MaxUint64, true},
		{FloatValue(0, -1.5), -1.5, 0, false, 0, false},
		{DoubleValue(0, 1e300), 1e300, 0, false, 0, false},
	} {
		t.Run(fmt.Sprintf("%v %x", tt.value.Type, tt.value.Bits), func(t *testing.T) {
			typ, bits := tt.value.Type, tt.value.Bits
			assert.InDelta(t, tt.float, typ.Float64(bits), 0)
			n, ok := typ.Int64(bits)
			assert.Equal(t, tt.isSigned, ok)
			if ok {
				assert.Equal(t, tt.signed, n)
			}
			u, ok := typ.Uint64(bits)
			assert.Equal(t, tt.isUns, ok)
			if ok {
				assert.Equal(t, tt.unsigned, u)
			}
		})
	}
}

// The high half of a 32-bit value means nothing.
func TestHighHalfIsNotRead(t *testing.T) {
	const bits = 0xdead_beef_0000_0007
	for _, typ := range []Type{Type32, TypeU32} {
		n, ok := typ.Int64(bits)
		assert.True(t, ok)
		assert.Equal(t, int64(7), n)
		assert.InDelta(t, 7, typ.Float64(bits), 0)
	}
}

func TestNumbersOfOtherTypes(t *testing.T) {
	for _, typ := range []Type{TypeString, TypeAggregate, TypeEvent, TypeNoSupport, TypeUnknown} {
		assert.True(t, math.IsNaN(typ.Float64(1)), "%v", typ)
		_, ok := typ.Int64(1)
		assert.False(t, ok, "%v", typ)
		_, ok = typ.Uint64(1)
		assert.False(t, ok, "%v", typ)
	}
}

func TestTypeOr(t *testing.T) {
	v := Value{Type: TypeUnknown}
	assert.Equal(t, TypeFloat, v.TypeOr(TypeFloat))
	v.Type = Type64
	assert.Equal(t, Type64, v.TypeOr(TypeFloat))
}

func TestTypesAndSemantics(t *testing.T) {
	for _, tt := range []struct {
		typ     Type
		number  int32
		name    string
		numeric bool
	}{
		{TypeNoSupport, -1, "NOSUPPORT", false},
		{Type32, 0, "32", true},
		{TypeU32, 1, "U32", true},
		{Type64, 2, "64", true},
		{TypeU64, 3, "U64", true},
		{TypeFloat, 4, "FLOAT", true},
		{TypeDouble, 5, "DOUBLE", true},
		{TypeString, 6, "STRING", false},
		{TypeAggregate, 7, "AGGREGATE", false},
		{TypeAggregateStatic, 8, "AGGREGATE_STATIC", false},
		{TypeEvent, 9, "EVENT", false},
		{TypeHighResEvent, 10, "HIGHRES_EVENT", false},
		{TypeUnknown, 255, "UNKNOWN", false},
		{Type(11), 11, "Type(11)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.number, int32(tt.typ))
			assert.Equal(t, tt.name, tt.typ.String())
			assert.Equal(t, tt.numeric, tt.typ.Numeric())
			assert.Equal(t, tt.numeric, tt.typ.size() != 0)
		})
	}
	assert.Equal(t, "counter", SemCounter.String())
	assert.Equal(t, "instant", SemInstant.String())
	assert.Equal(t, "discrete", SemDiscrete.String())
	assert.Equal(t, "Semantics(2)", Semantics(2).String())
}
