// Package await has the one way in which tests wait for something that another goroutine or process does.
//
//	condition ──false──► pause ──► condition ──true──► the test goes on
//	                └── Limit has passed ──► the test fails
//
// A test judges what is done, not how quickly a busy machine does it. So there is one limit for all, far longer than
// anything takes.
package await

import (
	"testing"
	"time"
)

const (
	// Limit is the time after which a condition counts as one that is never met.
	Limit = time.Minute

	// The time between two looks at a condition grows from firstPause to lastPause: a look may run a program.
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Until waits until a condition is met. It fails the test at once if that takes longer than Limit. The message is "waited
// in vain until" and then what.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(Limit)
	for pause := firstPause; !condition(); pause = min(2*pause, lastPause) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(pause)
	}
}
