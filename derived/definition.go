package derived

import (
	"errors"

	"pmdaderived/derived/ere"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Definition is a derived metric as it was written: a name and an expression. Immutable.
type Definition struct {
	Name string      // without the prefix it is served under
	Text string      // the expression
	Expr syntax.Expr // its tree; spans are byte offsets into Text
}

// SyntaxError says why a text is no expression.
type SyntaxError struct{ Err *syntax.Error }

// Error gives the reason, in the words of pmRegisterDerived(3) where it has any.
func (e *SyntaxError) Error() string {
	if e.Err.Msg == "" {
		return "syntax error"
	}
	return "syntax error: " + e.Err.Msg
}

// Offset is the place in the text, in bytes.
func (e *SyntaxError) Offset() int { return e.Err.Offset }

func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads the expression of a definition. An error is a *SyntaxError.
func Parse(name, text string) (*Definition, error) {
	expr, err := syntax.Parse(text, syntax.Literals{Units: checkUnits, Pattern: ere.Check})
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		return nil, &SyntaxError{fault}
	case err != nil:
		return nil, err
	}
	return &Definition{Name: name, Text: text, Expr: expr}, nil
}

// Names calls yield for every metric that the definition names, in the order of the text: operands,
// arguments of defined() and metrics whose metadata a constant takes. A name may come repeatedly.
func (d *Definition) Names(yield func(name string) bool) {
	more := true
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		var tags []syntax.Tag
		switch e := e.(type) {
		case *syntax.Call:
			if e.Func == syntax.Anon {
				return false // its argument is the name of a type
			}
		case *syntax.Name:
			more = more && yield(e.Name)
		case *syntax.Const:
			tags = e.Tags
		case *syntax.NoValue:
			tags = e.Tags
		}
		for _, t := range tags {
			if t.Key == "meta" {
				more = more && yield(t.Value)
			}
		}
		return more
	})
}

func checkUnits(text string) error {
	_, _, err := pdu.ParseUnits(text)
	return err
}
