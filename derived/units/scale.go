package units

import (
	"math"
	"math/big"
	"math/bits"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Factor converts values to another scale of the same dimension: value / Divisor * Multiplier, in
// double precision. The zero value and One leave values alone. Source: docs/language-rules.md 6.8.
type Factor struct{ Divisor, Multiplier float64 }

// One is the factor that changes nothing.
var One = Factor{1, 1} //nolint:gochecknoglobals // a constant in all but syntax

// Trivial reports whether f changes nothing.
func (f Factor) Trivial() bool { return f == One || f == Factor{} }

// Axis is one dimension of units with its scale.
type Axis struct {
	dim   int8
	scale int
}

// The axes of pdu.Units, in the order in which the operands of a ternary are compared.
const (
	Space = iota
	Time
	Count
	axes
)

// AxesOf returns the dimensions and scales of units, extra units excepted.
func AxesOf(u pdu.Units) [axes]Axis {
	return [axes]Axis{
		Space: {u.Space, int(u.SpaceScale)},
		Time:  {u.Time, int(u.TimeScale)},
		Count: {u.Count, int(u.CountScale)},
	}
}

func unitsOf(a [axes]Axis) pdu.Units {
	return pdu.Units{
		Space: a[Space].dim, SpaceScale: pdu.SpaceScale(a[Space].scale),
		Time: a[Time].dim, TimeScale: pdu.TimeScale(a[Time].scale),
		Count: a[Count].dim, CountScale: int8(a[Count].scale),
	}
}

// nanosec is the length of each time scale; scales beyond hours have none.
var nanosec = [...]int64{1, 1e3, 1e6, 1e9, 60e9, 3600e9} //nolint:gochecknoglobals // a table

// ratio returns the exact number of units of the smaller scale in one of the larger scale of an axis, nil if a scale is
// undefined.
func ratio(axis, small, large int) *big.Int {
	steps := int64(large - small)
	switch axis {
	case Space:
		return new(big.Int).Lsh(big.NewInt(1), uint(10*steps))
	case Time:
		if large >= len(nanosec) {
			return nil
		}
		return big.NewInt(nanosec[large] / nanosec[small])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(steps), nil)
}

// Widen returns the factors that convert two operands to common scales, and the units of each after the conversion. On
// each axis on which both have a dimension, the operand with the smaller scale is converted to the larger one: once for
// each power, so twice if its dimension is 2. Undefined time scales and the scales of extra units stay as they are.
func Widen(x, y pdu.Units) (fx, fy Factor, ux, uy pdu.Units) {
	ax, ay := AxesOf(x), AxesOf(y)
	fx, fy = One, One
	for i := range axes {
		a, b := &ax[i], &ay[i]
		if a.dim == 0 || b.dim == 0 || a.scale == b.scale {
			continue
		}
		small, large, f := a, b, &fx
		if a.scale > b.scale {
			small, large, f = b, a, &fy
		}
		r := ratio(i, small.scale, large.scale)
		if r == nil {
			continue
		}
		one, _ := new(big.Float).SetInt(r).Float64()
		for range max(small.dim, -small.dim) {
			if small.dim > 0 {
				f.Divisor *= one
			} else {
				f.Multiplier *= one
			}
		}
		small.scale = large.scale
	}
	ux, uy = unitsOf(ax), unitsOf(ay)
	ux.Extra, ux.ExtraScale = x.Extra, x.ExtraScale
	uy.Extra, uy.ExtraScale = y.Extra, y.ExtraScale
	return fx, fy, ux, uy
}

// Product returns the units of x*y, or of x/y if sign is -1, for operands with common scales: see Widen. It returns
// false if a dimension is out of range. If both operands have an extra unit, it is the same one, and they are divided.
func Product(x, y pdu.Units, sign int) (pdu.Units, bool) {
	ax, ay := AxesOf(x), AxesOf(y)
	var out [axes]Axis
	for i := range axes {
		dim := int(ax[i].dim) + sign*int(ay[i].dim)
		if dim < -8 || dim > 7 {
			return pdu.Units{}, false
		}
		out[i].dim = int8(dim)
		switch {
		case dim == 0:
		case ax[i].dim != 0:
			out[i].scale = ax[i].scale
		default:
			out[i].scale = ay[i].scale
		}
	}
	u := unitsOf(out)
	switch {
	case y.Extra == pdu.ExtraNone:
		u.Extra, u.ExtraScale = x.Extra, x.ExtraScale
	case x.Extra == pdu.ExtraNone:
		u.Extra, u.ExtraScale = pdu.ExtraUnit(sign)*y.Extra, y.ExtraScale
	} // a quotient of equal extra units has none
	return u, true
}

// Converter converts values from one scale to another, as pmConvScale(3) does, but exactly for any power and size.
// Extra units are converted afterwards, in double precision, and cut to the type. Source: docs/language-rules.md 9.3,
// PCP 7.2.2 for extra units.
type Converter struct {
	num, den *big.Int // value * num / den
	// The same in 64 bits. smallDen is 0 if that is not possible.
	smallNum, smallDen int64
	float              float64 // num / den as pmConvScale computes it
	single             float32

	extra *extraScale // nil if the extra unit keeps its scale
}

// extraScale converts a value to another scale of an extra unit: (value - before) * multiplier / divisor + after.
type extraScale struct{ before, multiplier, divisor, after float64 }

// newExtraScale makes the conversion between different scales of an extra unit. It returns false if the unit is in the
// denominator, or if PCP 7.2 does not know the unit or a scale.
func newExtraScale(from, to pdu.Units) (*extraScale, bool) {
	if from.Extra < 0 || from.Extra.ScaleName(from.ExtraScale) == "" || to.Extra.ScaleName(to.ExtraScale) == "" {
		return nil, false
	}
	c := &extraScale{multiplier: 1, divisor: 1}
	if from.Extra != pdu.ExtraTemperature { // each scale is a thousandth of the one before
		c.multiplier = math.Pow10(3 * max(0, int(to.ExtraScale)-int(from.ExtraScale)))
		c.divisor = math.Pow10(3 * max(0, int(from.ExtraScale)-int(to.ExtraScale)))
		return c, true
	}
	zero := map[uint8]float64{pdu.TemperatureFahrenheit: 32, pdu.TemperatureKelvin: 273.15}
	c.before, c.after = zero[from.ExtraScale], zero[to.ExtraScale]
	switch pdu.TemperatureFahrenheit {
	case from.ExtraScale:
		c.multiplier, c.divisor = 5, 9
	case to.ExtraScale:
		c.multiplier, c.divisor = 9, 5
	}
	return c, true
}

// convert converts a number of type t.
func (c *extraScale) convert(t pdu.Type, b uint64) uint64 {
	v := (t.Float64(b)-c.before)*c.multiplier/c.divisor + c.after
	switch t {
	case pdu.TypeFloat:
		return column.FromFloat(float32(v))
	case pdu.TypeDouble:
		return column.FromDouble(v)
	case pdu.TypeU64:
		return cutUnsigned(v)
	case pdu.Type64:
		return uint64(cut64(v))
	case pdu.Type32:
		return uint64(uint32(cut32(v)))
	}
	return uint64(uint32(cut64(v))) // U32: through signed 64 bits, then cut
}

// cut32, cut64 and cutUnsigned drop the fraction. A number that does not fit becomes the number that libpcp's
// conversion gives on x86-64.
func cut32(v float64) int32 {
	if v = math.Trunc(v); v >= math.MinInt32 && v <= math.MaxInt32 {
		return int32(v)
	}
	return math.MinInt32
}

func cut64(v float64) int64 {
	if v >= math.MinInt64 && v < -math.MinInt64 {
		return int64(v)
	}
	return math.MinInt64
}

func cutUnsigned(v float64) uint64 {
	if v < -math.MinInt64 {
		return uint64(cut64(v))
	}
	return uint64(cut64(v+math.MinInt64)) ^ 1<<63
}

// NewConverter makes a converter between units of the same dimension; no units and count¹ are the same dimension here.
// It returns false if the dimensions differ or a scale is undefined.
func NewConverter(from, to pdu.Units) (*Converter, bool) {
	from, to = countIfNone(from), countIfNone(to)
	if !from.SameDimension(to) {
		return nil, false
	}
	num, den := big.NewInt(1), big.NewInt(1)
	af, at := AxesOf(from), AxesOf(to)
	for i := range axes {
		up, down := den, num // the value shrinks when the target scale is the larger
		small, large := af[i].scale, at[i].scale
		if small > large {
			small, large = large, small
			up, down = down, up
		}
		if af[i].dim == 0 || small == large {
			continue
		}
		r := ratio(i, small, large)
		if r == nil {
			return nil, false
		}
		if af[i].dim < 0 {
			up = down
		}
		for range max(af[i].dim, -af[i].dim) {
			up.Mul(up, r)
		}
	}
	if q, rest := new(big.Int).QuoRem(num, den, new(big.Int)); rest.Sign() == 0 {
		num, den = q, big.NewInt(1)
	}
	c := &Converter{num: num, den: den}
	if num.IsInt64() && den.IsInt64() {
		c.smallNum, c.smallDen = num.Int64(), den.Int64()
	}
	n, _ := new(big.Float).SetInt(num).Float64()
	d, _ := new(big.Float).SetInt(den).Float64()
	c.float = n / d
	c.single = float32(n) / float32(d)
	known := true
	if !from.SameExtra(to) {
		c.extra, known = newExtraScale(from, to)
	}
	return c, known
}

// Factor returns the conversion as a Factor for values in double precision, and the offset to add afterwards.
func (c *Converter) Factor() (f Factor, offset float64) {
	f.Divisor, _ = new(big.Float).SetInt(c.den).Float64()
	f.Multiplier, _ = new(big.Float).SetInt(c.num).Float64()
	if x := c.extra; x != nil {
		f.Divisor *= x.divisor
		f.Multiplier *= x.multiplier
		offset = x.after - x.before*x.multiplier/x.divisor
	}
	return f, offset
}

func countIfNone(u pdu.Units) pdu.Units {
	if u.Dimensionless() {
		u.Count = 1
	}
	return u
}

// Convert converts a column of numbers of type t from src into dst. Integers are rounded half up (half a unit is added
// before a division that cuts toward zero) and cut to the type.
func (c *Converter) Convert(t pdu.Type, dst, src []uint64) {
	for i, b := range src {
		switch t {
		case pdu.TypeFloat:
			b = column.FromFloat(column.ToFloat(b) * c.single)
		case pdu.TypeDouble:
			b = column.FromDouble(column.ToDouble(b) * c.float)
		case pdu.TypeU64:
			b = c.unsigned(b)
		case pdu.Type64:
			b = uint64(c.signed(int64(b)))
		case pdu.Type32:
			b = uint64(uint32(c.signed(int64(int32(uint32(b))))))
		default: // U32: through signed 64 bits, then cut
			b = uint64(uint32(c.signed(int64(b))))
		}
		if c.extra != nil {
			b = c.extra.convert(t, b)
		}
		dst[i] = b
	}
}

func (c *Converter) unsigned(v uint64) uint64 {
	if c.smallDen == 0 {
		return low64(c.exact(new(big.Int).SetUint64(v)))
	}
	hi, lo := bits.Mul64(v, uint64(c.smallNum))
	lo, carry := bits.Add64(lo, uint64(c.smallDen)/2, 0)
	return quotient(hi+carry, lo, uint64(c.smallDen))
}

func (c *Converter) signed(v int64) int64 {
	switch {
	case c.smallDen == 0:
		return int64(low64(c.exact(big.NewInt(v))))
	case v >= 0:
		return int64(c.unsigned(uint64(v)))
	}
	hi, lo := bits.Mul64(-uint64(v), uint64(c.smallNum))
	lo, borrow := bits.Sub64(lo, uint64(c.smallDen)/2, 0)
	if borrow > hi {
		return 0 // less than half a unit below zero
	}
	return -int64(quotient(hi-borrow, lo, uint64(c.smallDen)))
}

// quotient returns the low 64 bits of a 128-bit number divided by den.
func quotient(hi, lo, den uint64) uint64 {
	q, _ := bits.Div64(hi%den, lo, den)
	return q
}

// exact returns value * num + den/2, divided by den toward zero.
func (c *Converter) exact(v *big.Int) *big.Int {
	v.Mul(v, c.num)
	v.Add(v, new(big.Int).Rsh(c.den, 1))
	return v.Quo(v, c.den)
}

// low64 returns the low 64 bits of a number in two's complement.
func low64(v *big.Int) uint64 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	return new(big.Int).And(v, mask).Uint64()
}
