package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
)

// agentRow returns what the agent says of a subject, nil if the agent does not have it.
func (s subject) agentRow(v *collector.AgentView) collector.DefinitionRow {
	if v == nil {
		return nil
	}
	return v.Rows[s.name()]
}

// report prints what a pmcd says of a subject, as lines with headings.
type report struct {
	w         io.Writer
	collector *collector.Collector
}

func (r report) line(head, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(r.w, strings.TrimRight(fmt.Sprintf("    %-16s%s", head, line), " "))
		head = ""
	}
}

// printServed prints how the agent serves a definition, and what it lacks.
func (r report) printServed(ctx context.Context, a *query, view *collector.AgentView, subject subject) error {
	if view == nil {
		return nil
	}
	name, row := subject.name(), subject.agentRow(view)
	if row == nil && subject.source == nil {
		return nil // an expression
	}
	fmt.Fprintln(r.w)
	if row == nil {
		why := "it reads other files, or has not read this one yet."
		if reason := view.Unread(definitions.AbsolutePath(subject.source.Pos.File)); reason != "" {
			why = "it could not read the file: " + reason
		}
		fmt.Fprintln(r.w, name+" is not in the agent: "+why)
		return r.printOperands(ctx, a, subject)
	}
	fmt.Fprintln(r.w, name+" in the agent:")
	unread := ""
	if file := subject.file(); file != "" {
		unread = view.Unread(definitions.AbsolutePath(file))
	}
	state := row.Text("state")
	r.line("state", state+": "+stateMeaning(state, unread != ""))
	r.line("metric", derived.FullName(name)+", "+row.Text("pmid"))
	now, err := r.collector.Values(ctx, derived.FullName(name)) // as any client does
	if err != nil {
		return err
	}
	r.line("values now", now[0].CountText())
	if unread != "" {
		r.line("unread", unread)
	}
	r.printRow(row, subject)
	if subject.source == nil {
		return nil
	}
	return r.printOperands(ctx, a, subject)
}

// printRow prints the rest of what the agent says of a definition.
func (r report) printRow(row collector.DefinitionRow, subject subject) {
	if problem := row.Text("error"); problem != "" {
		r.line("error", problem)
	}
	expression := row.Text("expression")
	if subject.source != nil && expression != "" && expression != subject.def.PublicText() {
		r.line("other text", expression)
	}
	if subject.problem != nil && row.Text("state") == "kept" {
		r.line("expression", expression)
	}
	if age, ok := row.Since("age"); ok {
		r.line("newest sample", age+" old")
	} else {
		r.line("newest sample", "none")
	}
	if evaluated, ok := row.Since("evaluated"); ok {
		r.line("last computed", evaluated+" ago: "+plural.Of(int(row["values"].Bits), "value"))
	} else {
		r.line("last computed", "never: no client has fetched it")
	}
}

// printOperands prints the metrics that a definition uses, directly or not, with the number of their present values,
// and where in its expression values end.
func (r report) printOperands(ctx context.Context, a *query, subject subject) error {
	defs := definitions.WithUsed(a.named, subject.def)
	names := definitions.ForeignMetrics(defs)
	all, err := r.collector.Values(ctx, names...)
	if err != nil {
		return err
	}
	head, width := "operands", 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		text := all[i].CountText()
		if all[i].LookupCode < 0 {
			text = "there is no such metric on this host"
			if meant := r.collector.Similar(ctx, name); meant != "" {
				text += "; did you mean " + meant + "?"
			}
		}
		r.line(head, fmt.Sprintf("%-*s  %s", width, name, text))
		head = ""
	}
	return r.printParts(ctx, a, subject, defs)
}

// maxParts is the number of parts of an expression that are evaluated.
const maxParts = 200

// printParts evaluates the parts of an expression that need only one sample. It prints parts without values whose
// operands have values, and parts with infinite values, which the agent leaves out, whose operands are finite.
func (r report) printParts(ctx context.Context, a *query, subject subject, defs []served.Definition) error {
	parts := subject.def.Parts(maxParts)
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
		defs = append(defs, served.Definition{Definition: p.Definition})
	}
	session, metrics, err := r.collector.Sample(ctx, defs, a.language, names...)
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
		for i, p := range parts {
			if listed(i) {
				r.line(head, printable.Line(p.Expr.String()))
				head = ""
			}
		}
	}
	list("values end at", ends)
	list("not finite", turnsInfinite)
	return nil
}

// file returns the file with the definition, "" if it is not known here.
func (s subject) file() string {
	switch {
	case s.source != nil:
		return s.source.Pos.File
	case s.problem != nil:
		return s.problem.Pos.File
	}
	return ""
}

// name returns the name of the definition that the subject is, or would be.
func (s subject) name() string {
	if s.source == nil {
		return derived.ShortName(s.text)
	}
	return s.def.Name
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
