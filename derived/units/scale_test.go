package units

import (
	"bufio"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/column"
	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
	"pmdaderived/test/conformance"
)

// The answers of pmConvScale(3), 6.0.3.
func TestConverterTable(t *testing.T) {
	// Q-SCALE-OVERFLOW: we convert exactly; pmConvScale counts in 64 bits and refuses what is beyond.
	differences := map[string]string{
		"U64 18446744073709551615 byte Kbyte": "18014398509481984",
		"DOUBLE 1 Zbyte byte":                 "1.1805916207174113e+21",
		"DOUBLE 1 byte Zbyte":                 "8.470329472543003e-22",
		"DOUBLE 1 space-9 byte":               "1.2379400392853803e+27",
		"DOUBLE 1 hour^3 nanosec^3":           "4.6656e+37",
	}
	f, err := os.Open("../testdata/corpus/unitstables/conv.jsonl")
	require.NoError(t, err)
	defer f.Close()
	tally := conformance.NewTally("in-process")
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); rows++ {
		var row struct {
			Type, Value, From, To, Result string
			Error                         any
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		key := row.Type + " " + row.Value + " " + row.From + " " + row.To
		from, _, err := pdu.ParseUnits(row.From)
		require.NoError(t, err)
		to, _, err := pdu.ParseUnits(row.To)
		require.NoError(t, err)
		c, ok := NewConverter(from, to)
		wanted, different := differences[key]
		if different {
			row.Result, row.Error = wanted, nil
			delete(differences, key)
		}
		if row.Error != nil {
			tally.Count("unitstables", false, !assert.False(t, ok, key))
			continue
		}
		require.True(t, ok, key)
		typ := derivedtest.TypeOf(row.Type)
		numbers := []uint64{derivedtest.ScanNumber(t, typ, row.Value)}
		c.Convert(typ, numbers, numbers)
		want := derivedtest.ScanNumber(t, typ, row.Result)
		good := assert.Equal(t, column.FormatNumber(typ, want), column.FormatNumber(typ, numbers[0]), key)
		tally.Count("unitstables", different, !good)
	}
	tally.Report(t)
	assert.Empty(t, differences, "these are not in the table")
	assert.Greater(t, rows, 200)
}

func TestConverterRefuses(t *testing.T) {
	for _, row := range []struct{ name, from, to string }{
		{"other axis", "byte", "sec"},
		{"other power", "byte", "byte^2"},
		{"none is only like count", "", "byte"},
		{"not like count²", "", "count^2"},
		{"a time scale without length", "time-7", "sec"},
		{"a time scale without length, above", "sec", "time-7"},
		{"other extra unit", "voltage (V)", "current (A)"},
		{"none is not like an extra unit", "", "voltage (V)"},
		{"count is not like an extra unit", "count", "voltage (V)"},
		{"other side of the line", "voltage (V)", "/ voltage (V)"},
		{"below the line", "/ voltage (V)", "/ voltage (mV)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			from, _, err := pdu.ParseUnits(row.from)
			require.NoError(t, err)
			to, _, err := pdu.ParseUnits(row.to)
			require.NoError(t, err)
			_, ok := NewConverter(from, to)
			assert.False(t, ok)
		})
	}
}

func TestFactorTrivial(t *testing.T) {
	assert.True(t, One.Trivial())
	assert.True(t, Factor{}.Trivial())
	assert.False(t, Factor{2, 1}.Trivial())
}

// Conversion there and back gives the same number: always in DOUBLE, and in positive integers from the
// larger scale.
func TestConverterRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		from, to := randomUnits(r)
		there, ok := NewConverter(from, to)
		require.True(t, ok)
		back, ok := NewConverter(to, from)
		require.True(t, ok)
		x := float64(r.Int64N(1<<50)-1<<49) / 1024
		numbers := []uint64{math.Float64bits(x)}
		there.Convert(pdu.TypeDouble, numbers, numbers)
		back.Convert(pdu.TypeDouble, numbers, numbers)
		require.InEpsilon(t, x, math.Float64frombits(numbers[0]), 1e-14, "%s to %s", from, to)

		n := int64(r.IntN(1 << 20)) // below zero half a unit is lost, as in pmConvScale
		if there.den.Cmp(big.NewInt(1)) == 0 && there.num.BitLen() < 43 {
			numbers[0] = uint64(n)
			there.Convert(pdu.Type64, numbers, numbers)
			back.Convert(pdu.Type64, numbers, numbers)
			require.Equal(t, n, int64(numbers[0]), "%s to %s", from, to)
		}
	}
}

// Integers are converted as the exact quotient says: half a unit is added, then cut toward zero.
func TestConverterIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		from, to := randomUnits(r)
		c, ok := NewConverter(from, to)
		require.True(t, ok)
		for _, typ := range derivedtest.NumericTypes[:4] {
			bits := derivedtest.RandomBits(r, typ)
			want, _ := derivedtest.Exactly(typ, bits).Exact.Int(nil)
			if typ == pdu.TypeU32 {
				want = new(big.Int).SetUint64(bits)
			}
			want.Mul(want, c.num)
			want.Add(want, new(big.Int).Rsh(c.den, 1))
			want.Quo(want, c.den)
			numbers := []uint64{bits}
			c.Convert(typ, numbers, numbers)
			require.Equal(t, derivedtest.Amount{Exact: new(big.Float).SetPrec(2000).SetInt(want)}.As(typ), numbers[0],
				"%s %s from %s to %s", typ, column.FormatNumber(typ, bits), from, to)
		}
	}
}

// randomUnits makes two units of the same dimension.
func randomUnits(r *rand.Rand) (from, to pdu.Units) {
	from = pdu.Units{Space: int8(r.IntN(5) - 2), Time: int8(r.IntN(3) - 1), Count: int8(r.IntN(3) - 1)}
	if r.IntN(4) == 0 {
		from.Extra, from.ExtraScale = pdu.ExtraUnit(r.IntN(9)-4), 1
	}
	to = from
	for _, u := range []*pdu.Units{&from, &to} {
		if u.Space != 0 {
			u.SpaceScale = pdu.SpaceScale(r.IntN(9))
		}
		if u.Time != 0 {
			u.TimeScale = pdu.TimeScale(r.IntN(6))
		}
		if u.Count != 0 {
			u.CountScale = int8(r.IntN(16) - 8)
		}
	}
	return from, to
}

// A sum means the same amount whatever the scales of its operands.
func TestWidenIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		x, y := randomUnits(r)
		fx, fy, ux, uy := Widen(x, y)
		require.Equal(t, ux, uy, "%s and %s", x, y)
		for _, operand := range []struct {
			units  pdu.Units
			factor Factor
		}{{x, fx}, {y, fy}} {
			c, ok := NewConverter(operand.units, ux)
			require.True(t, ok)
			want, _ := new(big.Rat).SetFrac(c.num, c.den).Float64()
			if operand.factor.Trivial() {
				require.InDelta(t, 1, want, 0)
				continue
			}
			require.InEpsilon(t, want, operand.factor.Multiplier/operand.factor.Divisor, 1e-12, "%s in %s", operand.units, ux)
		}
	}
}
