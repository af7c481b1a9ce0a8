package served

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Definition is a derived metric with what its configuration file says about it besides.
type Definition struct {
	*derived.Definition
	OneLine, Help *string // nil: not given
	File          string
	Line          int

	// Explain renders a message about a place in the expression for people: with the position in
	// the file, the line and a caret. Nil: only the message.
	Explain func(offset int, msg string) string

	// Secret: not everybody may read the file. What is served of the definition has no text of it, nor has the log.
	Secret bool
}

// What is said in the place of texts of files that not everybody may read.
const (
	HiddenText    = "not shown: not everyone can read its file"
	HiddenProblem = "the error is not shown because not everyone can read the file; run pmdaderived check as a user who can"
)

// PublicText is what everybody may see of the expression.
func (d *Definition) PublicText() string {
	if d.Secret {
		return HiddenText
	}
	return strings.TrimSpace(d.Text)
}

// savedText is what the state file, which everybody may read, has of the expression.
func (d *Definition) savedText() string {
	if d.Secret {
		return ""
	}
	return d.Text
}

// Failure is a definition that cannot be read.
type Failure struct {
	Name    string // of the definition; "": the problem is the file's
	Text    string // the expression, as far as it is known
	File    string
	Line    int
	Message string
	Secret  bool // not everybody may read the file; Message can be shown
}

// File is a file of definitions, or a place where there should be one.
type File struct {
	Path        string
	Definitions int       // that could be read
	Failed      int       // that could not
	Modified    time.Time // zero: not known
	Error       string    // why it was not read, or not to its end; "": it was
	Inst        pdu.Inst  // its number in the domain of files; Build gives it
}

// Config is all definitions as they are configured now.
type Config struct {
	Definitions []Definition
	Failures    []Failure
	Files       []File
	Read        time.Time // when

	Language derived.Language // as the site has configured it

	// Unread reports whether a file could not be read, or not to its end. What it defined before is
	// still served. Nil: everything was read.
	Unread func(file string) bool
}

// clone returns a copy: one that is kept must not keep all others of its configuration in memory.
func (d *Definition) clone() *Definition {
	own := *d
	return &own
}

// errorText shows what is wrong with a definition, without texts that are secret.
func (d *Definition) errorText(err *derived.Error, secret map[string]bool) string {
	switch {
	case d.Secret:
		return d.File + ":" + strconv.Itoa(d.Line) + ": " + HiddenProblem
	case secret[err.Origin()]:
		own := *err
		own.Detail = "" // quotes the other
		err = &own
	}
	if d.Explain == nil {
		return err.Error()
	}
	return d.Explain(err.Offset(), err.Error())
}

// Pointers returns where definitions are.
func Pointers(defs []Definition) []*Definition {
	all := make([]*Definition, len(defs))
	for i := range defs {
		all[i] = &defs[i]
	}
	return all
}

// DerivedDefinitions yields definitions without what is said about them besides.
func DerivedDefinitions(defs []*Definition) iter.Seq[*derived.Definition] {
	return func(yield func(*derived.Definition) bool) {
		for _, d := range defs {
			if !yield(d.Definition) {
				return
			}
		}
	}
}

// Bind binds definitions to operands. Those that cannot be bound have an error in the set.
func Bind(defs []*Definition, catalog derived.Catalog, language derived.Language) *derived.Set {
	return language.NewSet(slices.Collect(DerivedDefinitions(defs)), catalog, derived.Root)
}
