package served

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Definition is a derived metric with its attributes and its place in the configuration.
type Definition struct {
	*derived.Definition
	OneLine, Help *string // nil: not given
	Labels        *string // as config.ParseLabels returns them; nil: not given
	Line          int

	// Explain returns a message about an offset in the expression with the position in the file, the line and a caret.
	// nil: the message stands alone.
	Explain func(offset int, msg string) string

	// Secret: not everyone can read the file. Neither help texts nor the log show the expression, and Labels are not
	// served.
	Secret bool
}

// These texts replace texts of files that not everyone can read.
const (
	HiddenText    = "not shown: not everyone can read its file"
	HiddenProblem = "the error is not shown because not everyone can read the file; " +
		"run pmdaderived check as a user who can"
)

// PublicText returns the part of the expression that everyone may see.
func (d *Definition) PublicText() string {
	if d.Secret {
		return HiddenText
	}
	return strings.TrimSpace(d.Text)
}

// publicLabels returns the labels that everyone may see; "": there are none.
func (d *Definition) publicLabels() string {
	if d.Secret || d.Labels == nil {
		return ""
	}
	return *d.Labels
}

// Failure is a definition that cannot be read.
type Failure struct {
	Name      string // of the definition; "": the file has the problem
	Attribute bool   // an attribute of the definition has the problem
	Text      string // the expression, as far as it is known
	File      string
	Line      int
	Message   string
	Secret    bool // not everyone can read the file; Message has no text of it
}

// File is a file of definitions, or a path without one.
type File struct {
	Path        string
	Definitions int      // number of definitions that could be read
	Failed      int      // number of definitions that could not be read
	Bound       int      // number of definitions that are served; Build sets it
	Error       string   // why it was not read completely; "": it was
	Inst        pdu.Inst // in the domain of files; Build sets it
}

// Config has all definitions of the configuration.
type Config struct {
	Definitions []Definition
	Failures    []Failure
	Files       []File // in the order in which they are read: a later one counts

	Language derived.Language // as the site has configured it

	// Unread returns the index in Files of a file that was not read completely, or of a directory above it that could not
	// be read; -1: there is none. Its former definitions are still served. nil: all files were read.
	Unread func(file string) int
}

// clone returns a copy. A definition that outlives its configuration must not keep the memory of the whole.
func (d *Definition) clone() *Definition {
	own := *d
	return &own
}

// errorText returns the text of an error in a definition, without texts of files that not everyone can read.
func (d *Definition) errorText(err *derived.Error, secret map[string]bool) string {
	switch {
	case d.Secret:
		return d.File + ":" + strconv.Itoa(d.Line) + ": " + HiddenProblem
	case secret[err.Origin()]:
		own := *err
		own.Detail = "" // it quotes the secret definition
		err = &own
	}
	if d.Explain == nil {
		return err.Error()
	}
	return d.Explain(err.Offset(), err.Error())
}

// Pointers returns pointers to definitions.
func Pointers(defs []Definition) []*Definition {
	all := make([]*Definition, len(defs))
	for i := range defs {
		all[i] = &defs[i]
	}
	return all
}

// DerivedDefinitions yields the embedded derived.Definition of each definition.
func DerivedDefinitions(defs []*Definition) iter.Seq[*derived.Definition] {
	return func(yield func(*derived.Definition) bool) {
		for _, d := range defs {
			if !yield(d.Definition) {
				return
			}
		}
	}
}

// Bind binds definitions to the operands in a catalog. Those that cannot be bound have an error in the set.
func Bind(defs []*Definition, catalog derived.Catalog, language derived.Language) *derived.Set {
	return language.NewSet(slices.Collect(DerivedDefinitions(defs)), catalog, derived.Root)
}
