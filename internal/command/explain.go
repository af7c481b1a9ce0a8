package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// explanation is the output of explain.
type explanation struct {
	*run
	depth int                  // levels of operands to show
	view  *collector.AgentView // what the agent says of definitions; nil: there is no agent
}

// maxDepth is the number of levels below an expression that explain prints at most.
const maxDepth = 64

// explain prints the metadata of every part of an expression, and how the agent serves a definition. It returns 1 if an
// expression cannot be bound.
func (r *run) explain(ctx context.Context, args []string) int {
	e := &explanation{run: r, depth: maxDepth}
	r.flags.Func("depth", "show `NUM` levels of operands below the expression", func(arg string) (err error) {
		if e.depth, err = strconv.Atoi(arg); err != nil || e.depth < 0 || e.depth > maxDepth {
			return fmt.Errorf("%q is not a number from 0 to %d", arg, maxDepth)
		}
		return nil
	})
	onlyOperands := r.flags.Bool("operands", false,
		"print only the metrics that the definitions need, one a line, for pmlogextract and pmlogger")
	exit, done := r.bindSubjects(ctx, args)
	switch {
	case done:
		return exit
	case *onlyOperands && r.flags.Changed("depth"):
		return r.usageError(errors.New("--operands and --depth cannot be used together"))
	case *onlyOperands:
		return r.listOperands(ctx)
	}
	if err := r.verify(ctx); err != nil {
		return r.fail(err)
	}
	var err error
	switch e.view, err = r.collector.AgentView(ctx); {
	case err != nil:
		exit = r.fail(err) // the rest does not need the agent
	case e.view == nil && r.collector.Archive == nil &&
		slices.ContainsFunc(r.subjects, func(s subject) bool { return s.source != nil }):
		r.complain(errors.New("this pmcd has no agent for derived metrics"))
	}
	shown := false
	for _, s := range r.subjects {
		switch m := r.metric(s); {
		case s.problem != nil: // bindSubjects has printed it
			exit = commandline.ExitFailure
		case m.Err == nil:
			if shown {
				fmt.Fprintln(r.stdout)
			}
			if err := e.showMetric(ctx, s, m); err != nil {
				return r.fail(err)
			}
			shown = true
		case s.source == nil && e.rowOf(s) != nil: // defined in a file that only the agent reads
		default:
			exit = commandline.ExitFailure
			r.showBroken(s, m.Err)
			if s.source == nil || e.view == nil { // otherwise showServed lists the operands
				r.showSimilar(ctx, s)
			}
		}
		if err := e.showServed(ctx, s); err != nil {
			exit = r.fail(err)
		}
	}
	return exit
}

// listOperands prints the metrics that the subjects need and the collector has: those of a guard that is false here may
// be missing. It returns 1 if a subject cannot be bound.
func (r *run) listOperands(ctx context.Context) (exit int) {
	var defs []served.Definition
	for _, s := range r.subjects {
		switch m := r.metric(s); {
		case s.problem != nil: // bindSubjects has printed it
			exit = commandline.ExitFailure
		case m.Err != nil:
			exit = commandline.ExitFailure
			r.showBroken(s, m.Err)
			r.showSimilar(ctx, s)
		default:
			defs = append(defs, r.used(s)...)
		}
	}
	missing := definitions.MissingMetrics(defs, r.session.Catalog())
	for _, name := range definitions.ForeignMetrics(defs) {
		if !slices.Contains(missing, name) {
			fmt.Fprintln(r.stdout, name)
		}
	}
	return exit
}

// showMetric prints the expression and its place, and all that is known of it without the agent.
func (e *explanation) showMetric(ctx context.Context, s subject, m *derived.Metric) error {
	if s.source == nil {
		fmt.Fprintf(e.stdout, "%s\n\n", printable.Line(s.text))
	} else {
		fmt.Fprintf(e.stdout, "%s = %s\n    defined in %s\n", s.def.Name, printable.Line(s.def.Text), s.source.Pos)
		if s.def.Labels != nil {
			fmt.Fprintf(e.stdout, "    labels %s\n", *s.def.Labels)
		}
		fmt.Fprintln(e.stdout)
	}
	e.showTree(m)
	e.showWindows(m)
	if err := e.showTicks(ctx, m); err != nil {
		return err
	}
	return cmp.Or(e.showGroups(ctx, s, m), e.showBuckets(ctx, s, m))
}

// showTree prints the tree of a metric as a table, with a line for each part of the expression down to the depth.
func (e *explanation) showTree(m *derived.Metric) {
	groups := e.session.Set().GroupDomains()
	var rows [][]string
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
			cmp.Or(l.Units.String(), "none"), indom, conversionText(l.Conversion, l.Offset),
		})
		if l.Depth == e.depth && len(l.Kids) > 0 {
			rows = append(rows, []string{branch(stems, true) + "...", "", "", "", "", ""})
		}
	}
	e.printTable([]string{"expression", "type", "semantics", "units", "indom", "conversion"}, rows)
	if n := m.Needs().History; n > 0 {
		fmt.Fprintln(e.stdout)
		e.sentence("A value needs %s before it. With nobody looking, the agent asks %s in --interval.",
			plural.Of(n, "sample"), plural.Of(freshness.PerInterval, "time"))
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
	if len(stems) == 0 {
		return ""
	}
	return strings.Join(stems[1:], "") + map[bool]string{false: "├─ ", true: "└─ "}[last]
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

// printTable prints a head and rows with aligned columns, but none without a text. If the table is wider than the
// terminal, the first column is the last one: what the terminal breaks is its rest.
func (e *explanation) printTable(head []string, rows [][]string) {
	widths, total := make([]int, len(head)), 0
	for i := range head {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		if widths[i] > 0 {
			widths[i] = max(widths[i], len(head[i])) + len("  ")
		}
		total += widths[i]
	}
	for _, row := range append([][]string{head}, rows...) {
		var cells []string
		for i, text := range row {
			if widths[i] > 0 {
				cells = append(cells, text+strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)))
			}
		}
		if total-len("  ") > e.width {
			cells = append(cells[1:], cells[0])
		}
		fmt.Fprintln(e.stdout, strings.TrimRight(strings.Join(cells, ""), " "))
	}
}
