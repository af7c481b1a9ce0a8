package pmapi

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// Whatever is refused, each item gets what it would get alone, and it takes not much more than asking for each alone
// would: the model does just that.
func TestNarrow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n, fits := random.IntN(300), 1+random.IntN(130)
		codes := make([]pdu.Code, n) // as the model finds them
		culprits := 0
		for i := range codes {
			if random.Float64() < []float64{0, 0.01, 0.1, 0.5, 1}[random.IntN(5)] {
				codes[i] = pdu.ErrAgain - pdu.Code(random.IntN(3))
				culprits++
			}
		}
		got := make([]pdu.Code, n)
		answered := make([]bool, n)
		requests := 0
		err := askInBatches(n, func(lo, most int) (int, pdu.Code, error) {
			requests++
			require.Positive(t, most)
			hi := min(lo+min(most, fits), n)
			for i := lo; i < hi; i++ {
				if codes[i] < 0 {
					return hi, codes[i], nil
				}
			}
			for i := lo; i < hi; i++ {
				require.False(t, answered[i])
				answered[i] = true
			}
			return hi, 0, nil
		}, func(i int, code pdu.Code) {
			require.False(t, answered[i])
			answered[i], got[i] = true, code
		})
		require.NoError(t, err)
		assert.Equal(t, codes, got)
		assert.NotContains(t, answered, false)
		assert.LessOrEqual(t, requests, (n+fits-1)/fits+2*culprits*bits.Len(uint(fits)))
		assert.LessOrEqual(t, requests, 2*n+bits.Len(uint(fits)))
	}
}
