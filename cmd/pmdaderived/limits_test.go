package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent"
)

func TestLimitOption(t *testing.T) {
	for _, row := range []struct {
		args []string
		want func(*agent.Limits)
	}{
		{nil, func(*agent.Limits) {}},
		{[]string{"--limit", "definitions=20"}, func(l *agent.Limits) { l.Definitions = 20 }},
		{[]string{"--limit=definitions=1000000"}, func(l *agent.Limits) { l.Definitions = 1_000_000 }},
		{[]string{"--limit=expression=64K"}, func(l *agent.Limits) { l.Expression = 64 << 10 }},
		{[]string{"--limit=expression=1M"}, func(*agent.Limits) {}},
		{[]string{"--limit=depth=1"}, func(l *agent.Limits) { l.Depth = 1 }},
		{[]string{"--limit=operands=2K"}, func(l *agent.Limits) { l.Operands = 2048 }},
		{[]string{"--limit=instances=10000000"}, func(l *agent.Limits) { l.Instances = 10_000_000 }},
		{[]string{"--limit=contexts=64K"}, func(l *agent.Limits) { l.Contexts = 65536 }},
		{[]string{"--limit=samples=64G"}, func(l *agent.Limits) { l.Samples = 64 << 30 }},
		{[]string{"--limit=answer=4096"}, func(l *agent.Limits) { l.Answer = 4096 }},
		{
			[]string{"--limit=depth=5", "--limit=contexts=6", "--limit=depth=7", "--log-limit=8"},
			func(l *agent.Limits) { l.Depth, l.Contexts, l.Log = 7, 6, 8 },
		},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			want := defaultLimits()
			row.want(&want)
			o := must(parseOptions(row.args, testConf, environment()))(t)
			assert.Equal(t, want, o.agent.Limits)
		})
	}
}

// docs/limits.md has every limit that can be set with its default and range.
func TestLimitsPage(t *testing.T) {
	text := readFile(t, "../../docs/limits.md")
	_, rest, found := strings.Cut(string(text), "\n| name | of | default | least | most |\n|---|---|---|---|---|\n")
	require.True(t, found)
	table, _, _ := strings.Cut(rest, "\n\n")
	usual := defaultLimits()
	all := settable()
	lines := strings.Split(table, "\n")
	require.Len(t, lines, len(all))
	for i, line := range lines {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 5, line)
		l := all[i]
		assert.Equal(t, "`"+l.name+"`", cells[0])
		for j, is := range []int64{*l.of(&usual), l.least, l.most} {
			n := must(parseSize(cells[2+j]))(t)
			assert.Equal(t, is, n, line)
		}
	}
}
