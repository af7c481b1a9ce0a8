package derived

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	f, err := os.Open("testdata/corpus/unitstables/conv.jsonl")
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
		typ := typeOf(row.Type)
		column := []uint64{scanNumber(t, typ, row.Value)}
		c.convert(typ, column, column)
		good := assert.Equal(t, FormatNumber(typ, scanNumber(t, typ, row.Result)), FormatNumber(typ, column[0]), key)
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
