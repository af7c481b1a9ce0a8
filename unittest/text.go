package unittest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// String shows the failures of a test, "" if it passed: expected and got side by side.
func (r Result) String() string {
	var b strings.Builder
	for i := range r.Failures {
		b.WriteString(r.Failures[i].String())
	}
	return b.String()
}

// String shows what differs, with the place of the expectation.
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
	rows := [][]string{{"", "instance", "expected", "got"}}
	instances := false
	for _, r := range f.Rows {
		rows = append(rows, []string{r.What, r.Instance, r.Want, r.Got})
		instances = instances || r.Instance != ""
	}
	var widths [4]int
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			if i == 1 && !instances {
				continue
			}
			line.WriteString("  " + text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)))
		}
		b.WriteString("  " + strings.TrimRight(line.String(), " ") + "\n")
	}
	switch {
	case f.More > 0:
		fmt.Fprintf(b, "    %d more differ, %d do not\n", f.More, f.Same)
	case f.Same > 0:
		fmt.Fprintf(b, "    %d more as expected\n", f.Same)
	}
}
