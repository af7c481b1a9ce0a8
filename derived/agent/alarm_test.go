package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAlarm(t *testing.T) {
	a := newAlarm()
	rung := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	a.ring()
	first := a.arm()
	assert.False(t, rung(first), "what was before does not count")
	a.ring()
	a.ring()
	assert.True(t, rung(first))
	assert.False(t, rung(first), "once")
	a.ring()
	assert.False(t, rung(first), "nobody sleeps")
	a.arm()
	a.ring()
	assert.False(t, rung(a.arm()), "armed again")
}
