package unittest

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// String returns the failures of a test as text, expected and got side by side. It returns "" if the test passed.
func (r Result) String() string {
	var b strings.Builder
	for i := range r.Failures {
		b.WriteString(r.Failures[i].String())
	}
	return b.String()
}

// String returns the differences as text, with the position of the expectation.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.Pos, f.Msg)
	if f.Err != nil {
		b.WriteString("    " + strings.ReplaceAll(f.Err.Error(), "\n", "\n    ") + "\n")
	}
	if len(f.Rows) > 0 {
		f.table(&b)
	}
	return b.String()
}

func (f *Failure) table(b *strings.Builder) {
	ofInstances := slices.ContainsFunc(f.Rows, func(r Row) bool { return r.Instance != "" })
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, r := range append([]Row{{"", "instance", "expected", "got"}}, f.Rows...) {
		cells := []string{"    " + r.Subject, r.Instance, r.Want, r.Got}
		if !ofInstances {
			cells = slices.Delete(cells, 1, 2)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush() // cannot fail: b is in memory
	switch {
	case f.MoreDiffer > 0:
		fmt.Fprintf(b, "    %d more differ, %d do not\n", f.MoreDiffer, f.Matching)
	case f.Matching > 0:
		fmt.Fprintf(b, "    %d more as expected\n", f.Matching)
	}
}
