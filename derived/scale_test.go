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
		good := assert.Equal(t, formatNumber(typ, scanNumber(t, typ, row.Result)), formatNumber(typ, column[0]), key)
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

// The fourth axis of PCP 7.2 has no rules here: it is kept where there is no doubt.
func TestExtraUnits(t *testing.T) {
	x, y := pdu.Units{Space: 1, Extra: 0x11}, pdu.Units{Space: 1}
	u, ok := product(x, y, 1)
	require.True(t, ok)
	assert.Equal(t, pdu.Units{Space: 2, Extra: 0x11}, u)
	u, _ = product(y, x, 1)
	assert.Equal(t, pdu.Units{Space: 2, Extra: 0x11}, u)
	u, _ = product(y, x, -1)
	assert.Equal(t, pdu.Units{}, u)
	u, _ = product(x, x, 1)
	assert.Equal(t, pdu.Units{Space: 2}, u)

	cat := CatalogMap{
		"x": {Units: x, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, "y": {Units: y, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
	}
	for expr, want := range map[string]uint8{"x + x": 0x11, "x + y": 0, "x > y": 0, "-x": 0x11} {
		_, m := only(t, expr, cat)
		require.Nil(t, m.Err)
		assert.Equal(t, want, m.Desc.Units.Extra, expr)
	}
}

func TestFactorTrivial(t *testing.T) {
	assert.True(t, One.Trivial())
	assert.True(t, Factor{}.Trivial())
	assert.False(t, Factor{2, 1}.Trivial())
}
