package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived/agent"
	"pmdaderived/pmda"
)

// limit is one that --limit sets.
type limit struct {
	name        string
	of          func(*agent.Limits) *int64
	least, most int64
	bytes       bool
}

// settable are the limits that --limit sets. Those of expressions, depth and operands cannot be raised: more than
// that is not safe, or cannot be sampled together.
func settable() []limit {
	usual := defaultLimits()
	return []limit{
		{"definitions", func(l *agent.Limits) *int64 { return &l.Definitions }, 1, 1_000_000, false},
		{"expression", func(l *agent.Limits) *int64 { return &l.Expression }, 1, usual.Expression, true},
		{"depth", func(l *agent.Limits) *int64 { return &l.Depth }, 1, usual.Depth, false},
		{"operands", func(l *agent.Limits) *int64 { return &l.Operands }, 1, usual.Operands, false},
		{"instances", func(l *agent.Limits) *int64 { return &l.Instances }, 1, 10_000_000, false},
		{"contexts", func(l *agent.Limits) *int64 { return &l.Contexts }, 1, 65_536, false},
		{"samples", func(l *agent.Limits) *int64 { return &l.Samples }, 64 << 10, 64 << 30, true},
		{"answer", func(l *agent.Limits) *int64 { return &l.Answer }, 4 << 10, 1 << 30, true},
		{"windows", func(l *agent.Limits) *int64 { return &l.Windows }, 1, 1_000_000_000, false},
	}
}

// defaultLimits are those in force without --limit and --log-limit.
func defaultLimits() agent.Limits {
	l := agent.DefaultLimits()
	l.Definitions, l.Log = config.MaxDefinitions, defaultLogLimit
	return l
}

// limitOption is --limit, which may come repeatedly.
func limitOption(limits *agent.Limits) pmda.Option {
	return pmda.Option{
		Long: "limit", Arg: "NAME=N", Set: func(arg string) error { return setLimit(limits, arg) },
		Help: "set a limit: definitions, expression, depth, operands, instances, contexts, samples, answer, windows",
	}
}

// setLimit reads "contexts=100" or "samples=64M".
func setLimit(limits *agent.Limits, arg string) error {
	name, text, ok := strings.Cut(arg, "=")
	if !ok {
		return fmt.Errorf("%q is not a limit: write NAME=N, with %s", arg, limitRanges())
	}
	all := settable()
	i := slices.IndexFunc(all, func(l limit) bool { return l.name == name })
	if i < 0 {
		return fmt.Errorf("%q is not the name of a limit; the limits are %s", name, limitRanges())
	}
	n, err := parseSize(text)
	switch l := &all[i]; {
	case err != nil:
		return fmt.Errorf("%s: %q is not a number such as 65536, 64K or 16M", name, text)
	case n < l.least || n > l.most:
		return fmt.Errorf("%s: %q is not within %s", name, text, l.span())
	default:
		*l.of(limits) = n
	}
	return nil
}

// span is the range of a limit as an option takes it.
func (l *limit) span() string {
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	if l.bytes {
		show = shortSize
	}
	return show(l.least) + ".." + show(l.most)
}

// limitRanges lists all limits with their ranges.
func limitRanges() string {
	all := settable()
	words := make([]string, len(all))
	for i := range all {
		words[i] = all[i].name + " (" + all[i].span() + ")"
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// shortSize is the shortest text for which parseSize gives n.
func shortSize(n int64) string {
	unit := ""
	for _, next := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, next
	}
	return strconv.FormatInt(n, 10) + unit
}

// parseSize reads a number of bytes: "4096", "64K", "16M", "1G".
func parseSize(text string) (int64, error) {
	digits, shift := text, 0
	if i := len(text) - 1; i > 0 {
		if unit := strings.IndexByte("KMG", text[i]); unit >= 0 {
			digits, shift = text[:i], 10*(unit+1)
		}
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err == nil && v < 0 {
		err = strconv.ErrRange
	}
	return v << shift, err
}
