package engine

import (
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// arith returns the loop for + - * in any type but FLOAT, and for / in DOUBLE, where 0 divided by anything is 0.
func arith(op syntax.Op, t pdu.Type) func(dst, a, b []uint64) {
	loops := [...]func(dst, a, b []uint64){add[uint64], subtract[uint64], multiply[uint64], divide}
	switch t {
	case pdu.TypeDouble:
		loops = [...]func(dst, a, b []uint64){addDouble, subtractDouble, multiplyDouble, divide}
	case pdu.Type32, pdu.TypeU32:
		loops = [...]func(dst, a, b []uint64){add[uint32], subtract[uint32], multiply[uint32], divide}
	}
	return loops[op-syntax.Add]
}

func add[T uint32 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = uint64(T(a[i] + b[i]))
	}
}

func subtract[T uint32 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = uint64(T(a[i] - b[i]))
	}
}

func multiply[T uint32 | uint64](dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = uint64(T(a[i] * b[i]))
	}
}

func addDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(column.ToDouble(a[i]) + column.ToDouble(b[i]))
	}
}

func subtractDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(column.ToDouble(a[i]) - column.ToDouble(b[i]))
	}
}

func multiplyDouble(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(column.ToDouble(a[i]) * column.ToDouble(b[i]))
	}
}

// divideAsIs divides as the processor does: 0 divided by 0 is NaN. No result is minus zero.
func divideAsIs(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = column.FromDouble(column.ToDouble(a[i])/column.ToDouble(b[i]) + 0)
	}
}

func divide(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		quotient := column.FromDouble(column.ToDouble(a[i]) / column.ToDouble(b[i]))
		if a[i]<<1 == 0 { // either zero
			quotient = 0
		}
		dst[i] = quotient
	}
}
