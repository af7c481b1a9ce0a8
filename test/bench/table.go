package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// line is one line of the table.
type line struct {
	what   string
	unit   string // of the figures, "" for ratios
	target string // as it is printed
	limit  string // what could be reached at best, as it is printed
	most   []float64
	// measure returns a figure for each of most. Without most the line is for comparison only.
	measure func(ctx context.Context, b *bench) ([]float64, error)
}

const (
	widthWhat    = 67
	widthFigures = 30
	widthTarget  = 24
	widthLimit   = 24
)

// table measures all lines, prints each when it is known, and counts those that miss their target.
func (b *bench) table(ctx context.Context) (missed int, err error) {
	started := time.Now()
	b.row("what", "measured", "target", "limit", "")
	b.row(strings.Repeat("-", widthWhat), strings.Repeat("-", widthFigures-2), strings.Repeat("-", widthTarget-2),
		strings.Repeat("-", widthLimit-2), "------")
	for _, l := range lines() {
		if !strings.Contains(l.what, b.Only) {
			continue
		}
		fmt.Fprintf(b.Progress, "%4.0f s  %s\n", time.Since(started).Seconds(), l.what)
		b.notes = nil
		figures, err := l.measure(ctx, b)
		if ctx.Err() != nil {
			return missed, ctx.Err()
		}
		verdict := l.verdict(figures, err)
		if verdict == "MISSED" || verdict == "FAILED" {
			missed++
		}
		b.row(l.what, join(figures, l.unit), l.target, l.limit, verdict)
		if err != nil {
			fmt.Fprintf(b.Out, "    %v\n", err)
		}
		if b.Verbose {
			for _, n := range b.notes {
				fmt.Fprintf(b.Out, "    %s\n", n)
			}
		}
	}
	if said := b.log.String(); said != "" {
		fmt.Fprintf(b.Progress, "clients said:\n%s", said)
	}
	return missed, nil
}

func (b *bench) row(what, figures, target, limit, verdict string) {
	row := fmt.Sprintf("%-*s %-*s%-*s%-*s%s", widthWhat, what, widthFigures, figures, widthTarget, target,
		widthLimit, limit, verdict)
	fmt.Fprintln(b.Out, strings.TrimRight(row, " "))
}

func (l *line) verdict(figures []float64, err error) string {
	switch {
	case err != nil:
		return "FAILED"
	case len(l.most) == 0:
		return ""
	}
	for i, most := range l.most {
		if rounded(figures[i]) > most {
			return "MISSED"
		}
	}
	return "ok"
}

// rounded keeps the digits that are printed: what looks equal to the target meets it.
func rounded(x float64) float64 {
	var v float64
	if _, err := fmt.Sscan(digits(x), &v); err != nil {
		return x
	}
	return v
}

// digits prints three significant digits, no more after the point than mean something.
func digits(x float64) string {
	switch {
	case x >= 100 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.01:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.1g", x)
}

func join(figures []float64, unit string) string {
	words := make([]string, len(figures))
	for i, x := range figures {
		words[i] = digits(x)
	}
	text := strings.Join(words, "; ")
	if unit != "" && text != "" {
		text += " " + unit
	}
	return text
}
