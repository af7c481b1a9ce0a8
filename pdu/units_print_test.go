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
		u.Extra = 0
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

func TestCountTenSquaredReadsBackAsHundreds(t *testing.T) {
	squared := Units{Count: 2, CountScale: 1}
	require.Equal(t, "count x 10^2", squared.String())
	again, _, err := ParseUnits(squared.String())
	require.NoError(t, err)
	assert.Equal(t, Units{Count: 1, CountScale: 2}, again)
}
