package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
)

// runExplain prints the metadata of every part of an expression, and how the agent serves a definition. It returns 1 if
// an expression cannot be bound.
func runExplain(ctx context.Context, t *invocation, args []string) int {
	depth := maxDepth
	t.flags.Func("depth", "show `NUM` levels of operands below the expression", func(arg string) (err error) {
		if depth, err = strconv.Atoi(arg); err != nil || depth < 0 || depth > maxDepth {
			return fmt.Errorf("%q is not a number from 0 to %d", arg, maxDepth)
		}
		return nil
	})
	a, exit := t.openQuery(ctx, args)
	if a == nil {
		return exit
	}
	defer a.collector.Close()
	if err := t.verify(ctx, a.collector); err != nil {
		return t.fail(err)
	}
	view, err := a.collector.AgentView(ctx)
	switch {
	case err != nil:
		exit = t.fail(err) // the rest does not need the agent
	case view == nil && a.collector.Archive == nil &&
		slices.ContainsFunc(a.subjects, func(s subject) bool { return s.source != nil }):
		t.complain(errors.New("this pmcd has no agent for derived metrics"))
	}
	shown := false
	for _, s := range a.subjects {
		switch m := a.metric(s); {
		case s.problem != nil: // printed by openQuery
			exit = commandline.ExitFailure
		case m.Err == nil:
			if shown {
				fmt.Fprintln(t.stdout)
			}
			showHead(t.stdout, s)
			showTree(t.stdout, m, depth, a.Set().GroupDomains(), a.Set().Windows())
			if err := t.showTicks(ctx, a, m); err != nil {
				return t.fail(err)
			}
			if err := cmp.Or(t.showGroups(ctx, a, s, m), t.showBuckets(ctx, a, s, m)); err != nil {
				return t.fail(err)
			}
			shown = true
		case s.source == nil && s.agentRow(view) != nil: // defined in a file that only the agent reads
		default:
			exit = commandline.ExitFailure
			t.showBroken(s, m.Err)
			if s.source == nil || view == nil { // otherwise printServed lists the operands
				t.showSimilar(ctx, a, s)
			}
		}
		r := report{t.stdout, a.collector}
		if err := r.printServed(ctx, a, view, s); err != nil {
			exit = t.fail(err)
		}
	}
	return exit
}

// showHead prints the expression and its place.
func showHead(w io.Writer, s subject) {
	if s.source == nil {
		fmt.Fprintf(w, "%s\n\n", printable.Line(s.text))
		return
	}
	fmt.Fprintf(w, "%s = %s\n    defined in %s\n", s.def.Name, printable.Line(s.def.Text), s.source.Pos)
	if s.def.Labels != nil {
		fmt.Fprintf(w, "    labels %s\n", *s.def.Labels)
	}
	fmt.Fprintln(w)
}

// maxDepth is the number of levels below an expression that explain prints at most.
const maxDepth = 64

// showTree prints the tree of a metric as a table, with a line for each part of the expression down to depth.
func showTree(
	w io.Writer, m *derived.Metric, depth int, groups map[pdu.InDom]derived.GroupDomain, windows []*derived.Window,
) {
	rows := [][]string{{"expression", "type", "semantics", "units", "indom", "conversion"}}
	stems := make([]string, depth+1) // by level: "│  " while there are operands to come
	for l := range m.Lines {
		if l.Depth > depth {
			continue
		}
		stems[l.Depth] = map[bool]string{false: "│  ", true: "   "}[l.Last]
		indom := l.InDom.String()
		if l.InDom == pdu.NoInDom {
			indom = "singular"
		}
		if of, ok := groups[l.InDom]; ok { // only the agent assigns its number
			indom = groupsText(of, groups)
		}
		rows = append(rows, []string{
			branch(stems[:l.Depth], l.Last) + lineLabel(l), l.Type.String(), l.Sem.String(),
			cmp.Or(l.Units.String(), "none"),
			indom, conversionText(l.Conversion, l.Offset),
		})
		if l.Depth == depth && len(l.Kids) > 0 {
			rows = append(rows, []string{branch(stems, true) + "...", "", "", "", "", ""})
		}
	}
	printTable(w, rows)
	if n := m.Needs().History; n > 0 {
		fmt.Fprintf(w, "\nA value needs %s before it.\n", plural.Of(n, "sample"))
	}
	showWindows(w, m, windows)
}

// showWindows prints how often functions over time are sampled, and how many ticks they keep.
func showWindows(w io.Writer, m *derived.Metric, windows []*derived.Window) {
	if len(m.Needs().Windows) == 0 {
		return
	}
	fmt.Fprintln(w)
	divides := false
	for _, i := range m.Needs().Windows {
		of := windows[i]
		divides = divides || of.Needs().Divides
		if of.PerClient() {
			fmt.Fprintf(w, "%s since the client's own last fetch: sampled every %s while a client fetches it, otherwise less "+
				"often; the agent keeps the ticks since the oldest last fetch of a client, at most %d ticks or %d values.\n",
				of.Func, timeText(of.Every), window.MaxPerClientTicks, window.MaxPerClientValues)
			continue
		}
		name := fmt.Sprintf("%s over %s", of.Func, timeText(time.Duration(of.Span)*of.Every))
		if of.Func == syntax.Latch {
			name = of.Func.String()
		}
		retained := plural.Of(int(of.Span), "tick")
		if of.Desc.InDom != pdu.NoInDom {
			retained += " with a value of each instance"
		}
		fmt.Fprintf(w, "%s: always sampled every %s; the agent keeps %s.\n", name, timeText(of.Every), retained)
	}
	if divides {
		fmt.Fprintln(w, "Inside functions over time 0 / 0 is no value.")
	}
}

// timeText formats a time without zeros at the end: "1h", "1m30s".
func timeText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(text, zero); ok {
			text = short + zero[:1]
		}
	}
	return text
}

// groupsText describes a domain of groups.
func groupsText(of derived.GroupDomain, groups map[pdu.InDom]derived.GroupDomain) string {
	text := of.Of.String()
	if below, ok := groups[of.Of]; ok {
		text = groupsText(below, groups)
	}
	return text + " by " + of.Label
}

// shownGroups is the number of groups of one key that are shown.
const shownGroups = 20

// showGroups prints the present groups of a metric.
func (t *invocation) showGroups(ctx context.Context, a *query, s subject, m *derived.Metric) error {
	defs := definitions.WithUsed(a.named, s.def)
	var names, clauses []string
	for l := range m.Lines {
		call, ok := l.Expr.(*syntax.Call)
		if !ok || call.By == nil || slices.Contains(clauses, call.By.String()) {
			continue
		}
		if leaf := l.Kids[0].Leaf(); leaf != nil {
			each := &syntax.Call{Func: syntax.Count, Args: []syntax.Expr{leaf}, By: call.By}
			all := &syntax.Call{Func: syntax.Count, Args: []syntax.Expr{leaf}}
			for _, e := range []syntax.Expr{each, all} {
				names = append(names, fmt.Sprintf("(groups %d)", len(names)))
				d := &derived.Definition{Name: names[len(names)-1], Text: e.String(), Expr: e}
				defs = append(defs, served.Definition{Definition: d})
			}
			clauses = append(clauses, call.By.String())
		}
	}
	if len(clauses) == 0 {
		return nil
	}
	session, metrics, err := a.collector.Sample(ctx, defs, a.language, names...)
	if err != nil {
		return err
	}
	for i, clause := range clauses {
		each, all := metrics[2*i], metrics[2*i+1]
		if each == nil || all == nil {
			continue
		}
		fmt.Fprintln(t.stdout)
		t.showGroupsBy(clause, session, each, session.Value(all))
	}
	return nil
}

// showGroupsBy prints the groups of one key, with the number of their instances.
func (t *invocation) showGroupsBy(clause string, session *session.Session, each *derived.Metric, all *derived.Vector) {
	v := session.Value(each)
	if v.Code < 0 {
		fmt.Fprintf(t.stdout, "%s: %v\n", printable.Line(clause), v.Code)
		return
	}
	members := uint64(0)
	for _, n := range v.Bits {
		members += n
	}
	total := members
	if all.Len() > 0 {
		total = all.Bits[0]
	}
	when := "now"
	if len(t.archive.Paths) > 0 {
		when = "at " + session.Time().UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(t.stdout, "%s %s: %s, %s", printable.Line(clause), when, plural.Of(v.Len(), "group"),
		plural.Of(int(total), "instance"))
	if members < total {
		fmt.Fprintf(t.stdout, ", %d of them in no group", total-members)
	}
	fmt.Fprintln(t.stdout)
	for i, n := range v.Bits[:min(len(v.Bits), shownGroups)] {
		name, _ := session.InstanceName(each.Desc.InDom, v.At(i))
		fmt.Fprintf(t.stdout, "    %q of %d\n", name, n)
	}
	if rest := v.Len() - shownGroups; rest > 0 {
		fmt.Fprintf(t.stdout, "    and %d more\n", rest)
	}
}

// showBuckets prints how the present instances of metrics tell the bounds of their buckets.
func (t *invocation) showBuckets(ctx context.Context, a *query, s subject, m *derived.Metric) error {
	defs := definitions.WithUsed(a.named, s.def)
	var names []string
	for l := range m.Lines {
		if !syntax.Is(l.Expr, syntax.PercentileBucket, syntax.ShareBucket) {
			continue
		}
		if leaf := l.Kids[0].Leaf(); leaf != nil && !slices.Contains(names, "buckets of "+leaf.Name) {
			values := &syntax.Call{Func: syntax.Instant, Args: []syntax.Expr{leaf}}
			e := &syntax.Call{Func: syntax.ShareBucket, Args: []syntax.Expr{values, &syntax.Number{Text: "0"}}}
			names = append(names, "buckets of "+leaf.Name)
			d := &derived.Definition{Name: names[len(names)-1], Text: e.String(), Expr: e}
			defs = append(defs, served.Definition{Definition: d})
		}
	}
	if len(names) == 0 {
		return nil
	}
	session, metrics, err := a.collector.Sample(ctx, defs, a.language, names...)
	if err != nil {
		return err
	}
	for i, of := range metrics {
		if of != nil {
			insts, table := session.Instances(of.Tree.Kids[0].InDom)
			fmt.Fprintf(t.stdout, "\n%s: %s\n", names[i], boundsText(table, insts.IDs()))
		}
	}
	return nil
}

// boundsText returns how many instances tell their bounds in each form.
func boundsText(names *derived.NameTable, ids []pdu.Inst) string {
	of := map[derived.BoundForm][]pdu.Inst{}
	for _, id := range ids {
		form := derived.BoundOf(names, id)
		of[form] = append(of[form], id)
	}
	var texts []string
	for _, form := range slices.Sorted(maps.Keys(of)) {
		switch n := len(of[form]); {
		case form.Cumulative():
			texts = append(texts, fmt.Sprintf("%d by %s, cumulative", n, form))
		case form != derived.NoBound:
			texts = append(texts, fmt.Sprintf("%d by %s, not cumulative", n, form))
		default:
			first, _ := names.Name(of[form][0])
			texts = append(texts, fmt.Sprintf("%d without a bound, such as %q", n, first))
		}
	}
	return cmp.Or(strings.Join(texts, "; "), "no instances")
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
