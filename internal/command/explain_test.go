package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// A caret stands below its place in an expression of several lines, too.
func TestExplainSeveralLines(t *testing.T) {
	_, errs := newSite(t).fails("explain", "1 +\n * 2")
	assert.Equal(t, `pmdaderived explain: syntax error: Arithmetic expression expected to follow PLUS
1 +  * 2
     ^
`, errs)
}

// A tree may be higher than a terminal is wide, and definitions may double with each level.
func TestExplainLargeTrees(t *testing.T) {
	s := newSite(t)
	out := s.succeeds("explain", "hinv.ncpu"+strings.Repeat("-1", 5000))
	assert.Contains(t, out, "└─ ...\n")
	assert.Less(t, strings.Count(out, "\n"), 3*maxDepth)

	var file strings.Builder
	file.WriteString("d0 = hinv.ncpu\n")
	for i := range 40 {
		fmt.Fprintf(&file, "d%d = d%d + d%d\n", i+1, i, i)
	}
	s.file("site.conf", file.String())
	out = s.succeeds("explain", "d40")
	assert.Less(t, strings.Count(out, "\n"), 100)
}

// --depth limits the levels below the expression, through definitions that it uses.
func TestExplainDepth(t *testing.T) {
	s := newSite(t)
	s.file("site.conf", "half = hinv.ncpu / 2\nall = half * 3\n")
	for _, row := range []struct {
		depth string
		want  []string
	}{
		{"0", []string{"half * 3", "└─ ..."}},
		{"1", []string{"half * 3", "├─ half = hinv.ncpu / 2", "│  └─ ...", "└─ 3"}},
		{"2", []string{"half * 3", "├─ half = hinv.ncpu / 2", "│  ├─ hinv.ncpu", "│  └─ 2", "└─ 3"}},
	} {
		t.Run(row.depth, func(t *testing.T) {
			_, table, _ := strings.Cut(s.succeeds("explain", "--depth="+row.depth, "all"), "indom\n")
			var tree []string
			for line := range strings.Lines(table) {
				text, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "  DOUBLE")
				text, _, _ = strings.Cut(text, "  U32")
				tree = append(tree, strings.TrimRight(text, " "))
			}
			assert.Equal(t, row.want, tree)
		})
	}
}

// A table that is wider than the terminal has the tree last, so that the other columns stay columns.
func TestExplainWidth(t *testing.T) {
	s := newSite(t)
	const expr = "hinv.ncpu / 2"
	assert.Contains(t, s.succeeds("explain", expr), "\nexpression     type    semantics  units  indom\n"+
		"hinv.ncpu / 2  DOUBLE  discrete   none   singular\n")
	s.columns = "40"
	assert.Contains(t, s.succeeds("explain", expr), "\ntype    semantics  units  indom     expression\n"+
		"DOUBLE  discrete   none   singular  hinv.ncpu / 2\n"+
		"U32     discrete   none   singular  ├─ hinv.ncpu\n")
}

func TestConversionText(t *testing.T) {
	for _, row := range []struct {
		f      derived.Factor
		offset float64
		want   string
	}{
		{derived.One, 0, ""},
		{derived.Factor{}, 0, ""},
		{derived.Factor{Divisor: 1048576, Multiplier: 1000}, 0, "/1048576 *1000"},
		{derived.Factor{Divisor: 1, Multiplier: 60}, 0, "*60"},
		{derived.Factor{Divisor: 1 << 60, Multiplier: 1}, 0, "/1.152921504606847e+18"},
		{derived.Factor{Divisor: 5, Multiplier: 9}, 32, "/5 *9 +32"},
		{derived.Factor{Divisor: 9, Multiplier: 5}, -160.0 / 9, "/9 *5 -17.7778"},
		{derived.One, -273.15, "-273.15"},
	} {
		assert.Equal(t, row.want, conversionText(row.f, row.offset))
	}
}

// Labels that are refused leave the bounds open, whatever the names are.
func TestBoundsAreNotKnown(t *testing.T) {
	names, ids := derived.NewNameTable(map[pdu.Inst]string{1: "0.5", 2: "+Inf"}, nil), []pdu.Inst{1, 2}
	assert.Equal(t, "2 by the number, not cumulative", boundsText(names, ids))
	assert.Equal(t, "not known, because the labels of the instances are not: "+pdu.ErrPermission.Error(),
		boundsText(names.Unanswered(nil, pdu.ErrPermission), ids))
}
