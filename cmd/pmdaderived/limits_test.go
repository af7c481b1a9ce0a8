package main

import (
	"bytes"
	"context"
	"os"
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
			o, err := parseOptions(row.args, testConf, environment())
			require.NoError(t, err)
			assert.Equal(t, want, o.limits)
		})
	}
}

// A limit that makes no sense is an error that says which do.
func TestLimitsThatMakeNoSense(t *testing.T) {
	const ranges = "definitions (1..1000000), expression (1..1M), depth (1..10000), operands (1..4000), " +
		"instances (1..10000000), contexts (1..65536), samples (64K..64G) or answer (4K..1G)"
	for _, row := range []struct{ arg, reason string }{
		{"", `"": want NAME=N with ` + ranges},
		{"contexts", `"contexts": want NAME=N with ` + ranges},
		{"log=5", `no limit is called "log": want ` + ranges},
		{"Depth=5", `no limit is called "Depth": want ` + ranges},
		{"depth=", `depth: "" is not a number`},
		{"depth=much", `depth: "much" is not a number`},
		{"depth=-1", `depth: "-1" is not a number`},
		{"depth=5T", `depth: "5T" is not a number`},
		{"samples=99999999999", `samples: "99999999999" is not a number`},
		{"definitions=0", `definitions: "0" is not within 1..1000000`},
		{"definitions=1M", `definitions: "1M" is not within 1..1000000`},
		{"expression=1048577", `expression: "1048577" is not within 1..1M`},
		{"depth=10001", `depth: "10001" is not within 1..10000`},
		{"operands=4001", `operands: "4001" is not within 1..4000`},
		{"instances=16M", `instances: "16M" is not within 1..10000000`},
		{"contexts=65537", `contexts: "65537" is not within 1..65536`},
		{"samples=65535", `samples: "65535" is not within 64K..64G`},
		{"samples=65G", `samples: "65G" is not within 64K..64G`},
		{"answer=4095", `answer: "4095" is not within 4K..1G`},
		{"answer=2147483647G", `answer: "2147483647G" is not within 4K..1G`},
	} {
		t.Run(row.arg, func(t *testing.T) {
			for _, command := range [][]string{nil, {"check"}} {
				var stdout, stderr bytes.Buffer
				exit := run(context.Background(), append(command, "--limit", row.arg), os.Getenv, nil, &stdout, &stderr)
				assert.Equal(t, exitUsage, exit)
				assert.Empty(t, stdout.String())
				assert.Contains(t, stderr.String(), "--limit: "+row.reason)
			}
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
			n, err := parseSize(cells[2+j])
			require.NoError(t, err, line)
			assert.Equal(t, is, n, line)
		}
	}
}
