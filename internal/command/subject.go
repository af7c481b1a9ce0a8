package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// subject is an operand of explain and eval: the name of a definition, or an expression.
type subject struct {
	text      string // as written
	def       served.Definition
	source    *config.Definition // nil: an expression
	problem   *config.Problem    // why the definition could not be read; then def is empty
	malformed *config.Problem    // of a line that may have been meant to define it
}

// query has the operands of explain and eval, bound to the metrics of a collector.
type query struct {
	*session.Session
	collector *collector.Collector
	subjects  []subject
	language  derived.Language
	named     map[string]served.Definition // all definitions of the files
}

// openQuery reads the command line of explain and eval, finds or parses the subjects, and binds them. It returns nil,
// and has printed why, if that is not possible.
func (t *invocation) openQuery(ctx context.Context, args []string) (a *query, exit int) {
	t.pathsOption()
	t.pmcdOption()
	t.timeOptions()
	operands, exit, done := t.parse(args)
	switch {
	case done:
		return nil, exit
	case len(operands) == 0 && t.paths == nil:
		return nil, t.usageError(errors.New("name a metric, or give an expression, or definitions with -c"))
	}
	read, err := t.readPaths(false)
	if err != nil {
		return nil, t.fail(err)
	}
	if operands = withoutSubtrees(operands, &read); len(operands) == 0 {
		return nil, t.fail(errors.New("the files of -c define no metric"))
	}
	a = &query{language: read.Language, named: read.ByName()}
	inFiles := read.InFiles()
	var defs []served.Definition
	wrong := false
	for _, operand := range operands {
		s := subject{text: operand}
		name := derived.ShortName(operand)
		if _, ok := inFiles[name]; !ok && inFiles[operand] != nil { // served as derived.derived.…
			name = operand
		}
		switch broken := read.ErrorOf(name); {
		case inFiles[name] != nil:
			s.def, s.source = a.named[name], inFiles[name]
		case broken != nil:
			fmt.Fprintln(t.stderr, broken)
			t.showHint(broken)
			s.problem = broken
		default:
			s.malformed = read.MalformedLine(operand)
			// No metric has a name with parentheses, and no expression can use it.
			parsed, fault := derived.Parse("("+operand+")", operand)
			if fault != nil {
				t.showFault(operand, fault)
				t.showMalformed(s)
				wrong = true
			}
			s.def.Definition = parsed
		}
		a.subjects = append(a.subjects, s)
		if s.problem == nil {
			defs = append(defs, s.def)
		}
	}
	if wrong {
		return nil, commandline.ExitFailure
	}
	defs = definitions.WithUsed(a.named, defs...)
	if a.collector = collector.Nothing(); t.needsMetrics(a, defs) {
		if a.collector, err = t.connect(ctx); err != nil {
			return nil, t.fail(err)
		}
	}
	if a.Session, err = session.New(ctx, a.collector.Metrics, defs, a.language); err != nil {
		a.collector.Close()
		return nil, t.fail(err)
	}
	return a, commandline.ExitOK
}

// withoutSubtrees replaces each operand that is a node of the name space by the definitions below it, as pminfo does.
// Without operands it returns all definitions.
func withoutSubtrees(operands []string, read *definitions.Parsed) []string {
	var names []string // those with errors are last
	for _, d := range read.All {
		names = append(names, d.Name)
	}
	for _, p := range read.Problems {
		if p.Severity == config.Error && p.Name != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(operands) == 0 {
		return names
	}
	var all []string
	for _, operand := range operands {
		node, found := derived.ShortName(operand), len(all)
		if slices.Contains(names, node) || slices.Contains(names, operand) {
			all = append(all, operand)
			continue
		}
		for _, name := range names {
			if pdu.AtOrBelow(name, node) {
				all = append(all, strings.TrimSuffix(operand, node)+name)
			}
		}
		if len(all) == found { // a definition, an expression, or a metric of the collector
			all = append(all, operand)
		}
	}
	return all
}

// needsMetrics reports whether a collector is needed: for an archive, for operands, for the instances of constants, and
// because explain asks the agent about definitions. A name without "derived." may be that of a metric.
func (t *invocation) needsMetrics(a *query, defs []served.Definition) bool {
	if len(t.archive.Paths) > 0 || t.Name == "explain" &&
		slices.ContainsFunc(a.subjects, func(s subject) bool { return s.file() != "" }) {
		return true
	}
	set := served.Bind(served.Pointers(defs), derived.CatalogMap{}, a.language)
	for _, d := range defs {
		for name := range d.Names {
			if short := derived.ShortName(name); short == name || a.named[short].Definition == nil {
				return true
			}
		}
		m, _ := set.Lookup(d.Name)
		for l := range m.Lines {
			if l.InDom != pdu.NoInDom {
				return true
			}
		}
	}
	return false
}

// metric returns the bound metric of a subject, nil if the subject could not be read.
func (a *query) metric(s subject) *derived.Metric {
	if s.problem != nil {
		return nil
	}
	m, _ := a.Set().Lookup(s.def.Name)
	return m
}

// showMalformed prints the problem of a line that may have been meant to define the subject.
func (t *invocation) showMalformed(s subject) {
	if s.malformed != nil {
		t.complain(fmt.Errorf("this line was probably meant to define %s:\n%w", s.text, s.malformed))
	}
}

// showFault prints an error in an expression of the command line.
func (t *invocation) showFault(text string, fault error) {
	text = printable.Line(text)
	t.complain(fmt.Errorf("%w\n%s\n%s", fault, text,
		config.Caret(text, min(config.Offset(fault), max(0, len(text)-1)))))
	t.showHint(fault)
}

// showHint prints the probable cause of a syntax error.
func (t *invocation) showHint(fault error) {
	if err, ok := errors.AsType[*syntax.Error](fault); ok && err.Hint.Text != "" {
		t.complain(errors.New(err.Hint.Text))
	}
}

// showBroken prints why a subject cannot be computed.
func (t *invocation) showBroken(s subject, fault *derived.Error) {
	if s.source != nil {
		fmt.Fprintln(t.stderr, definitions.ProblemOf(s.source, served.Fault{
			Definition: s.def, Offset: fault.Offset(), Message: fault.Error(), Err: fault,
		}))
		return
	}
	t.showFault(s.text, &nameless{fault})
	t.showMalformed(s)
}

// nameless is the error of an expression without a name.
type nameless struct{ fault *derived.Error }

func (e *nameless) Error() string { return "semantic error: " + e.fault.Reason() }
func (e *nameless) Offset() int   { return e.fault.Offset() }

// showSimilar prints similar names for metrics that the subject uses and that do not exist, or how to name the file
// with the definition.
func (t *invocation) showSimilar(ctx context.Context, a *query, s subject) {
	for _, name := range definitions.MissingMetrics(definitions.WithUsed(a.named, s.def), a.Catalog()) {
		if meant := a.collector.Similar(ctx, name); meant != "" {
			t.complain(fmt.Errorf("%s does not exist %s; did you mean %s?", name, a.collector.Where(), meant))
		} else if name == s.text && s.malformed == nil && a.language.Masked[derived.ShortName(name)] == "" {
			t.complain(fmt.Errorf("no file that was read defines %s: name its file with -c", derived.ShortName(name)))
		}
	}
}
