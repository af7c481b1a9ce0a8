package conformance

import (
	_ "embed"
	"slices"
	"strings"
)

// Difference is an intended difference from libpcp. Any other difference is a bug. docs/conformance.md describes and
// explains each.
type Difference struct {
	ID    string   // Q-…, which comments use, or words
	Cases []string // of the corpus, each SET.CASE
}

// list has a heading for each libpcp, and below it a line for each difference: its id, a colon, its cases.
//
//go:embed differences.txt
var list string

const headingSeven = "# from libpcp 7.2\n"

// Differences returns the differences from libpcp 6.0.3.
func Differences() []Difference {
	six, _, _ := strings.Cut(list, headingSeven)
	return read(six)
}

// DifferencesSeven returns the differences from libpcp of PCP 7.2, whose language is ours, besides [Differences]. Their
// cases are those of derived/testdata/novalue and extraunits.
func DifferencesSeven() []Difference {
	_, seven, _ := strings.Cut(list, headingSeven)
	return read(seven)
}

func read(text string) (all []Difference) {
	for line := range strings.Lines(text) {
		if id, cases, ok := strings.Cut(line, ":"); ok {
			all = append(all, Difference{id, strings.Fields(cases)})
		}
	}
	return all
}

// Extension reports whether a difference is that the agent accepts texts that libpcp refuses. A text that libpcp
// accepts cannot differ because of it.
func Extension(id string) bool {
	return slices.Contains([]string{"Q-7X", "expressions in aggregates", "functions of our own", "numbers that fit"}, id)
}

// configPrefix begins the names of cases that are whole configuration files, which package config reads.
const configPrefix = "config."

// Wanted returns the id of the difference that explains a case. The name of a case is SET.CASE.
func Wanted(name string) (id string, ok bool) {
	all := Differences()
	i := slices.IndexFunc(all, func(d Difference) bool { return slices.Contains(d.Cases, name) })
	if i < 0 {
		return "", false
	}
	return all[i].ID, true
}
