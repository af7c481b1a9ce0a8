package pdu

import (
	"math"
	"strconv"
)

// Value is one value of a metric as it travels in a RESULT. Source: docs/protocol.md 2.4.
type Value struct {
	Inst Inst // NoInst for a singular metric

	// Type is the type in the value block. A value in situ has none on the wire: decoding sets
	// TypeUnknown, and the descriptor of the metric has the type (32, U32, rarely FLOAT).
	Type Type

	// Bits is a numeric value: two's complement or IEEE-754. A 32-bit type is in the low half, and the
	// high half is zero. Type.Int64, Type.Uint64 and Type.Float64 read it.
	Bits uint64

	// Bytes is the body of a value block that is not numeric; for a string without its NUL.
	// A decoded value borrows it from the frame.
	Bytes []byte
}

// ValueFormat says how the values of a set travel (valfmt).
type ValueFormat int32

// The value formats. The two block formats mean the same.
const (
	InSitu      ValueFormat = 0 // 32 bits in the set itself (PM_VAL_INSITU)
	Block       ValueFormat = 1 // index of a value block (PM_VAL_DPTR)
	StaticBlock ValueFormat = 2 // likewise (PM_VAL_SPTR); seen with events and pmcd.client.whoami
)

// ValueSet is the answer for one metric in a RESULT (pmValueSet): a Code below zero, or values, perhaps none. libpcp
// has both in numval, the number of values or the code.
type ValueSet struct {
	PMID PMID
	Code Code // < 0: the reason why there are no values; otherwise 0

	// Format is the format in which decoded values were sent. When a set is encoded, InSitu, the zero
	// value, means the format that stock senders use for the type of the values.
	Format ValueFormat

	Values []Value // all of one type
}

// Int32Value returns a value of type 32; inst is NoInst for a singular metric.
func Int32Value(inst Inst, n int32) Value {
	return Value{Inst: inst, Type: Type32, Bits: uint64(uint32(n))}
}

// Uint32Value returns a value of type U32; inst is NoInst for a singular metric.
func Uint32Value(inst Inst, n uint32) Value {
	return Value{Inst: inst, Type: TypeU32, Bits: uint64(n)}
}

// Int64Value returns a value of type 64; inst is NoInst for a singular metric.
func Int64Value(inst Inst, n int64) Value {
	return Value{Inst: inst, Type: Type64, Bits: uint64(n)}
}

// Uint64Value returns a value of type U64; inst is NoInst for a singular metric.
func Uint64Value(inst Inst, n uint64) Value {
	return Value{Inst: inst, Type: TypeU64, Bits: n}
}

// FloatValue returns a value of type FLOAT; inst is NoInst for a singular metric.
func FloatValue(inst Inst, x float32) Value {
	return Value{Inst: inst, Type: TypeFloat, Bits: uint64(math.Float32bits(x))}
}

// DoubleValue returns a value of type DOUBLE; inst is NoInst for a singular metric.
func DoubleValue(inst Inst, x float64) Value {
	return Value{Inst: inst, Type: TypeDouble, Bits: math.Float64bits(x)}
}

// StringValue returns a value of type STRING with a copy of s; inst is NoInst for a singular metric. Receivers see
// s up to its first NUL only.
func StringValue(inst Inst, s string) Value {
	return Value{Inst: inst, Type: TypeString, Bytes: []byte(s)}
}

// AggregateValue returns a value of type AGGREGATE; inst is NoInst for a singular metric. It borrows b: the
// caller must not change b while the value is in use.
func AggregateValue(inst Inst, b []byte) Value {
	return Value{Inst: inst, Type: TypeAggregate, Bytes: b}
}

// TypeOr returns the type in the value, or t if the value was in situ. t is the type in the metric's descriptor.
func (v *Value) TypeOr(t Type) Type {
	if v.Type == TypeUnknown {
		return t
	}
	return v.Type
}

// size returns the size of a numeric value on the wire, in bytes; 0 for other types.
func (t Type) size() int {
	switch t {
	case Type32, TypeU32, TypeFloat:
		return 4
	case Type64, TypeU64, TypeDouble:
		return 8
	}
	return 0
}

// Float64 reads bits as a value of type t and converts it. Integers of more than 53 bits are rounded. It returns
// NaN for a type that is not numeric.
func (t Type) Float64(bits uint64) float64 {
	switch t {
	case Type32:
		return float64(int32(bits))
	case TypeU32:
		return float64(uint32(bits))
	case Type64:
		return float64(int64(bits))
	case TypeU64:
		return float64(bits)
	case TypeFloat:
		return float64(math.Float32frombits(uint32(bits)))
	case TypeDouble:
		return math.Float64frombits(bits)
	}
	return math.NaN()
}

// Int64 reads bits as a value of type t. ok is false when t is not an integer type or the value
// does not fit.
func (t Type) Int64(bits uint64) (n int64, ok bool) {
	switch t {
	case Type32:
		return int64(int32(bits)), true
	case TypeU32:
		return int64(uint32(bits)), true
	case Type64:
		return int64(bits), true
	case TypeU64:
		return int64(bits), bits <= math.MaxInt64
	}
	return 0, false
}

// Uint64 reads bits as a value of type t. ok is false when t is not an integer type or the value
// is negative.
func (t Type) Uint64(bits uint64) (n uint64, ok bool) {
	if t == TypeU64 {
		return bits, true
	}
	i, ok := t.Int64(bits)
	return uint64(i), ok && i >= 0
}

// String returns the set as Trace shows it: "60.0.4=2[0:17 1:42]", "60.0.4=PM_ERR_PMID".
func (s *ValueSet) String() string {
	if s.Code < 0 {
		return s.PMID.String() + "=" + s.Code.Name()
	}
	return items(s.PMID, list(s.Values, func(v Value) string { return itoa(v.Inst) + ":" + v.text() }))
}

// text returns the value for a trace. It shows a value in situ, whose type is unknown, as a signed number.
func (v *Value) text() string {
	switch v.Type {
	case TypeUnknown, Type32, Type64, TypeU32, TypeU64:
		t := v.TypeOr(Type32)
		if n, ok := t.Int64(v.Bits); ok {
			return strconv.FormatInt(n, 10)
		}
		return strconv.FormatUint(v.Bits, 10)
	case TypeFloat:
		return strconv.FormatFloat(v.Type.Float64(v.Bits), 'g', -1, 32)
	case TypeDouble:
		return strconv.FormatFloat(v.Type.Float64(v.Bits), 'g', -1, 64)
	case TypeString:
		return quoted(string(v.Bytes))
	}
	return v.Type.String() + "(" + strconv.Itoa(len(v.Bytes)) + " bytes)"
}
