package freshbench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Row is one promise and what became of it.
type Row struct {
	What     string // what was measured
	Measured string
	Target   string // "" for a row that only informs
	OK       bool
	Timed    bool // it depends on how fast the machine is and how busy
}

// Table is the outcome of a run.
type Table struct{ Rows []Row }

// OK tells whether every promise was kept.
func (t *Table) OK() bool {
	for _, r := range t.Rows {
		if !r.OK {
			return false
		}
	}
	return true
}

func (r Row) verdict() string {
	switch {
	case !r.OK:
		return "MISSED"
	case r.Target == "":
		return ""
	}
	return "ok"
}

// Write prints the table.
func (t *Table) Write(w io.Writer) error {
	lines := [][3]string{{"what", "measured", "target"}}
	for _, r := range t.Rows {
		lines = append(lines, [3]string{r.What, r.Measured, r.Target})
	}
	var width [3]int
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			b.WriteString(cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
		}
		if n > 0 {
			b.WriteString(t.Rows[n-1].verdict())
		}
		text := strings.TrimRight(b.String(), " ")
		b.Reset()
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
