package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/plural"
	"pmdaderived/pdu"
)

// agentsView is what the agent that a pmcd has says of its definitions.
type agentsView struct {
	rows   map[string]row    // by the name of the definition
	unread map[string]string // why files and directories were not read, or not to their end, by path
}

// row is a definition as the agent has it: its values of derived.control.definition, by the rest of their names.
type row map[string]pdu.Value

func (r row) text(column string) string { return stringOf(r[column]) }

// since is a time to the millisecond; false if there is none.
func (r row) since(column string) (string, bool) {
	v, ok := r[column]
	passed := time.Duration(math.Float64frombits(v.Bits) * float64(time.Millisecond))
	return passed.Round(time.Millisecond).String(), ok
}

// served asks the agent for its definitions; nil if pmcd has no agent, or it is an archive.
func (c *collector) served(ctx context.Context) (*agentsView, error) {
	if c.played != nil {
		return nil, nil
	}
	columns := []string{
		"definition.state", "definition.error", "definition.expression", "definition.pmid", "definition.age",
		"definition.evaluated", "definition.values", "file.error",
	}
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = derived.Root + ".control." + column
	}
	all, err := c.fetch(ctx, names...)
	if err != nil || all[0].absent < 0 {
		return nil, err
	}
	definitions, err := c.names(ctx, all[0].id)
	if err != nil {
		return nil, err
	}
	v := &agentsView{rows: make(map[string]row, len(definitions)), unread: map[string]string{}}
	for _, name := range definitions {
		v.rows[name] = row{}
	}
	last := len(all) - 1
	for i, column := range all[:last] {
		for _, value := range column.values {
			if row := v.rows[definitions[value.Inst]]; row != nil {
				row[strings.TrimPrefix(columns[i], "definition.")] = value
			}
		}
	}
	if len(all[last].values) == 0 {
		return v, nil
	}
	files, err := c.names(ctx, all[last].id)
	for _, value := range all[last].values {
		if text := stringOf(value); text != "" {
			v.unread[files[value.Inst]] = text
		}
	}
	return v, err
}

func stringOf(v pdu.Value) string { return strings.TrimRight(string(v.Bytes), "\x00") }

// reason is why the agent could not read a file, or a directory that it is in; empty if it could, or does not try.
func (v *agentsView) reason(file string) string {
	for path := absolute(file); ; path = filepath.Dir(path) {
		if text := v.unread[path]; text != "" {
			return text
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
}

// row is what the agent says of a subject, nil if it does not have it.
func (v *agentsView) row(of subject) row {
	if v == nil {
		return nil
	}
	return v.rows[of.name()]
}

// report prints what a pmcd tells, in lines with a heading each.
type report struct {
	w         io.Writer
	collector *collector
}

func (r report) line(head, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(r.w, strings.TrimRight(fmt.Sprintf("    %-16s%s", head, line), " "))
		head = ""
	}
}

// served tells how a definition is served by the agent, and what it is that it lacks.
func (r report) served(ctx context.Context, a *asked, view *agentsView, subject subject) error {
	if view == nil {
		return nil
	}
	name, row := subject.name(), view.row(subject)
	if row == nil && subject.source == nil {
		return nil // an expression
	}
	fmt.Fprintln(r.w)
	if row == nil {
		why := "it reads other files, or has not read this one yet."
		if reason := view.reason(subject.source.Pos.File); reason != "" {
			why = "it could not read the file: " + reason
		}
		fmt.Fprintln(r.w, name+" is not in the agent: "+why)
		return r.operands(ctx, a, subject)
	}
	fmt.Fprintln(r.w, name+" in the agent:")
	unread := ""
	if file := subject.file(); file != "" {
		unread = view.reason(file)
	}
	state := row.text("state")
	r.line("state", state+": "+meaning(state, unread != ""))
	r.line("metric", derived.FullName(name)+", "+row.text("pmid"))
	now, err := r.collector.fetch(ctx, derived.FullName(name)) // as a client gets it
	if err != nil {
		return err
	}
	r.line("values now", now[0].amount())
	if unread != "" {
		r.line("unread", unread)
	}
	r.row(row, subject)
	if subject.source == nil {
		return nil
	}
	return r.operands(ctx, a, subject)
}

// row prints what else the agent says of a definition.
func (r report) row(row row, subject subject) {
	if problem := row.text("error"); problem != "" {
		r.line("error", problem)
	}
	expression := row.text("expression")
	if subject.source != nil && expression != "" && expression != subject.def.Shown() {
		r.line("other text", expression)
	}
	if subject.broken != nil && row.text("state") == "kept" {
		r.line("expression", expression)
	}
	if age, ok := row.since("age"); ok {
		r.line("newest sample", age+" old")
	} else {
		r.line("newest sample", "none")
	}
	if evaluated, ok := row.since("evaluated"); ok {
		r.line("last computed", evaluated+" ago: "+plural.Of(int(row["values"].Bits), "value"))
	} else {
		r.line("last computed", "never: no client has fetched it")
	}
}

// amount says how many values there are.
func (f *fetched) amount() string {
	switch {
	case f.code < 0:
		return "none: " + f.code.Error()
	case len(f.values) == 0:
		return "none"
	}
	return plural.Of(len(f.values), "value")
}

// operands prints which metrics a definition uses, directly or not, with how many values they have now, and where in
// its expression values come to an end.
func (r report) operands(ctx context.Context, a *asked, subject subject) error {
	defs := withUsed(a.named, subject.def)
	names := foreign(defs)
	all, err := r.collector.fetch(ctx, names...)
	if err != nil {
		return err
	}
	head, width := "operands", 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		text := all[i].amount()
		if all[i].absent < 0 {
			text = "there is no such metric on this host"
			if meant := r.collector.similar(ctx, name); meant != "" {
				text += "; did you mean " + meant + "?"
			}
		}
		r.line(head, fmt.Sprintf("%-*s  %s", width, name, text))
		head = ""
	}
	return r.parts(ctx, a, subject, defs)
}

// maxParts is how many parts of an expression are looked at.
const maxParts = 200

// parts evaluates the parts of an expression that need one sample only, and prints those that have no values although
// their operands do, and those that have values that are not finite, which the agent leaves out, although their operands have none.
func (r report) parts(ctx context.Context, a *asked, subject subject, defs []served.Definition) error {
	parts := subject.def.Parts(maxParts)
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
		defs = append(defs, served.Definition{Definition: p.Definition})
	}
	session, metrics, err := r.collector.sample(ctx, defs, a.language, names...)
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
				r.line(head, oneLine(p.Expr.String()))
				head = ""
			}
		}
	}
	list("values end at", ends)
	list("not finite", turnsInfinite)
	return nil
}

// file is the file that defines it, as far as it is known here; empty if it is not.
func (s subject) file() string {
	switch {
	case s.source != nil:
		return s.source.Pos.File
	case s.broken != nil:
		return s.broken.Pos.File
	}
	return ""
}

// name is that of the definition that a subject is, or would be.
func (s subject) name() string {
	if s.source == nil {
		return derived.ShortName(s.given)
	}
	return s.def.Name
}

// meaning says what a state of a definition means, whose file the agent may be unable to read.
func meaning(state string, unread bool) string {
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
