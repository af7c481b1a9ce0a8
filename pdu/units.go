package pdu

// Units are the dimension and scale of a value (pmUnits). The zero value means "none".
// Comparable. The scale of an axis means nothing, and is kept zero, where its dimension is zero.
// Source: spec pdu.md 3.3, pmLookupDesc(3).
type Units struct {
	Space, Time, Count int8 // dimensions, -8..7

	SpaceScale SpaceScale
	TimeScale  TimeScale
	CountScale int8 // power of ten, -8..7

	// Extra is the low byte of the wire form: a fourth axis since PCP 7.2.0, unused before.
	// It is carried along and otherwise ignored.
	Extra uint8
}

// SpaceScale is a power of 1024 bytes: 0 byte, 1 Kbyte … 8 Ybyte; 15 at most on the wire.
type SpaceScale uint8

// The space scales.
const (
	SpaceByte SpaceScale = iota
	SpaceKbyte
	SpaceMbyte
	SpaceGbyte
	SpaceTbyte
	SpacePbyte
	SpaceEbyte
	SpaceZbyte
	SpaceYbyte
)

// TimeScale is a unit of time; 15 at most on the wire.
type TimeScale uint8

// The time scales.
const (
	TimeNanosec TimeScale = iota
	TimeMicrosec
	TimeMillisec
	TimeSec
	TimeMin
	TimeHour
)

// UnitsFromWire unpacks the 32-bit form that DESC carries.
func UnitsFromWire(w uint32) Units {
	signed := func(shift uint) int8 { return int8(w>>shift&0xf<<4) >> 4 }
	return Units{
		Space:      signed(28),
		Time:       signed(24),
		Count:      signed(20),
		SpaceScale: SpaceScale(w >> 16 & 0xf),
		TimeScale:  TimeScale(w >> 12 & 0xf),
		CountScale: signed(8),
		Extra:      uint8(w),
	}
}

// Wire packs the units into the 32-bit form that DESC carries.
func (u Units) Wire() uint32 {
	return uint32(u.Space&0xf)<<28 | uint32(u.Time&0xf)<<24 | uint32(u.Count&0xf)<<20 |
		uint32(u.SpaceScale&0xf)<<16 | uint32(u.TimeScale&0xf)<<12 | uint32(u.CountScale&0xf)<<8 |
		uint32(u.Extra)
}

// Dimensionless reports whether all dimensions are zero.
func (u Units) Dimensionless() bool { return u.Space == 0 && u.Time == 0 && u.Count == 0 }

// SameDimension reports whether u and v differ in scale at most.
func (u Units) SameDimension(v Units) bool {
	return u.Space == v.Space && u.Time == v.Time && u.Count == v.Count
}
