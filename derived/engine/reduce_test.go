package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// selectWord returns the element that sorting puts there.
func TestSelectWord(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 3))
	for range 2000 {
		list := make([]uint64, 1+r.IntN(300))
		kinds := 1 + r.IntN(len(list))
		for i := range list {
			list[i] = uint64(r.IntN(kinds))
		}
		switch r.IntN(4) {
		case 0:
			slices.Sort(list)
		case 1: // up and down again
			slices.Sort(list)
			slices.Reverse(list[len(list)/2:])
		}
		sorted, at := slices.Sorted(slices.Values(list)), r.IntN(len(list))
		require.Equal(t, sorted[at], selectWord(list, at))
		slices.Sort(list)
		require.Equal(t, sorted, list)
	}
}

// Words have the order of the numbers, and are converted back.
func TestOrderWord(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 4))
	for _, typ := range []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble} {
		for range 2000 {
			x, y := derivedtest.RandomBits(r, typ), derivedtest.RandomBits(r, typ)
			a, b := typ.Float64(x), typ.Float64(y)
			if math.IsNaN(a) {
				require.Zero(t, orderWord(typ, x), "%s", typ)
				continue
			}
			require.Equal(t, x, fromOrderWord(typ, orderWord(typ, x)), "%s", typ)
			if a < b {
				require.Less(t, orderWord(typ, x), orderWord(typ, y), "%s", typ)
			}
		}
	}
}

// Ranks are those of exact arithmetic, also where a percentage has no exact double: 8.8 percent of 375 are 33.
func TestNearestRank(t *testing.T) {
	for tenths := range 1001 {
		n, err := strconv.ParseFloat(fmt.Sprintf("%d.%d", tenths/10, tenths%10), 64)
		require.NoError(t, err)
		for _, count := range []int{1, 2, 3, 7, 10, 375, 750, 1500, 1750, 99_999, 1_000_000} {
			require.Equal(t, max((tenths*count+999)/1000, 1), nearestRank(n, count), "%v percent of %d", n, count)
		}
	}
	require.Equal(t, 4, nearestRank(100.0/3, 10))
	require.Equal(t, 1, nearestRank(50, 0))
}

// The standard deviation is that of exact arithmetic, but for the last digits.
func TestDeviationFollowsTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 2))
	for range 500 {
		values := make([]uint64, 1+r.IntN(8))
		for i := range values {
			values[i] = derivedtest.RandomBits(r, pdu.TypeDouble)
		}
		n := len(values)
		squares := 0.0 // half the mean of the squares of all differences
		for _, x := range values {
			for _, y := range values {
				d := math.Float64frombits(x) - math.Float64frombits(y)
				squares += d * d
			}
		}
		want := math.Sqrt(squares / 2 / float64(n*n))
		require.InDelta(t, want, math.Float64frombits(deviation(pdu.TypeDouble, values, 0)), want*1e-12)
	}
}
