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

// bindSubjects reads the command line of explain and eval, finds or parses the subjects, and binds them to the metrics
// of a collector. done means that the sub-command ends with this exit status, and that the reason has been printed.
func (r *run) bindSubjects(ctx context.Context, args []string) (exit int, done bool) {
	r.pathsOption()
	r.pmcdOption()
	r.timeOptions()
	operands, exit, done := r.parse(args)
	switch {
	case done:
		return exit, true
	case len(operands) == 0 && r.paths == nil:
		return r.usageError(errors.New("name a metric, or give an expression, or definitions with -c")), true
	}
	if err := r.readDefinitions(false); err != nil {
		return r.fail(err), true
	}
	if operands = withoutSubtrees(operands, &r.definitions); len(operands) == 0 {
		return r.fail(errors.New("the files of -c define no metric")), true
	}
	defs, ok := r.findSubjects(operands)
	if !ok {
		return commandline.ExitFailure, true
	}
	var err error
	if r.collector = collector.Nothing(); r.needsMetrics(defs) {
		if err = r.connect(ctx); err != nil {
			return r.fail(err), true
		}
	}
	if r.session, err = session.New(ctx, r.collector.Metrics, defs, r.definitions.Language); err != nil {
		return r.fail(err), true
	}
	return commandline.ExitOK, false
}

// findSubjects makes the operands subjects, and returns their definitions with those that they use. It prints mistakes.
// ok is false if an expression is wrong.
func (r *run) findSubjects(operands []string) (defs []served.Definition, ok bool) {
	r.named = r.definitions.ByName()
	inFiles := r.definitions.InFiles()
	ok = true
	for _, operand := range operands {
		s := subject{text: operand}
		name := derived.ShortName(operand)
		if _, found := inFiles[name]; !found && inFiles[operand] != nil { // served as derived.derived.…
			name = operand
		}
		switch broken := r.definitions.ErrorInPlaceOf(inFiles[name], name); {
		case broken != nil:
			fmt.Fprintln(r.stderr, broken)
			r.showHint(broken)
			s.problem = broken
		case inFiles[name] != nil:
			s.def, s.source = r.named[name], inFiles[name]
		default:
			s.malformed = r.definitions.MalformedLine(operand)
			// No metric has a name with parentheses, and no expression can use it.
			parsed, fault := derived.Parse("("+operand+")", operand)
			if fault != nil {
				r.showFault(operand, fault)
				r.showMalformed(s)
				ok = false
			}
			s.def.Definition = parsed
		}
		r.subjects = append(r.subjects, s)
		if s.problem == nil {
			defs = append(defs, s.def)
		}
	}
	if !ok {
		return nil, false
	}
	return definitions.WithUsed(r.named, defs...), true
}

// withoutSubtrees replaces each operand that is a node of the name space by the definitions below it, as pminfo does.
// Without operands it returns all definitions. Those of the context are not listed.
func withoutSubtrees(operands []string, read *definitions.Named) []string {
	var names []string // those with errors are last
	for _, d := range read.Own() {
		names = append(names, d.Name)
	}
	for _, p := range read.Problems {
		if p.Severity == config.Error && p.Name != "" && read.Has(p.Pos.File) && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(operands) == 0 {
		return names
	}
	var expanded []string
	for _, operand := range operands {
		node, before := derived.ShortName(operand), len(expanded)
		if slices.Contains(names, node) || slices.Contains(names, operand) {
			expanded = append(expanded, operand)
			continue
		}
		for _, name := range names {
			if pdu.AtOrBelow(name, node) {
				expanded = append(expanded, strings.TrimSuffix(operand, node)+name)
			}
		}
		if len(expanded) == before { // a definition, an expression, or a metric of the collector
			expanded = append(expanded, operand)
		}
	}
	return expanded
}

// needsMetrics reports whether a collector is needed: for an archive, for operands, for the instances of constants, and
// because explain asks the agent about definitions. A name without "derived." may be that of a metric.
func (r *run) needsMetrics(defs []served.Definition) bool {
	if len(r.archive.Paths) > 0 || r.Name == "explain" &&
		slices.ContainsFunc(r.subjects, func(s subject) bool { return s.file() != "" }) {
		return true
	}
	set := served.Bind(served.Pointers(defs), derived.CatalogMap{}, r.definitions.Language)
	for _, d := range defs {
		for name := range d.Names {
			if short := derived.ShortName(name); short == name || r.named[short].Definition == nil {
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

// used returns the definitions of a subject and of all that it uses.
func (r *run) used(s subject) []served.Definition { return definitions.WithUsed(r.named, s.def) }

// metric returns the bound metric of a subject, nil if the subject could not be read.
func (r *run) metric(s subject) *derived.Metric {
	if s.problem != nil {
		return nil
	}
	m, _ := r.session.Set().Lookup(s.def.Name)
	return m
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

// showMalformed prints the problem of a line that may have been meant to define the subject.
func (r *run) showMalformed(s subject) {
	if s.malformed != nil {
		r.complain(fmt.Errorf("this line was probably meant to define %s:\n%w", s.text, s.malformed))
	}
}

// showFault prints an error in an expression of the command line.
func (r *run) showFault(text string, fault error) {
	text = printable.Line(text)
	r.complain(fmt.Errorf("%w\n%s\n%s", fault, text,
		config.Caret(text, min(config.Offset(fault), max(0, len(text)-1)))))
	r.showHint(fault)
}

// showHint prints the advice that an error has.
func (r *run) showHint(fault error) {
	if err, ok := errors.AsType[*syntax.Error](fault); ok && err.Hint.Text != "" {
		r.complain(errors.New(err.Hint.Text))
	}
	if err, ok := errors.AsType[*derived.Error](fault); ok && err.Hint != "" {
		r.complain(errors.New(err.Hint))
	}
}

// showBroken prints why a subject cannot be computed.
func (r *run) showBroken(s subject, fault *derived.Error) {
	if s.source != nil {
		fmt.Fprintln(r.stderr, definitions.ProblemOf(s.source, served.Fault{
			Definition: s.def, Offset: fault.Offset(), Message: fault.Error(), Err: fault,
		}))
		r.showHint(fault)
		return
	}
	r.showFault(s.text, &nameless{fault})
	r.showMalformed(s)
}

// nameless is the error of an expression without a name.
type nameless struct{ fault *derived.Error }

func (e *nameless) Error() string { return "semantic error: " + e.fault.Reason() }
func (e *nameless) Offset() int   { return e.fault.Offset() }
func (e *nameless) Unwrap() error { return e.fault }

// showSimilar prints similar names for metrics that the subject uses and that do not exist, or how to name the file
// with the definition.
func (r *run) showSimilar(ctx context.Context, s subject) {
	for _, name := range definitions.MissingMetrics(r.used(s), r.session.Catalog()) {
		if meant := r.collector.Similar(ctx, name); meant != "" {
			r.complain(fmt.Errorf("%s does not exist %s; did you mean %s?", name, r.collector.Where(), meant))
		} else if name == s.text && s.malformed == nil && r.definitions.Language.Masked[derived.ShortName(name)] == "" {
			r.complain(fmt.Errorf("there is no metric %s %s; if it is a definition, name its file with -c",
				derived.ShortName(name), r.collector.Where()))
		}
	}
}
