package wait

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBackoff(t *testing.T) {
	b := Backoff{Least: 50, Most: 300}
	for range 2 {
		assert.Zero(t, b.Last())
		for _, want := range []time.Duration{50, 100, 200, 300, 300} {
			assert.Equal(t, want, b.Next())
			assert.Equal(t, want, b.Last())
		}
		b.Most = 1000
		assert.EqualValues(t, 600, b.Next())
		b.Most = 300
		assert.EqualValues(t, 300, b.Next(), "it is less again")
		b.Reset()
	}
}

func TestSignal(t *testing.T) {
	c := make(chan struct{}, 1)
	Signal(c)
	Signal(c)
	assert.Len(t, c, 1)
}
