package syntax

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Intervals are those of PCP's tools: each text of the first rows is what pmval -t takes.
func TestParseInterval(t *testing.T) {
	for _, row := range []struct {
		text string
		want time.Duration
	}{
		{"10", 10 * time.Second},
		{"0.5", 500 * time.Millisecond},
		{"0.1", 100 * time.Millisecond},
		{"0.3 secs", 300 * time.Millisecond},
		{"500msec", 500 * time.Millisecond},
		{"90s", 90 * time.Second},
		{"1 second", time.Second},
		{"5min", 5 * time.Minute},
		{"2 Minutes", 2 * time.Minute},
		{"1hour 15mins 30secs", 4530 * time.Second},
		{"4 days 6 hours 30 minutes", 102*time.Hour + 30*time.Minute},
		{"4day6hour30min", 102*time.Hour + 30*time.Minute},
		{"4d6h30m", 102*time.Hour + 30*time.Minute},
		{"4d6.5h", 102*time.Hour + 30*time.Minute},
		{"1 m 5", 65 * time.Second},
		{"366d", MaxInterval},
	} {
		got, err := ParseInterval(row.text)
		require.NoError(t, err, row.text)
		assert.Equal(t, row.want, got, row.text)
	}
	for _, text := range []string{"", " ", "s", "-1", "0", "0s", "1 week", "1:30", "5 min.", "1e3", "1.2.3s", ".", "1 us", "367d", "99999999999999999999d", "\u0661s"} {
		_, err := ParseInterval(text)
		assert.Error(t, err, text)
	}
}

func TestWindowOfACall(t *testing.T) {
	for _, row := range []struct {
		text          string
		window, every time.Duration
	}{
		{`max_sample(a, "5min")`, 5 * time.Minute, time.Second},
		{`max_sample(a, "310s")`, 310 * time.Second, 10 * time.Second},
		{`max_sample(a, "1 hour", "5 min")`, time.Hour, 5 * time.Minute},
		{`max_sample(a, "1", "0.1")`, time.Second, MinEvery},
		{`rescale(a, "min")`, 0, 0},
	} {
		e, err := Parse(row.text, Literals{})
		require.NoError(t, err)
		window, every := e.(*Call).Window()
		assert.Equal(t, row.window, window, row.text)
		assert.Equal(t, row.every, every, row.text)
	}
}
