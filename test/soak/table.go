package soak

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Row is one thing that has to hold, and what was found.
type Row struct {
	What, Found, Wanted string
	OK                  bool
	Timed               bool // it depends on how fast the machine is and how busy, or on how long the run is
}

// Table is the verdict of a run.
type Table struct{ Rows []Row }

// OK tells whether everything holds.
func (t *Table) OK() bool {
	for _, r := range t.Rows {
		if !r.OK {
			return false
		}
	}
	return true
}

// Write prints the table as Markdown, which is how docs/reliability.md has it.
func (t *Table) Write(w io.Writer) error {
	lines := [][4]string{{"what", "found", "wanted", ""}}
	for _, r := range t.Rows {
		verdict := "ok"
		if !r.OK {
			verdict = "MISSED"
		}
		lines = append(lines, [4]string{r.What, r.Found, r.Wanted, verdict})
	}
	var width [4]int
	for _, line := range lines {
		for i, text := range line {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	for n, line := range lines {
		var b strings.Builder
		for i, text := range line {
			b.WriteString("| " + text + strings.Repeat(" ", width[i]-utf8.RuneCountInString(text)+1))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, columns := range width {
				b.WriteString("|" + strings.Repeat("-", columns+2))
			}
			b.WriteString("|\n")
		}
		if _, err := fmt.Fprint(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}
