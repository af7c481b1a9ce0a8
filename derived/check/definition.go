package check

import (
	"pmdaderived/derived/pattern"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Definition is a derived metric as it was written: a name and an expression. Immutable.
type Definition struct {
	Name string      // without the prefix it is served under
	Text string      // the expression
	Expr syntax.Expr // its tree; spans are byte offsets into Text
	File string      // path; "": it is in none
}

// Parse reads the expression of a definition. An error is a *syntax.Error.
func Parse(name, text string) (*Definition, error) {
	expr, err := syntax.Parse(text, syntax.Literals{Units: checkUnits, Pattern: pattern.Check})
	if err != nil {
		return nil, err
	}
	return &Definition{Name: name, Text: text, Expr: expr}, nil
}

// Names calls yield for every metric that the definition names, in the order of the text: operands,
// arguments of defined() and metrics whose metadata a constant takes. A name may come repeatedly.
func (d *Definition) Names(yield func(name string) bool) {
	more := true
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Name:
			more = more && yield(e.Name)
		case *syntax.Call:
			for t := range e.Tags {
				if t.Key == "meta" {
					more = more && yield(t.Value)
				}
			}
		}
		return more
	})
}

func checkUnits(text string) error {
	_, _, err := pdu.ParseUnits(text)
	return err
}
