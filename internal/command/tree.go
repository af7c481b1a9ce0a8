package command

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/pdu"
)

// showTree prints the tree of a metric as a table, with a line for each part of the expression down to the depth.
func (e *explanation) showTree(m *derived.Metric) {
	groups := e.session.Set().GroupDomains()
	rows := [][]string{{"expression", "type", "semantics", "units", "indom", "conversion"}}
	stems := make([]string, e.depth+1) // by level: "│  " while there are operands to come
	for l := range m.Lines {
		if l.Depth > e.depth {
			continue
		}
		stems[l.Depth] = map[bool]string{false: "│  ", true: "   "}[l.Last]
		indom := "singular"
		if l.InDom != pdu.NoInDom {
			indom = inDomText(l.InDom, groups)
		}
		rows = append(rows, []string{
			branch(stems[:l.Depth], l.Last) + lineLabel(l), l.Type.String(), l.Sem.String(),
			cmp.Or(l.Units.String(), "none"),
			indom, conversionText(l.Conversion, l.Offset),
		})
		if l.Depth == e.depth && len(l.Kids) > 0 {
			rows = append(rows, []string{branch(stems, true) + "...", "", "", "", "", ""})
		}
	}
	printTable(e.stdout, rows)
	if n := m.Needs().History; n > 0 {
		fmt.Fprintf(e.stdout, "\nA value needs %s before it.\n", plural.Of(n, "sample"))
	}
}

// inDomText returns an instance domain. A domain of groups is described, because only the agent assigns its number.
func inDomText(d pdu.InDom, groups map[pdu.InDom]derived.GroupDomain) string {
	if grouped, ok := groups[d]; ok {
		return inDomText(grouped.Of, groups) + " by " + grouped.Label
	}
	return d.String()
}

// branch draws the lines of a tree before a node. stems are the lines of the levels above.
func branch(stems []string, last bool) string {
	switch {
	case len(stems) == 0:
		return ""
	case last:
		return strings.Join(stems[1:], "") + "└─ "
	}
	return strings.Join(stems[1:], "") + "├─ "
}

func lineLabel(l derived.Line) string {
	text := printable.Line(l.Title)
	if l.Name != "" {
		text = l.Name + " = " + text
	}
	if l.Repeated {
		text += " (as above)"
	}
	return text
}

// conversionText shows how values are converted for the operator above: "/1048576 *1000", "/5 *9 +32".
func conversionText(f derived.Factor, offset float64) string {
	var parts []string
	if !f.Trivial() && f.Divisor != 1 {
		parts = append(parts, "/"+factorText(f.Divisor))
	}
	if !f.Trivial() && f.Multiplier != 1 {
		parts = append(parts, "*"+factorText(f.Multiplier))
	}
	if offset != 0 {
		parts = append(parts, fmt.Sprintf("%+.6g", offset))
	}
	return strings.Join(parts, " ")
}

func factorText(f float64) string {
	const exact = 1 << 53 // up to this a float64 has every integer
	if f < exact {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// printTable prints rows with aligned columns.
func printTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, text := range row {
			b.WriteString(text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
