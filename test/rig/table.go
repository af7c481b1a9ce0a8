package rig

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Row is one line of the table: a measurement, and its target.
type Row struct {
	What     string
	Measured string
	Target   string // "": the row only informs
	OK       bool
	Timed    bool // it depends on the speed and load of the machine, or on the length of the run
}

// Verdict returns the last cell of the row.
func (r Row) Verdict() string {
	switch {
	case !r.OK:
		return "MISSED"
	case r.Target == "":
		return ""
	}
	return "ok"
}

// FigureRow returns a row of numbers, each with its maximum; without maxima it only informs. A number that equals its
// maximum as printed meets it.
func FigureRow(what, unit string, figures, most []float64) Row {
	r := Row{What: what, OK: true, Timed: true}
	var measured, target []string
	for i, x := range figures {
		measured = append(measured, Digits(x))
		if i < len(most) {
			target = append(target, Digits(most[i]))
			var printed float64
			_, err := fmt.Sscan(Digits(x), &printed)
			r.OK = r.OK && err == nil && printed <= most[i]
		}
	}
	r.Measured = strings.TrimSpace(strings.Join(measured, "; ") + " " + unit)
	if len(target) > 0 {
		r.Target = "≤ " + strings.Join(target, "; ")
	}
	return r
}

// Equal returns a row about a value that must equal another.
func Equal[T comparable](what string, n, wanted T) Row {
	return Row{What: what, Measured: fmt.Sprint(n), Target: fmt.Sprint(wanted), OK: n == wanted}
}

// AtMost returns a row about a count with a maximum.
func AtMost(what string, n, most int64) Row {
	return Row{What: what, Measured: fmt.Sprint(n), Target: fmt.Sprintf("≤ %d", most), OK: n <= most}
}

// Some returns a row about a count that must not be 0.
func Some(what string, n int64) Row {
	return Row{What: what, Measured: fmt.Sprint(n), Target: "> 0", OK: n > 0}
}

// Table is the outcome of a run.
type Table struct{ Rows []Row }

// OK reports whether every row meets its target.
func (t *Table) OK() bool {
	return !slices.ContainsFunc(t.Rows, func(r Row) bool { return !r.OK })
}

// Write prints the table as Markdown, the form of the documents.
func (t *Table) Write(w io.Writer) error {
	lines := [][4]string{{"what", "measured", "target", ""}}
	for _, r := range t.Rows {
		lines = append(lines, [4]string{r.What, r.Measured, r.Target, r.Verdict()})
	}
	var width [4]int
	for _, line := range lines {
		for i, text := range line {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for n, line := range lines {
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
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Part is a part of a run. It returns some rows.
type Part struct {
	Name string
	Run  func(context.Context) ([]Row, error)
}

// Log has the progress of a run. A nil Log discards it.
type Log struct {
	Out     io.Writer
	Verbose bool // Verbosef writes
}

// Printf writes a line.
func (l *Log) Printf(format string, args ...any) {
	if l != nil {
		fmt.Fprintf(l.Out, format+"\n", args...)
	}
}

// Verbosef writes a line about the components of figures, if the log is verbose.
func (l *Log) Verbosef(format string, args ...any) {
	if l != nil && l.Verbose {
		l.Printf("    "+format, args...)
	}
}

// Run runs, one after the other, the parts whose names contain one of the texts, or all if there are no texts. A part
// that fails is a row that misses its target. A table can come with an error.
func Run(ctx context.Context, log *Log, only []string, parts []Part) (*Table, error) {
	wanted := func(name string) func(string) bool {
		return func(text string) bool { return strings.Contains(name, text) }
	}
	for _, text := range only {
		if !slices.ContainsFunc(parts, func(p Part) bool { return wanted(p.Name)(text) }) {
			return nil, fmt.Errorf("nothing to measure has %q in its name", text)
		}
	}
	t, begin := &Table{}, time.Now()
	for _, p := range parts {
		if len(only) > 0 && !slices.ContainsFunc(only, wanted(p.Name)) {
			continue
		}
		log.Printf("%4.0f s  %s", time.Since(begin).Seconds(), p.Name)
		rows, err := p.Run(ctx)
		switch {
		case ctx.Err() != nil:
			return t, ctx.Err()
		case err != nil:
			rows = append(rows, Row{What: p.Name, Measured: "not measured", Target: strings.ReplaceAll(err.Error(), "\n", " ")})
		}
		for _, r := range rows {
			log.Verbosef("%s: %s (%s) %s", r.What, r.Measured, r.Target, r.Verdict())
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

// Wake is the end of a sleep: when it was due, and how much later it came.
type Wake struct {
	Due  time.Time
	Late time.Duration
}

// Wakes are the ends of sleeps, in order of time.
type Wakes []Wake

// Quantile returns [Quantile] of the delays.
func (w Wakes) Quantile(q float64) time.Duration {
	late := make(Durations, len(w))
	for i := range w {
		late[i] = w[i].Late
	}
	return late.Quantile(q)
}

// Latest returns the longest delay of the sleeps that were overdue at any time between two.
func (w Wakes) Latest(from, to time.Time) (late time.Duration) {
	for _, x := range w {
		if x.Due.Before(to) && x.Due.Add(x.Late).After(from) {
			late = max(late, x.Late)
		}
	}
	return late
}

// WatchMachine sleeps over and over until late is called, which returns the delays. The machine is shared: a delay of
// these sleeps is a delay of everything that is measured at the same time.
func WatchMachine() (late func() Wakes) {
	const pause = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	all := make(chan Wakes)
	go func() {
		var found Wakes
		for ctx.Err() == nil {
			due := time.Now().Add(pause)
			time.Sleep(pause)
			found = append(found, Wake{Due: due, Late: time.Since(due)})
		}
		all <- found
	}()
	return func() Wakes {
		cancel()
		return <-all
	}
}

// MachineRow returns a row with the delays of the machine.
func MachineRow(during string, late Wakes) Row {
	return Times("the machine during "+during+": sleeps ended too late by", late, Limit{Q: 0.99}, Limit{Q: 0.999},
		Limit{Q: 1})
}
