package pdu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unitsRow is a line of testdata/units: what libpcp 6.0.3 answers.
type unitsRow struct {
	String  string
	Error   string
	Dim     [3]int8
	Scale   [3]int8
	Mult    string // shortest decimal
	Printed string
}

func (r unitsRow) units() Units {
	return Units{
		Space: r.Dim[0], Time: r.Dim[1], Count: r.Dim[2],
		SpaceScale: SpaceScale(r.Scale[0]), TimeScale: TimeScale(r.Scale[1]), CountScale: r.Scale[2],
	}
}

func unitsTable(t testing.TB, name string) []unitsRow {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "units", name))
	require.NoError(t, err)
	defer f.Close()
	var rows []unitsRow
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r unitsRow
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		rows = append(rows, r)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, rows)
	return rows
}

// reportUnits tells `make conformance` how many rows of a table were compared. The form is that of package
// conformance, which imports this one.
func reportUnits(t *testing.T, rows, failures int) {
	t.Attr("conformance", fmt.Sprint("in-process unitstables ", rows, " ", rows-failures, " 0 ", failures))
}

func TestParseUnitsAnswersAsLibpcp(t *testing.T) {
	failures := 0
	rows := unitsTable(t, "parse.jsonl")
	for _, row := range rows {
		good := t.Run(strconv.Quote(row.String), func(t *testing.T) {
			units, multiplier, err := ParseUnits(row.String)
			if row.Error != "" {
				assert.EqualError(t, err, row.Error)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.units(), units)
			want, err := strconv.ParseFloat(row.Mult, 64)
			require.NoError(t, err)
			assert.Equal(t, want, multiplier)
			assert.Equal(t, row.Printed, units.String())
		})
		if !good {
			failures++
		}
	}
	reportUnits(t, len(rows), failures)
}

// Rows beyond the table; libpcp 6.0.3 answers the same except where a row says otherwise.
func TestParseUnitsCorners(t *testing.T) {
	const (
		word    = "unrecognized or duplicate base unit"
		literal = "invalid floating point literal"
	)
	for _, row := range []struct {
		name, text string
		printed    string
		multiplier float64
		err        string
	}{
		{name: "empty", text: "", multiplier: 1},
		{name: "every C blank separates", text: "Kbyte\t\v\fsec\r\n", printed: "Kbyte sec", multiplier: 1},
		{name: "Kelvin sign is no k", text: "\u212aB", err: word},
		{name: "invalid UTF-8", text: "\xff", err: word},
		{name: "NUL", text: "sec\x00", err: word},

		{name: "power at the upper bound", text: "Kbyte^15 / Kbyte^8", printed: "byte^7", multiplier: 0x1p-70},
		{name: "power above it", text: "Kbyte^16 / Kbyte^9", err: word},
		{name: "power below the lower bound", text: "Kbyte^-9", err: word},
		{name: "leading zero in a power", text: "Kbyte^02", err: word},
		{name: "minus zero", text: "Kbyte^-0", err: word},
		{name: "power missing", text: "Kbyte^", err: word},
		{name: "power of a power", text: "Kbyte^7^2", err: word},
		{name: "power beyond an int", text: "Kbyte^18446744073709551617", err: word},
		{name: "power without a unit", text: "^2", err: word},
		{name: "power 0 leaves the axis free", text: "Kbyte^0 Mbyte", printed: "Mbyte", multiplier: 1},
		{name: "power 0 after the axis is used", text: "Mbyte Kbyte^0", err: word},
		{name: "power 0 below cancels nothing", text: "Mbyte / Kbyte^0", printed: "Mbyte", multiplier: 1},
		{name: "space is judged before time", text: "byte^9 sec^9", err: "space dimension out of bounds"},
		{name: "time is judged before count", text: "sec^9 count^9", err: "time dimension out of bounds"},

		{name: "ten to the first is a power", text: "count x 10^1", printed: "count x 10", multiplier: 1},
		{name: "ten to the eighth is a power", text: "count x 10^8", err: "count dimension out of bounds"},
		{name: "ten to the zeroth is nothing", text: "count x 10^0", multiplier: 1},
		{name: "power of a count scale", text: "count x 10^2^-8", printed: "/ count x 10^2^8", multiplier: 1},
		{name: "power of ten is no scale for 1", text: "count x 10^1^2", err: word},
		{name: "count scale with a bad power", text: "count x 10^2^x", err: word},
		{name: "count scale runs on", text: "count x 100", err: word},
		{name: "only count takes a scale", text: "counts x 10", err: word},
		{name: "case of a count scale", text: "COUNT X 10^3", printed: "count x 10^3", multiplier: 1},
		{name: "count scale before a slash", text: "count x 10^3/s", printed: "count x 10^3 / sec", multiplier: 1},

		{name: "scale with a leading zero", text: "time-05", err: word},
		{name: "negative scale", text: "space--1", err: word},
		{name: "scale above 15", text: "time-16", err: word},
		{name: "scale beyond Ybyte cancels", text: "space-15 / byte", multiplier: 0x1p-150},
		// 6.0.3 aborts.
		{name: "scale beyond hour cannot cancel", text: "sec / time-6", err: "time scale out of bounds"},
		{name: "scale beyond hour on one side", text: "/ time-6^2", printed: "/ time-6^2", multiplier: 1},

		{name: "number glued to its unit", text: "5eb", printed: "Ebyte", multiplier: 0.2},
		{name: "exponent glued to its unit", text: "5e1eb", printed: "Ebyte", multiplier: 0.02},
		{name: "signed exponent", text: "1e+2", multiplier: 0.01},
		{name: "exponent without digits", text: "5e", err: word},
		{name: "hexadecimal", text: "0x10 byte", printed: "byte", multiplier: 0.0625},
		{name: "negative hexadecimal with exponent", text: "-0x1P3", multiplier: -0.125},
		{name: "hexadecimal without digits", text: "0x", err: word},
		{name: "two numbers without a blank", text: "1-2", multiplier: -0.5},
		{name: "minus alone", text: "- 5", err: literal},
		{name: "point alone", text: ".Kbyte", err: literal},
		{name: "minus before a unit", text: "-Kbyte", err: literal},
		{name: "infinity needs its minus", text: "infinity", err: word},
		{name: "negative infinity", text: "-infKbyte", printed: "Kbyte", multiplier: math.Copysign(0, -1)},
		{name: "overflow", text: "1e309", err: literal},
		{name: "underflow to zero", text: "1e-400", err: literal},
		{name: "underflow to a subnormal", text: "2e-308", err: literal},
		{name: "written zero", text: "0e-400 byte / 1", printed: "byte", multiplier: math.Inf(1)},

		// 6.0.3 multiplies by 1/60, 0.001 and so on in turn: up to some 1e-15 off.
		{name: "nanoseconds per hour are exact", text: "ns / hour", multiplier: 3.6e12},
		{name: "microseconds per millisecond", text: "us / ms", multiplier: 1000},
		{name: "all axes cancel", text: "Kbyte min count x 10 / byte sec count", multiplier: 1.0 / (1024 * 60 * 10)},
		{name: "negative powers cancel", text: "min^-1 / sec^-1", multiplier: 60},

		// Extra units: what libpcp 7.2.2 answers.
		{name: "extra unit", text: "voltage (mV)", printed: "voltage (mV)", multiplier: 1},
		{name: "case of an extra unit", text: "VOLTAGE (MV)", printed: "voltage (mV)", multiplier: 1},
		{name: "extra unit below the line", text: "count / power (kW)", printed: "count / power (kW)", multiplier: 1},
		{name: "extra unit alone below the line", text: "/ 2 current (uA)", printed: "/ current (uA)", multiplier: 2},
		{
			name: "extra unit among others", text: "Kbyte temperature (K) / sec", printed: "temperature (K) Kbyte / sec",
			multiplier: 1,
		},
		{
			name: "count behind an extra unit", text: "power (W) count x 10^3", printed: "power (W) count x 10^3",
			multiplier: 1,
		},
		{name: "number glued to an extra unit", text: "4power (uW)2", printed: "power (uW)", multiplier: 0.125},
		{
			name: "unit glued to an extra unit", text: "temperature (F)min^2/s", printed: "temperature (F) sec",
			multiplier: 1.0 / 3600,
		},
		{name: "no blank in an extra unit", text: "voltage(V)", err: word},
		{name: "two blanks in an extra unit", text: "voltage  (V)", err: word},
		{name: "extra unit without a scale", text: "voltage", err: word},
		{name: "scale that a unit lacks", text: "voltage (kV)", err: word},
		{name: "scale by number", text: "voltage (scale-4)", err: word},
		{name: "extra unit glued to a unit", text: "bytevoltage (V)", err: word},
		{name: "two extra units", text: "voltage (V) power (W)", err: "multiple extra units not allowed"},
		{name: "two extra units below", text: "/ voltage (V) voltage (V)", err: "multiple extra units not allowed"},
		{
			name: "extra units on both sides", text: "voltage (V) / voltage (V)",
			err: "extra units cannot appear in both dividend and divisor",
		},
		{
			name: "dimensions are judged before extra units", text: "byte^9 voltage (V) / voltage (V)",
			err: "space dimension out of bounds",
		},
		// 7.2.2 never returns.
		{name: "power of an extra unit", text: "voltage (V)^2", err: word},
		{name: "no unit behind an extra unit", text: "voltage (V) x", err: word},
	} {
		t.Run(row.name, func(t *testing.T) {
			units, multiplier, err := ParseUnits(row.text)
			if row.err != "" {
				assert.EqualError(t, err, row.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.printed, units.String())
			assert.Equal(t, row.multiplier, multiplier)
			assert.Equal(t, math.Signbit(row.multiplier), math.Signbit(multiplier))
		})
	}
}

func TestParseUnitsNotANumber(t *testing.T) {
	_, multiplier, err := ParseUnits("-NaN byte")
	require.NoError(t, err)
	assert.True(t, math.IsNaN(multiplier))
}

func FuzzParseUnits(f *testing.F) {
	for _, row := range unitsTable(f, "parse.jsonl") {
		f.Add(row.String)
	}
	for _, row := range unitsTable(f, "print.jsonl") {
		f.Add(row.Printed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		units, _, err := ParseUnits(text)
		if err != nil {
			return
		}
		require.Equal(t, units, UnitsFromWire(units.Wire()), "fits the wire")
		if !printsFaithfully(units) {
			return
		}
		again, multiplier, err := ParseUnits(units.String())
		require.NoError(t, err)
		require.Equal(t, units, again)
		require.Equal(t, 1.0, multiplier)
	})
}
