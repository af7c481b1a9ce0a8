package pdu

// Units are the dimension and scale of a value (pmUnits). The zero value means "none". Units can be compared with ==.
// The scale of an axis has no meaning where its dimension is zero; it should be zero there.
// Source: docs/protocol.md 3.3, pmLookupDesc(3).
type Units struct {
	Space, Time, Count int8 // dimensions, -8..7

	SpaceScale SpaceScale
	TimeScale  TimeScale
	CountScale int8 // power of ten, -8..7

	Extra      ExtraUnit
	ExtraScale uint8 // 1..7; its meaning depends on Extra
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

// ExtraUnit is a unit beside space, time and count, since PCP 7.2.0. It has no powers. A negative unit is
// below the line: -ExtraVoltage is "/ voltage". It is -16..15 on the wire.
type ExtraUnit int8

// The extra units.
const (
	ExtraNone ExtraUnit = iota
	ExtraTemperature
	ExtraVoltage
	ExtraCurrent
	ExtraPower
)

// The scales of the extra units.
const (
	TemperatureCelsius    uint8 = 1
	TemperatureFahrenheit uint8 = 2
	TemperatureKelvin     uint8 = 3

	VoltageVolt      uint8 = 1
	VoltageMillivolt uint8 = 2
	VoltageMicrovolt uint8 = 3

	CurrentAmpere      uint8 = 1
	CurrentMilliampere uint8 = 2
	CurrentMicroampere uint8 = 3

	PowerKilowatt  uint8 = 1
	PowerWatt      uint8 = 2
	PowerMilliwatt uint8 = 3
	PowerMicrowatt uint8 = 4
)

// UnitsFromWire unpacks the 32-bit form that a DESC has. Before PCP 7.2.0 the low byte was unused and zero.
func UnitsFromWire(w uint32) Units {
	signed := func(shift uint) int8 { return int8(w>>shift&0xf<<4) >> 4 }
	u := Units{
		Space:      signed(28),
		Time:       signed(24),
		Count:      signed(20),
		SpaceScale: SpaceScale(w >> 16 & 0xf),
		TimeScale:  TimeScale(w >> 12 & 0xf),
		CountScale: signed(8),
		Extra:      ExtraUnit(int8(w) >> 3),
	}
	if u.Extra != ExtraNone {
		u.ExtraScale = uint8(w & 7)
	}
	return u
}

// Wire packs the units into the 32-bit form that a DESC has. Bits of a field that do not fit are dropped.
func (u Units) Wire() uint32 {
	return uint32(u.Space&0xf)<<28 | uint32(u.Time&0xf)<<24 | uint32(u.Count&0xf)<<20 |
		uint32(u.SpaceScale&0xf)<<16 | uint32(u.TimeScale&0xf)<<12 | uint32(u.CountScale&0xf)<<8 |
		uint32(u.Extra&0x1f)<<3 | uint32(u.ExtraScale&7)
}

// Dimensionless reports whether all dimensions are zero and there is no extra unit.
func (u Units) Dimensionless() bool { return u.SameDimension(Units{}) }

// SameDimension reports whether u and v differ in their scales at most: a value can be converted from one to the other.
func (u Units) SameDimension(v Units) bool {
	return u.Space == v.Space && u.Time == v.Time && u.Count == v.Count && u.Extra == v.Extra
}

// SameExtra reports whether u and v have the same extra unit in the same scale, or none.
func (u Units) SameExtra(v Units) bool { return u.Extra == v.Extra && u.ExtraScale == v.ExtraScale }
