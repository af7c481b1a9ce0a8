package engine

import (
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// relation returns the loop that compares two columns of type t, which is not FLOAT.
func relation(op syntax.Op, t pdu.Type) func(dst, a, b []uint64) {
	switch t {
	case pdu.TypeDouble:
		return relations{lessDouble, lessEqualDouble, equalDouble, greaterEqualDouble, greaterDouble, unequalDouble}.of(op)
	case pdu.Type32:
		return relations{
			less[int32], lessEqual[int32], equal[int32], greaterEqual[int32], greater[int32], unequal[int32],
		}.of(op)
	case pdu.Type64:
		return relations{
			less[int64], lessEqual[int64], equal[int64], greaterEqual[int64], greater[int64], unequal[int64],
		}.of(op)
	}
	return relations{
		less[uint64], lessEqual[uint64], equal[uint64], greaterEqual[uint64], greater[uint64], unequal[uint64],
	}.of(op)
}

// relations are the loops of one type, in the order of the operators.
type relations [syntax.Neq - syntax.Lt + 1]func(dst, a, b []uint64)

func (r relations) of(op syntax.Op) func(dst, a, b []uint64) { return r[op-syntax.Lt] }

func less[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(T(a[i]) < T(b[i]))
	}
}

func lessEqual[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(T(a[i]) <= T(b[i]))
	}
}

func equal[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(T(a[i]) == T(b[i]))
	}
}

func unequal[T int32 | int64 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(T(a[i]) != T(b[i]))
	}
}

func greaterEqual[T int32 | int64 | uint64](dst, a, b []uint64) { lessEqual[T](dst, b, a) }

func greater[T int32 | int64 | uint64](dst, a, b []uint64) { less[T](dst, b, a) }

func lessDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(column.ToDouble(a[i]) < column.ToDouble(b[i]))
	}
}

func lessEqualDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(column.ToDouble(a[i]) <= column.ToDouble(b[i]))
	}
}

func equalDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(column.ToDouble(a[i]) == column.ToDouble(b[i]))
	}
}

func unequalDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.Truth(column.ToDouble(a[i]) != column.ToDouble(b[i]))
	}
}

func greaterEqualDouble(dst, a, b []uint64) { lessEqualDouble(dst, b, a) }

func greaterDouble(dst, a, b []uint64) { lessDouble(dst, b, a) }
