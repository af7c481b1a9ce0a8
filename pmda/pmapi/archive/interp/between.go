package interp

import (
	"math"

	"pmdaderived/pdu"
)

// between returns the value of a counter between two records, as libpcp computes it. part is the part of the time
// between them that has passed, 0 to 1. libpcp computes in floating point. It rounds integers by adding a half and
// truncating, which is wrong for negative ones. It treats unsigned 64-bit integers as signed, and a result that does
// not fit becomes the least number of the type. Source: docs/archives.md 5.
func between(t pdu.Type, from, to uint64, part float64) uint64 {
	switch t {
	case pdu.TypeFloat:
		x, y := t.Float64(from), t.Float64(to)
		return uint64(math.Float32bits(float32(x + part*(y-x))))
	case pdu.TypeDouble:
		x, y := t.Float64(from), t.Float64(to)
		return math.Float64bits(x + part*(y-x))
	case pdu.TypeU32:
		x, y := float64(uint32(from)), float64(uint32(to))
		return uint64(uint32(0.5 + x + part*(y-x)))
	case pdu.Type32:
		x := 0.5 + float64(int32(from)) + part*float64(int32(to)-int32(from))
		if x >= 1<<31 || x <= -1<<31-1 {
			return 1 << 31
		}
		return uint64(uint32(int32(x)))
	}
	x := 0.5 + float64(int64(from)) + part*float64(int64(to-from))
	switch {
	case x >= 1<<63 && x < 1<<64 && t == pdu.TypeU64:
		return uint64(x)
	case x >= 1<<63 || x < -1<<63:
		return 1 << 63
	}
	return uint64(int64(x))
}
