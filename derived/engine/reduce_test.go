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

// selectNth puts the element in its place that sorting puts there, and no greater one before it.
func TestSettle(t *testing.T) {
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
		selectNth(list, at, ascending(pdu.TypeU64))
		require.Equal(t, sorted[at], list[at])
		require.LessOrEqual(t, slices.Max(list[:at+1]), list[at])
		require.GreaterOrEqual(t, slices.Min(list[at:]), list[at])
		slices.Sort(list)
		require.Equal(t, sorted, list)
	}
}

// Ranks are those of exact arithmetic, also where a percentage has no exact double: 8.8 percent of 375 are 33.
func TestNearestRank(t *testing.T) {
	for tenths := range 1001 {
		n, err := strconv.ParseFloat(fmt.Sprintf("%d.%d", tenths/10, tenths%10), 64)
		require.NoError(t, err)
		for _, count := range []int{1, 2, 3, 7, 10, 375, 750, 1500, 1750, 99_999, 1_000_000} {
			require.Equal(t, max((tenths*count+999)/1000, 1), NearestRank(n, count), "%v percent of %d", n, count)
		}
	}
	require.Equal(t, 4, NearestRank(100.0/3, 10))
	require.Equal(t, 1, NearestRank(50, 0))
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
