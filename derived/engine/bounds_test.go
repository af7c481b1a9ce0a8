package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived/group"
)

// Texts that are longer than any bound are none, so that a name with many dashes or words takes no time.
func TestLongNamesHaveNoBounds(t *testing.T) {
	for _, row := range []struct {
		name string
		form BoundForm
	}{
		{"4-7", BoundRange},
		{strings.Repeat("0", group.MaxBound-1) + "4-" + strings.Repeat("0", group.MaxBound-1) + "7", BoundRange},
		{strings.Repeat("1-", group.MaxBound) + "12", NoBound},
		{strings.Repeat("1-", 1500) + "1", NoBound},
		{strings.Repeat("1:", 1500) + "0:5us", BoundLower},
		{strings.Repeat("1:", 1500) + "x", NoBound},
		{"le:" + strings.Repeat("0", group.MaxBound-1) + "5", BoundColon},
		{"le:" + strings.Repeat("0", group.MaxBound) + "5", NoBound},
		{strings.Repeat("0", group.MaxBound) + "5", NoBound},
		{strings.Repeat("1-1-x ", 500) + "le=5", BoundEquals},
	} {
		assert.Equal(t, row.form, boundOf("", row.name).form, row.name)
	}
	long := strings.Repeat("1-", 1500) + "1"
	assert.Equal(t, NoBound, boundOf(long, "x").form)
	assert.Zero(t, testing.AllocsPerRun(10, func() { parseRange(long) }))
}
