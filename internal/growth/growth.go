// Package growth has the one way in which tests tell that something costs in proportion to its input: what it allocates
// for twice as much input is about twice as much. Bytes are counted and not time, because they are the same on a busy
// machine.
package growth

import (
	"runtime"
	"testing"
)

const (
	// Most is how many times as much something may cost for twice as much input. A list that grows by doubling makes it
	// more than 2.
	Most = 2.6

	// negligible is the number of bytes up to which it does not matter how they grow.
	negligible = 256 << 10
)

// Bytes returns the number of bytes that all goroutines allocate while work runs.
func Bytes(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Check fails a test if what is done for 2n things allocates more than Most times as much as for n. prepare returns what
// is to be done; what it allocates itself does not count.
func Check(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	once, twice := Bytes(prepare(n)), Bytes(prepare(2*n))
	if float64(twice) > Most*float64(once) && twice > negligible {
		t.Errorf("%d bytes for %d, %d bytes for %d: %.1f times as much", once, n, twice, 2*n, float64(twice)/float64(once))
	}
}
