package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent"
)

func TestExponentIsTheSteepestSlope(t *testing.T) {
	x := []float64{100, 1000, 10_000}
	for _, row := range []struct {
		name string
		y    []float64
		want float64
	}{
		{"linear", []float64{5, 50, 500}, 1},
		{"quadratic", []float64{1, 100, 10_000}, 2},
		{"fixed cost and linear", []float64{1000, 1900, 10_900}, 0.7587},
		{"turns quadratic at the end", []float64{1000, 1001, 100_100}, 2},
	} {
		t.Run(row.name, func(t *testing.T) { assert.InDelta(t, row.want, exponent(x, row.y), 0.001) })
	}
}

func TestQuantile(t *testing.T) {
	list := []float64{9, 1, 5, 3, 7}
	assert.Equal(t, 5.0, median(list))
	assert.Equal(t, 4.0, median(list[1:]))
	assert.Equal(t, 1.0, quantile(list, 0))
	assert.Equal(t, 9.0, quantile(list, 0.99))
	assert.Equal(t, []float64{9, 1, 5, 3, 7}, list, "the list stays as it was")
}

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
	p, err := inTurns(0, side("ours", 1), side("theirs", 2))
	require.NoError(t, err)
	assert.Equal(t, []string{"ours", "theirs", "theirs", "ours", "ours", "theirs", "theirs", "ours", "ours", "theirs"}, order)
	assert.Len(t, p.ratios, minRounds)
	assert.InDelta(t, 0.5, p.ratio(), 0.01)

	_, err = inTurns(0, side("ours", 1), func() (float64, error) { return 0, errors.New("gone") })
	assert.EqualError(t, err, "gone")
}

func TestAnswers(t *testing.T) {
	var r result
	require.NoError(t, r.parse("cpu=5 n=2 values=20 errors=0 code=0 wall=9 median=4 least=3 quarter=2 p99=6 most=7"))
	assert.Equal(t, result{cpu: 5, n: 2, values: 20, wall: 9, median: 4, least: 3, quarter: 2, p99: 6, most: 7}, r)
	assert.NoError(t, r.check(10))
	assert.Error(t, r.check(11), "a fetch without all its values must not count")
	assert.NoError(t, r.check(anyNumber))
	r.errors = 1
	assert.Error(t, r.check(10))
	assert.Error(t, r.check(anyNumber))
	assert.Error(t, r.parse("cpu=much"))
}

func TestVerdicts(t *testing.T) {
	l := line{most: []float64{1.05, 2}}
	for _, row := range []struct {
		name    string
		figures []float64
		err     error
		want    string
	}{
		{"both better", []float64{1, 1}, nil, "ok"},
		{"equal as printed", []float64{1.0549, 2.004}, nil, "ok"},
		{"second worse", []float64{1, 2.1}, nil, "MISSED"},
		{"not measured", nil, errors.New("no"), "FAILED"},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, l.verdict(row.figures, row.err)) })
	}
	assert.Empty(t, (&line{}).verdict([]float64{9}, nil), "a line without a target has no verdict")
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0031: "0.003", 0.314: "0.31", 3.14159: "3.14", 31.4159: "31.4", 314.159: "314"} {
		assert.Equal(t, want, digits(x))
	}
}

// Whatever happens, a line is printed and counted.
func TestTable(t *testing.T) {
	var out, progress bytes.Buffer
	b := &bench{Options: Options{Only: "matchinst", Verbose: true, Out: &out, Progress: &progress, Time: time.Millisecond}}
	_, err := b.table(context.Background())
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^matchinst, 10,000 instances first seen; 10 % new +[0-9.]+; [0-9.]+ ms +≤ 5; ≤ 3 +1.5 +(ok|MISSED)$`, out.String())
}

// Every line has what the table prints, and its columns hold it.
func TestLines(t *testing.T) {
	for _, l := range lines() {
		t.Run(l.what, func(t *testing.T) {
			assert.NotNil(t, l.measure)
			assert.Less(t, len([]rune(l.what)), widthWhat)
			assert.Less(t, len([]rune(l.target)), widthTarget)
			assert.Less(t, len([]rune(l.limit)), widthLimit)
			assert.Equal(t, len(l.most) > 0, l.target != "")
		})
	}
}

// The agents in C number their metrics by the layout, pmcd names them by the name space: both must agree.
func TestLayoutAgreesWithNameSpace(t *testing.T) {
	layout := make(map[int]int) // metrics by cluster
	for line := range strings.Lines(layoutFile()) {
		var cluster, count, serial, size int
		var mode string
		_, err := fmt.Sscan(line, &cluster, &count, &serial, &size, &mode)
		require.NoError(t, err)
		layout[cluster] = count
	}
	named := make(map[int]int)
	leaves := make(map[string]bool)
	node := ""
	for line := range strings.Lines(nameSpace("bulk", singular, true)) {
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
		assert.True(t, leaves[f.metric("bulk", f.count-1)], f.name())
	}
}

func TestDefinitionsNameOperandsOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range append(sums(10_000), sumsOver(1000, 10)...) {
		require.False(t, seen[d.expr], d.expr)
		seen[d.expr] = true
	}
	d := over(familyOf(missing, 100), 1, "rate", exprRatio)
	assert.Equal(t, definition{"rate.missing100.d1", "delta(bulk.missing100.m2) / delta(bulk.missing100.m3)", 2}, d)
}

// What runs in this process gives a figure.
func TestEngine(t *testing.T) {
	for _, expr := range []string{exprSum, exprRate, exprRatio, exprFifty()} {
		measure, err := newEngine(100).evaluate(expr)
		require.NoError(t, err)
		ns, err := measure()
		require.NoError(t, err)
		assert.Positive(t, ns)
	}
	_, err := newEngine(10).evaluate("A +")
	require.Error(t, err)

	first, err := matchFirst(100)
	require.NoError(t, err)
	again, err := matchNew(100)
	require.NoError(t, err)
	for range 40 { // more than there are windows
		_, err = first()
		require.NoError(t, err)
		_, err = again()
		require.NoError(t, err)
	}

	read := parse(fiveThousand(1))
	ms, err := read()
	require.NoError(t, err)
	assert.Positive(t, ms)
}

func TestCPUClock(t *testing.T) {
	before, err := cpuOf(1)
	require.NoError(t, err)
	require.Positive(t, before)
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	_, err = cpuOf(cmd.Process.Pid)
	assert.Error(t, err, "a process that has ended has no clock")
	age, err := ageOf(1)
	require.NoError(t, err)
	assert.Positive(t, age)
}

// The longest request since a reading is the highest bucket that has grown.
func TestLongestSince(t *testing.T) {
	names := agent.BucketNames()
	before, after := map[string]uint64{}, map[string]uint64{}
	for _, name := range names {
		before[name], after[name] = 1, 1
	}
	assert.Zero(t, longestSince(before, after))
	after["0.5"]++
	after["3"]++
	assert.InDelta(t, 3, longestSince(before, after), 0)
	after["inf"]++
	assert.True(t, math.IsInf(longestSince(before, after), 1))
}
