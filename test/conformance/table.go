package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Table has the counts of all runs, by set and run.
type Table map[string]map[string]Counts

// runs returns the columns. A tally of another run is not shown.
func runs() []string { return []string{"in-process", "end-to-end"} }

// all is the name of the sum of all sets.
const all = "all"

// event has the fields of a line of `go test -json` that are used.
type event struct {
	Action, Package, Test, Key, Value, Output string
}

// ReadTable reads the tallies in the output of `go test -json`. It writes the output of failed tests to problems;
// failed is true if there was one.
func ReadTable(events io.Reader, problems io.Writer) (t Table, failed bool, err error) {
	t = Table{all: {}}
	output := map[string][]string{} // of tests that have not ended
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return t, failed, nil
		} else if err != nil {
			return t, failed, err
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "attr":
			if e.Key != attribute {
				continue
			}
			if err := t.add(e.Value); err != nil {
				return t, failed, err
			}
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "fail", "build-fail":
			failed = true
			if _, err := io.WriteString(problems, strings.Join(output[key], "")); err != nil {
				return t, failed, err
			}
			delete(output, key)
		case "pass", "skip":
			delete(output, key)
		}
	}
}

func (t Table) add(report string) error {
	run, set, c, err := parseReport(report)
	if err != nil {
		return err
	}
	if t[set] == nil {
		t[set] = map[string]Counts{}
	}
	t[set][run], t[all][run] = t[set][run].plus(c), t[all][run].plus(c)
	return nil
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Cases + d.Cases, c.Agree + d.Agree, c.Wanted + d.Wanted, c.Failures + d.Failures}
}

// Failures returns the number of unwanted differences.
func (t Table) Failures() (n int) {
	for _, c := range t[all] {
		n += c.Failures
	}
	return n
}

// Write prints the table: a line for each set, and the totals.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s", "")
	for _, run := range runs() {
		fmt.Fprintf(&b, "  %-31s", run)
	}
	fmt.Fprintf(&b, "\n%-14s", "set")
	for range runs() {
		fmt.Fprintf(&b, "  %6s %6s %7s %9s", "cases", "agree", "wanted", "failures")
	}
	b.WriteByte('\n')
	sets := slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(set string) bool { return set == all })
	for _, set := range append(sets, all) {
		fmt.Fprintf(&b, "%-14s", set)
		for _, run := range runs() {
			c, ok := t[set][run]
			if !ok {
				fmt.Fprintf(&b, "  %6s %6s %7s %9s", "-", "-", "-", "-")
				continue
			}
			fmt.Fprintf(&b, "  %6d %6d %7d %9d", c.Cases, c.Agree, c.Wanted, c.Failures)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
