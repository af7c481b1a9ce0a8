package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// inService is what the agent that a pmcd has says of its definitions.
type inService struct {
	rows   map[string]*served // by the name of the definition
	unread map[string]string  // why files and directories were not read, or not to their end, by path
}

// served is a definition as the agent has it.
type served struct {
	state, problem, expression, pmid string
	age, evaluated                   time.Duration // -1: none
	values                           uint64        // of the last evaluation
}

// definitionMetrics are those that explain reads, in the order of their use in serving.
const definitionMetrics = agent.Root + ".control.definition."

// serving asks the agent for its definitions; nil if pmcd has no agent.
func serving(ctx context.Context, conn *pmapi.Conn) (*inService, error) {
	columns := []string{"state", "error", "expression", "pmid", "age", "evaluated", "values"}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = definitionMetrics + c
	}
	found, err := conn.LookupNames(ctx, names)
	if err != nil || found[0].Code < 0 {
		return nil, err
	}
	desc, err := conn.Desc(ctx, found[0].PMID)
	if err != nil {
		return nil, err
	}
	instances, err := conn.Instances(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	s := &inService{rows: make(map[string]*served, len(instances))}
	byInst := make(map[pdu.Inst]*served, len(instances))
	for _, i := range instances {
		row := &served{age: -1, evaluated: -1}
		s.rows[i.Name], byInst[i.ID] = row, row
	}
	ids := make([]pdu.PMID, len(found))
	for i, f := range found {
		ids[i] = f.PMID
	}
	res, err := conn.Fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, set := range res.Sets {
		for _, v := range set.Values {
			if row := byInst[v.Inst]; row != nil {
				row.set(columns[i], v)
			}
		}
	}
	return s, s.askFiles(ctx, conn)
}

// askFiles asks the agent which files it could not read.
func (s *inService) askFiles(ctx context.Context, conn *pmapi.Conn) error {
	found, err := conn.LookupNames(ctx, []string{agent.Root + ".control.file.error"})
	if err != nil || found[0].Code < 0 {
		return err
	}
	desc, err := conn.Desc(ctx, found[0].PMID)
	if err != nil {
		return err
	}
	instances, err := conn.Instances(ctx, desc.InDom)
	if err != nil {
		return err
	}
	res, err := conn.Fetch(ctx, []pdu.PMID{found[0].PMID})
	if err != nil {
		return err
	}
	paths := make(map[pdu.Inst]string, len(instances))
	for _, i := range instances {
		paths[i.ID] = i.Name
	}
	s.unread = map[string]string{}
	for _, v := range res.Sets[0].Values {
		if text := strings.TrimRight(string(v.Bytes), "\x00"); text != "" {
			s.unread[paths[v.Inst]] = text
		}
	}
	return nil
}

// reason is why the agent could not read a file, or a directory that it is in; empty if it could, or does not try.
func (s *inService) reason(file string) string {
	for path := absolute(file); ; path = filepath.Dir(path) {
		if text := s.unread[path]; text != "" {
			return text
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
}

func (s *served) set(column string, v pdu.Value) {
	text := func() string { return strings.TrimRight(string(v.Bytes), "\x00") }
	millisec := func() time.Duration { return time.Duration(math.Float64frombits(v.Bits) * float64(time.Millisecond)) }
	switch column {
	case "state":
		s.state = text()
	case "error":
		s.problem = text()
	case "expression":
		s.expression = text()
	case "pmid":
		s.pmid = text()
	case "age":
		s.age = millisec()
	case "evaluated":
		s.evaluated = millisec()
	case "values":
		s.values = v.Bits
	}
}

// showService tells how a definition is served by the agent, and what it is that it lacks.
func (t *tool) showService(ctx context.Context, conn *pmapi.Conn, service *inService, subject subject, all []agent.Definition) error {
	if service == nil {
		return nil
	}
	name, row := subject.name(), service.row(subject)
	if row == nil && subject.source == nil {
		return nil // an expression
	}
	w := &report{w: t.stdout}
	fmt.Fprintln(t.stdout)
	if row == nil {
		why := "it reads other files, or has not read this one yet."
		if reason := service.reason(subject.source.Pos.File); reason != "" {
			why = "it could not read the file: " + reason
		}
		fmt.Fprintln(t.stdout, name+" is not in the agent: "+why)
		return t.showOperands(ctx, conn, w, subject, all)
	}
	fmt.Fprintln(t.stdout, name+" in the agent:")
	unread := ""
	if file := subject.file(); file != "" {
		unread = service.reason(file)
	}
	w.line("state", row.state+": "+meaning(row.state, unread != ""))
	w.line("metric", agent.Root+"."+name+", "+row.pmid)
	if err := t.showValue(ctx, conn, w, name); err != nil {
		return err
	}
	if unread != "" {
		w.line("unread", unread)
	}
	row.show(w, subject)
	if subject.source == nil {
		return nil
	}
	return t.showOperands(ctx, conn, w, subject, all)
}

// row is what the agent says of a subject, nil if it does not have it.
func (s *inService) row(of subject) *served {
	if s == nil {
		return nil
	}
	return s.rows[of.name()]
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
		return short(s.given)
	}
	return s.def.Name
}

// meaning says what a state of a definition means, whose file the agent may be unable to read.
func meaning(state string, unread bool) string {
	switch {
	case unread && (state == "bound" || state == "kept"):
		return "it is served as it was before its file could not be read"
	case unread:
		return "its file cannot be read, and what it said before is not served"
	}
	switch state {
	case "bound":
		return "it is served"
	case "kept":
		return "what the file says now is wrong, it is served as it was before"
	case "unbound":
		return "a metric that it uses does not exist on this host, so far"
	case "failed":
		return "it is wrong"
	case "waiting":
		return "the metrics that it uses have not been looked up yet"
	}
	return "unknown to this program"
}

// report prints lines with a heading each.
type report struct{ w io.Writer }

func (r *report) line(head, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(r.w, strings.TrimRight(fmt.Sprintf("    %-16s%s", head, line), " "))
		head = ""
	}
}

// show prints what else the agent says of a definition.
func (s *served) show(w *report, subject subject) {
	if s.problem != "" {
		w.line("error", s.problem)
	}
	if subject.source != nil && s.expression != "" && s.expression != strings.TrimSpace(subject.def.Text) {
		w.line("other text", s.expression)
	}
	if subject.broken != nil && s.state == "kept" {
		w.line("expression", s.expression)
	}
	switch {
	case s.age >= 0:
		w.line("newest sample", s.age.Round(time.Millisecond).String()+" old")
	default:
		w.line("newest sample", "none")
	}
	if s.evaluated >= 0 {
		w.line("last computed", s.evaluated.Round(time.Millisecond).String()+" ago: "+plural(int(s.values), "value"))
	} else {
		w.line("last computed", "never, for nobody has asked")
	}
}

// showValue prints what a client gets now.
func (t *tool) showValue(ctx context.Context, conn *pmapi.Conn, w *report, name string) error {
	found, err := conn.LookupNames(ctx, []string{agent.Root + "." + name})
	if err != nil {
		return err
	}
	if found[0].Code < 0 {
		w.line("values now", "none: "+found[0].Code.Error())
		return nil
	}
	res, err := conn.Fetch(ctx, []pdu.PMID{found[0].PMID})
	if err != nil {
		return err
	}
	w.line("values now", amount(res.Sets[0].Code, len(res.Sets[0].Values)))
	return nil
}

// amount says how many values there are.
func amount(code pdu.Code, values int) string {
	switch {
	case code < 0:
		return "none: " + code.Error()
	case values == 0:
		return "none"
	}
	return plural(values, "value")
}

// showOperands prints which metrics a definition uses, directly or not, with how many values they have now, and where in
// its expression values come to an end.
func (t *tool) showOperands(ctx context.Context, conn *pmapi.Conn, w *report, subject subject, all []agent.Definition) error {
	defs := usedBy(subject, all)
	names := foreign(defs)
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return err
	}
	var ids []pdu.PMID
	for _, f := range found {
		if f.Code == 0 {
			ids = append(ids, f.PMID)
		}
	}
	var amounts []string
	if len(ids) > 0 {
		res, err := conn.Fetch(ctx, ids)
		if err != nil {
			return err
		}
		for _, set := range res.Sets {
			amounts = append(amounts, amount(set.Code, len(set.Values)))
		}
	}
	suggester := newSuggester(conn)
	head, width := "operands", 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		var text string
		if found[i].Code == 0 {
			text, amounts = amounts[0], amounts[1:]
		} else {
			text = "there is no such metric on this host"
			if meant := suggester.of(ctx, name); meant != "" {
				text += ", but " + meant
			}
		}
		w.line(head, fmt.Sprintf("%-*s  %s", width, name, text))
		head = ""
	}
	return t.showEnd(ctx, conn, w, subject, defs)
}

// usedBy gives a definition and those that it uses.
func usedBy(subject subject, all []agent.Definition) []agent.Definition {
	byName := make(map[string]agent.Definition, len(all))
	for _, d := range all {
		byName[d.Name] = d
	}
	taken := map[string]bool{subject.def.Name: true}
	defs := []agent.Definition{subject.def}
	for next := 0; next < len(defs); next++ {
		for name := range defs[next].Names {
			if d, ok := byName[short(name)]; ok && !taken[d.Name] {
				taken[d.Name] = true
				defs = append(defs, d)
			}
		}
	}
	return defs
}

// maxParts is how many parts of an expression are looked at.
const maxParts = 200

// showEnd evaluates the parts of an expression that need one sample only, and prints those that have no values although
// their operands do, and those that have values that are not finite, which the agent leaves out, although their operands have none.
func (t *tool) showEnd(ctx context.Context, conn *pmapi.Conn, w *report, subject subject, defs []agent.Definition) error {
	parts := subject.def.Parts(maxParts)
	for _, p := range parts {
		defs = append(defs, agent.Definition{Definition: p.Definition})
	}
	session, err := agent.NewSession(ctx, conn, defs, t.language)
	if err != nil {
		return err
	}
	metrics := make([]*derived.Metric, len(parts)) // nil: no value that could be had at once
	var watched []*derived.Metric
	for i, p := range parts {
		if m, ok := session.Set().Lookup(p.Name); ok && m.Err == nil && m.Needs().History == 0 {
			metrics[i] = m
			watched = append(watched, m)
		}
	}
	if len(watched) == 0 {
		return nil
	}
	session.Watch(watched...)
	if err := session.Sample(ctx, time.Now()); err != nil {
		return err
	}
	has := func(i int) bool { return metrics[i] != nil && session.Value(metrics[i]).Len() > 0 }
	head := "values end at"
	for i, p := range parts {
		if metrics[i] == nil || has(i) || len(p.Operands) == 0 || slices.ContainsFunc(p.Operands, func(k int) bool { return !has(k) }) {
			continue
		}
		w.line(head, oneLine(p.Expr.String()))
		head = ""
	}
	infinite := func(i int) bool { return metrics[i] != nil && !session.Value(metrics[i]).Finite() }
	head = "not finite"
	for i, p := range parts {
		if infinite(i) && !slices.ContainsFunc(p.Operands, infinite) {
			w.line(head, oneLine(p.Expr.String()))
			head = ""
		}
	}
	return nil
}
