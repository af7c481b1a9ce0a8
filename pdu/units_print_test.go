package pdu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnitsPrintAsLibpcp(t *testing.T) {
	failures := 0
	rows := unitsTable(t, "print.jsonl")
	for _, row := range rows {
		if !assert.Equal(t, row.Printed, row.units().String(), "%v %v", row.Dim, row.Scale) {
			failures++
		}
	}
	reportUnits(t, len(rows), failures)
}

// printsFaithfully excludes the one text that means something else: "count x 10^2" is both
// (count x 10) squared and hundreds. Units without a dimension must have no scale either.
func printsFaithfully(u Units) bool {
	if u.Count == 0 {
		return u.CountScale == 0
	}
	return u.CountScale != 1 || u.Count == 1 || u.Count == -1
}

func TestUnitsReadBackWhatTheyPrint(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		u := UnitsFromWire(random.Uint32())
		if u.Extra.ScaleName(u.ExtraScale) == "" {
			u.Extra, u.ExtraScale = ExtraNone, 0
		}
		if u.Space == 0 {
			u.SpaceScale = 0
		}
		if u.Time == 0 {
			u.TimeScale = 0
		}
		if !printsFaithfully(u) {
			continue
		}
		again, multiplier, err := ParseUnits(u.String())
		require.NoError(t, err, u.String())
		require.Equal(t, u, again, u.String())
		require.Equal(t, 1.0, multiplier, u.String())
	}
}

// The low byte of the wire form, and what pmUnitsStr of libpcp 7.2.2 makes of it; it cuts "temperature (scale-4)".
func TestExtraUnitsOnTheWire(t *testing.T) {
	for wire, printed := range map[uint32]string{
		0x00000009: "temperature (C)", 0x0000000a: "temperature (F)", 0x0000000b: "temperature (K)", 0x0000000c: "temperature (scale-4)",
		0x00000011: "voltage (V)", 0x00000012: "voltage (mV)", 0x00000013: "voltage (uV)", 0x00000010: "voltage (scale-0)",
		0x00000019: "current (A)", 0x0000001a: "current (mA)", 0x0000001b: "current (uA)", 0x0000001f: "current (scale-7)",
		0x00000021: "power (kW)", 0x00000022: "power (W)", 0x00000023: "power (mW)", 0x00000024: "power (uW)",
		0x000000f1: "/ voltage (V)", 0x000000e1: "/ power (kW)", 0x00000029: "extra-5", 0x0000007a: "extra-15", 0x00000080: "/ extra-16",
		0x1f023011: "voltage (V) Mbyte / sec", 0x1f0230f1: "Mbyte / voltage (V) sec", 0x7f0230e2: "Mbyte^7 / power (W) sec",
		0x00f00311: "voltage (V) / count x 10^3", 0x00000311: "voltage (V)",
	} {
		u := UnitsFromWire(wire)
		assert.Equal(t, printed, u.String(), "%#x", wire)
		assert.Equal(t, wire, u.Wire(), "%#x", wire)
		assert.False(t, u.Dimensionless(), "%#x", wire)
		assert.False(t, u.SameDimension(UnitsFromWire(wire&^0xff)), "%#x", wire)
	}
}

// Before PCP 7.2 the low byte was padding. A scale without a unit is nothing.
func TestPaddingOfUnits(t *testing.T) {
	for low := range uint32(8) {
		assert.Equal(t, Units{Space: 1, SpaceScale: SpaceKbyte}, UnitsFromWire(0x10010000|low))
	}
}

func TestCountTenSquaredReadsBackAsHundreds(t *testing.T) {
	squared := Units{Count: 2, CountScale: 1}
	require.Equal(t, "count x 10^2", squared.String())
	again, _, err := ParseUnits(squared.String())
	require.NoError(t, err)
	assert.Equal(t, Units{Count: 1, CountScale: 2}, again)
}
