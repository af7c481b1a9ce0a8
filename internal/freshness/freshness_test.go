package freshness

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// constants has the value of each constant as the page prints it.
var constants = map[string]string{
	"AlwaysServed": text(AlwaysServed), "NeverServed": text(NeverServed), "LateAge": text(LateAge),
	"MinAge": text(MinAge), "RepeatedLookupAge": text(RepeatedLookupAge), "burstShare": fmt.Sprint(burstShare),
	"Lead": text(Lead), "MaxLead": text(MaxLead), "MinGap": text(MinGap), "MaxGap": text(MaxGap),
	"ActiveTime": text(ActiveTime), "FirstFetchTime": text(FirstFetchTime),
	"LookupDelay": text(LookupDelay), "LookupTime": text(LookupTime),
	"PerInterval": fmt.Sprint(PerInterval), "SecondSample": text(SecondSample),
	"MinStep": text(MinStep), "minReach": text(minReach), "ForgetInterval": text(ForgetInterval),
}

// text prints a time in the unit that the page uses.
func text(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprint(d.Milliseconds(), " ms")
	case d%time.Hour == 0:
		return fmt.Sprint(d.Hours(), " h")
	case d%time.Minute == 0:
		return fmt.Sprint(d.Minutes(), " min")
	}
	return fmt.Sprint(d.Seconds(), " s")
}

// The page has each constant with its value, and no others.
func TestPageHasTheConstants(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "freshness.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, spec := range d.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					assert.Contains(t, constants, name.Name, "the test has no value of it")
				}
			}
		}
		return true
	})
	page, err := os.ReadFile("../../docs/freshness.md")
	require.NoError(t, err)
	listed := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = row[2]
	}
	assert.Equal(t, constants, listed)
}

func TestMaxAge(t *testing.T) {
	for _, row := range []struct{ interval, want time.Duration }{
		{0, AlwaysServed},
		{AlwaysServed / 2, AlwaysServed},
		{10 * time.Second, 15 * time.Second},
		{time.Hour, NeverServed},
	} {
		assert.Equal(t, row.want, MaxAge(row.interval), row.interval)
	}
	assert.True(t, Served(time.Second, time.Second))
	assert.False(t, Served(time.Second+1, time.Second))
}

func TestExpired(t *testing.T) {
	assert.False(t, Expired(NeverServed, 0, time.Hour))
	assert.True(t, Expired(NeverServed+1, 0, time.Hour))
	assert.False(t, Expired(NeverServed+2*minReach, 2, time.Second), "an older sample for a first fetch")
	assert.True(t, Expired(NeverServed+2*minReach+1, 2, time.Second))
	assert.False(t, Expired(NeverServed+2*time.Hour, 1, time.Hour))
}
