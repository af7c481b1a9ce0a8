package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
)

// rowOf returns what the agent says of a subject, nil if the agent does not have it.
func (e *explanation) rowOf(s subject) collector.DefinitionRow {
	if e.view == nil {
		return nil
	}
	return e.view.Rows[s.name()]
}

// unread returns why the agent could not read the file of a subject, "" if it could, or if the file is not known.
func (e *explanation) unread(s subject) string {
	if file := s.file(); file != "" {
		return e.view.Unread(definitions.AbsolutePath(file))
	}
	return ""
}

// factColumn is the column in which line prints texts.
const factColumn = 20

// line prints lines below a heading, which is beside the first one.
func (e *explanation) line(head, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(e.stdout, strings.TrimRight(fmt.Sprintf("%-*s%s", factColumn, "    "+head, line), " "))
		head = ""
	}
}

// showServed prints how the agent serves a definition, and what it lacks.
func (e *explanation) showServed(ctx context.Context, s subject) error {
	row := e.rowOf(s)
	if e.view == nil || row == nil && s.source == nil { // an expression
		return nil
	}
	fmt.Fprintln(e.stdout)
	unread := e.unread(s)
	if row == nil {
		why := "it reads other files, or has not read this one yet."
		if unread != "" {
			why = "it could not read the file: " + unread
		}
		fmt.Fprintln(e.stdout, s.name()+" is not in the agent: "+why)
		return e.showOperands(ctx, s)
	}
	fmt.Fprintln(e.stdout, s.name()+" in the agent:")
	state, metric := row.Text("state"), derived.FullName(s.name())
	e.line("state", commandline.Wrap(state+": "+stateMeaning(state, unread != ""), e.width-factColumn, 0))
	e.line("metric", metric+", "+row.Text("pmid"))
	values, err := e.collector.Values(ctx, metric) // as any client does
	if err != nil {
		return err
	}
	e.line("values now", values[0].CountText())
	if unread != "" {
		e.line("unread", unread)
	}
	e.showRow(row, s)
	if s.source != nil {
		return e.showOperands(ctx, s)
	}
	def, fault := derived.Parse(s.name(), row.Text("expression"))
	if fault != nil { // it is wrong, or not shown
		return nil
	}
	return e.showMetrics(ctx, definitions.ForeignMetrics([]served.Definition{{Definition: def}}))
}

// showRow prints the rest of what the agent says of a definition.
func (e *explanation) showRow(row collector.DefinitionRow, s subject) {
	if problem := row.Text("error"); problem != "" {
		e.line("error", problem)
	}
	expression := row.Text("expression")
	if s.source != nil && expression != "" && expression != s.def.PublicText() {
		e.line("other text", expression)
	}
	if s.problem != nil && row.Text("state") == "kept" || s.source == nil {
		e.line("expression", expression)
	}
	if age, ok := row.Since("age"); ok {
		e.line("newest sample", age+" old")
	} else {
		e.line("newest sample", "none")
	}
	if evaluated, ok := row.Since("evaluated"); ok {
		e.line("last computed", evaluated+" ago: "+plural.Of(int(row["values"].Bits), "value"))
	} else {
		e.line("last computed", "never: no client has fetched it, or only errors")
	}
}

// showOperands prints the metrics that a definition uses, directly or not, with the number of their present values, and
// where in its expression values end.
func (e *explanation) showOperands(ctx context.Context, s subject) error {
	if err := e.showMetrics(ctx, definitions.ForeignMetrics(e.used(s))); err != nil {
		return err
	}
	return e.showParts(ctx, s)
}

// showMetrics prints the names of operands with the number of their present values.
func (e *explanation) showMetrics(ctx context.Context, names []string) error {
	operands, err := e.collector.Values(ctx, names...)
	if err != nil {
		return err
	}
	head, width := "operands", 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		text := operands[i].CountText()
		if row := e.view.Rows[derived.ShortName(name)]; operands[i].LookupCode < 0 && row != nil {
			text = row.Text("state") + ": " + stateMeaning(row.Text("state"), false)
		} else if operands[i].LookupCode < 0 {
			text = "there is no such metric on this host"
			if meant := e.collector.Similar(ctx, name); meant != "" {
				text += "; did you mean " + meant + "?"
			}
		}
		e.line(head, fmt.Sprintf("%-*s  %s", width, name, text))
		head = ""
	}
	return nil
}

// maxParts is the number of parts of an expression that are evaluated.
const maxParts = 200

// showParts evaluates the parts of an expression that need only one sample. It prints parts without values whose
// operands have values, and parts with infinite values, which the agent leaves out, whose operands are finite. These
// are the places where an author has to look.
func (e *explanation) showParts(ctx context.Context, s subject) error {
	parts := s.def.Parts(maxParts)
	probes := make([]*derived.Definition, len(parts))
	for i, part := range parts {
		probes[i] = part.Definition
	}
	session, metrics, err := e.sample(ctx, s, probes)
	if err != nil {
		return err
	}
	has := func(i int) bool { return metrics[i] != nil && session.Value(metrics[i]).Len() > 0 }
	infinite := func(i int) bool { return metrics[i] != nil && !session.Value(metrics[i]).Finite() }
	ends := func(i int) bool {
		operands := parts[i].Operands
		return metrics[i] != nil && !has(i) && len(operands) > 0 &&
			!slices.ContainsFunc(operands, func(k int) bool { return !has(k) })
	}
	turnsInfinite := func(i int) bool { return infinite(i) && !slices.ContainsFunc(parts[i].Operands, infinite) }
	list := func(head string, listed func(i int) bool) {
		for i, part := range parts {
			if listed(i) {
				text := printable.Line(part.Expr.String())
				if why := session.Value(metrics[i]).Why; why != "" {
					text += ": " + why
				}
				e.line(head, text)
				head = ""
			}
		}
	}
	list("values end at", ends)
	list("not finite", turnsInfinite)
	return nil
}

// stateMeaning explains the state of a definition. unread means that the agent could not read its file.
func stateMeaning(state string, unread bool) string {
	switch {
	case unread && (state == "bound" || state == "kept"):
		return "its file cannot be read; the earlier definition is still served"
	case unread:
		return "its file cannot be read, and its earlier definition is not served"
	}
	return cmp.Or(map[string]string{
		"bound":   "it is served",
		"kept":    "the file has an error now; the earlier definition is still served",
		"unbound": "a metric that it uses does not exist on this host yet",
		"failed":  "it is wrong",
		"waiting": "the metrics that it uses have not been looked up yet",
	}[state], "not a state that this version knows")
}
