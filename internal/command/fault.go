package command

import (
	"context"
	"errors"
	"fmt"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/served"
)

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

// showHint prints the probable cause of a syntax error.
func (r *run) showHint(fault error) {
	if err, ok := errors.AsType[*syntax.Error](fault); ok && err.Hint.Text != "" {
		r.complain(errors.New(err.Hint.Text))
	}
}

// showBroken prints why a subject cannot be computed.
func (r *run) showBroken(s subject, fault *derived.Error) {
	if s.source != nil {
		fmt.Fprintln(r.stderr, definitions.ProblemOf(s.source, served.Fault{
			Definition: s.def, Offset: fault.Offset(), Message: fault.Error(), Err: fault,
		}))
		return
	}
	r.showFault(s.text, &nameless{fault})
	r.showMalformed(s)
}

// nameless is the error of an expression without a name.
type nameless struct{ fault *derived.Error }

func (e *nameless) Error() string { return "semantic error: " + e.fault.Reason() }
func (e *nameless) Offset() int   { return e.fault.Offset() }

// showSimilar prints similar names for metrics that the subject uses and that do not exist, or how to name the file
// with the definition.
func (r *run) showSimilar(ctx context.Context, s subject) {
	for _, name := range definitions.MissingMetrics(r.used(s), r.session.Catalog()) {
		if meant := r.collector.Similar(ctx, name); meant != "" {
			r.complain(fmt.Errorf("%s does not exist %s; did you mean %s?", name, r.collector.Where(), meant))
		} else if name == s.text && s.malformed == nil && r.definitions.Language.Masked[derived.ShortName(name)] == "" {
			r.complain(fmt.Errorf("no file that was read defines %s: name its file with -c", derived.ShortName(name)))
		}
	}
}
