package bench

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The ratio is that of each turn, whichever side went first.
func TestInTurns(t *testing.T) {
	var order []string
	load := 0.0 // the machine gets slower all the time
	side := func(name string, cost float64) func() (float64, error) {
		return func() (float64, error) {
			order = append(order, name)
			load++
			return cost * (100 + load), nil
		}
	}
	p, err := inTurns(0, minRounds, side("ours", 1), side("theirs", 2))
	require.NoError(t, err)
	assert.Equal(t, []string{"ours", "theirs", "theirs", "ours", "ours", "theirs", "theirs", "ours", "ours", "theirs"},
		order)
	assert.Len(t, p.ratios, minRounds)
	assert.InDelta(t, 0.5, p.ratio(), 0.01)

	_, err = inTurns(0, 1, side("ours", 1), func() (float64, error) { return 0, errors.New("gone") })
	assert.EqualError(t, err, "gone")
}

func TestAnswers(t *testing.T) {
	var r result
	require.NoError(t, r.parse("cpu=5 n=2 values=20 errors=0 code=0 wall=9"))
	assert.Equal(t, map[string]int64{"cpu": 5, "n": 2, "values": 20, "errors": 0, "code": 0, "wall": 9}, r.numbers)
	assert.NoError(t, r.check(10))
	assert.Error(t, r.check(11), "a fetch without all its values must not count")
	r.numbers["errors"] = 1
	assert.Error(t, r.check(10))
	assert.Error(t, r.parse("cpu=much"))
}

// The agents in C number their metrics by the layout, pmcd names them by the name space: both must agree.
func TestLayoutAgreesWithNameSpace(t *testing.T) {
	layout := make(map[int]int) // metrics by cluster
	for line := range strings.Lines(layoutFile()) {
		var cluster, count, serial, size int
		_, err := fmt.Sscan(line, &cluster, &count, &serial, &size)
		require.NoError(t, err)
		layout[cluster] = count
	}
	named := make(map[int]int)
	leaves := make(map[string]bool)
	node := ""
	for line := range strings.Lines(nameSpace("bulk")) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[1] == "{":
			node = fields[0]
		case len(fields) == 2:
			var cluster, item int
			_, err := fmt.Sscanf(fields[1], "BULK:%d:%d", &cluster, &item)
			require.NoError(t, err)
			require.Equal(t, named[cluster], item)
			named[cluster]++
			leaves[node+"."+fields[0]] = true
		}
	}
	assert.Equal(t, layout, named)
	assert.True(t, leaves[scalar("bulk", singular-1)])
	for _, f := range families() {
		assert.True(t, leaves[member("bulk", f.size, f.count-1)], f.size)
	}
}

func TestDefinitionsNameOperandsOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range append(sums(10_000), sumsOver(1000, 10)...) {
		require.False(t, seen[d.expr], d.expr)
		seen[d.expr] = true
	}
	assert.Equal(t, definition{"rate.same10000.d1", "rate(bulk.same10000.m2)", 1}, over(10_000, 1, "rate", "rate(A)"))
}
