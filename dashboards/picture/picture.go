// Package picture draws metrics over time as SVG: charts beside each other, small enough for a page of text.
//
// It reads what `pmrep -o csv -f %s` prints: a first column with the time in seconds since 1970, then a column
// for each metric, or for each of its instances, METRIC-INSTANCE. An empty cell is a gap.
package picture

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Sizes in pixels.
const (
	chartWidth, chartHeight = 470, 220
	left, right             = 44, 14 // margins of a chart
	top, bottom             = 52, 26
	perRow                  = 2
)

// Chart is some curves with a common axis.
type Chart struct {
	Title   string
	Max     float64 // of the axis, which begins at 0; 0: what the largest value wants. Units are those of the title
	Stacked bool    // areas on top of each other
	Curves  []Curve
}

// Curve is a column with its legend.
type Curve struct{ Column, Legend string }

// colours tell curves apart, in this order; also for people who see colours otherwise.
func colours() []string { return []string{"#2a78d6", "#eb6834", "#1baf7a", "#eda100", "#4a3aa7"} }

// series is a table of values by column; NaN where there is none.
type series struct {
	seconds []float64 // since the first row
	columns map[string][]float64
}

// Draw reads a table and draws charts of its columns.
func Draw(w io.Writer, table io.Reader, charts []Chart) error {
	s, err := read(table)
	if err != nil {
		return err
	}
	for _, c := range charts {
		for _, curve := range c.Curves {
			if s.columns[curve.Column] == nil {
				return fmt.Errorf("chart %q: no column %s", c.Title, curve.Column)
			}
		}
	}
	var b strings.Builder
	width, height := perRow*chartWidth, (len(charts)+perRow-1)/perRow*chartHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="system-ui, sans-serif" font-size="11" fill="#52514e">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="#fcfcfb"/>`+"\n", width, height)
	for i, c := range charts {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`+"\n", i%perRow*chartWidth, i/perRow*chartHeight)
		c.draw(&b, s)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func read(table io.Reader) (*series, error) {
	lines, err := csv.NewReader(table).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	if len(lines) == 0 {
		return nil, errors.New("table: empty")
	}
	s := &series{columns: make(map[string][]float64)}
	for n, line := range lines[1:] {
		if s.seconds == nil && strings.Join(line[1:], "") == "" {
			continue // rates begin at the second row
		}
		for i, cell := range line {
			v := math.NaN()
			if cell != "" {
				if v, err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("table, line %d: %w", n+2, err)
				}
			}
			if i == 0 {
				s.seconds = append(s.seconds, v)
			} else {
				s.columns[lines[0][i]] = append(s.columns[lines[0][i]], v)
			}
		}
	}
	if len(s.seconds) < 2 {
		return nil, fmt.Errorf("table: %d rows with values are too few for a curve", len(s.seconds))
	}
	first := s.seconds[0]
	for i := range s.seconds {
		s.seconds[i] -= first
		if i > 0 && !(s.seconds[i] > s.seconds[i-1]) {
			return nil, fmt.Errorf("table: time does not go on after %g s", s.seconds[i-1])
		}
	}
	return s, nil
}

// x and y place a moment and a value on the chart.
func (s *series) x(i int) float64 {
	return left + s.seconds[i]/s.seconds[len(s.seconds)-1]*(chartWidth-left-right)
}

func (c Chart) y(v float64) float64 {
	return chartHeight - bottom - min(max(v/c.Max, 0), 1)*(chartHeight-top-bottom)
}

// roundMax is the end of an axis for all values of the curves: 1, 2 or 5 times a power of ten.
func (c Chart) roundMax(s *series) float64 {
	largest := 0.0
	for _, curve := range c.Curves {
		for _, v := range s.columns[curve.Column] {
			if v > largest {
				largest = v
			}
		}
	}
	if largest == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(largest)))
	for _, times := range []float64{1, 2, 5} {
		if largest <= times*power {
			return times * power
		}
	}
	return 10 * power
}

func (c Chart) draw(b *strings.Builder, s *series) {
	if c.Max == 0 {
		c.Max = c.roundMax(s)
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-size="13" font-weight="600" fill="#0b0b0b">%s</text>`+"\n", left, escape(c.Title))
	for _, share := range []float64{0, 0.5, 1} {
		v := c.Max * share
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#e1e0d9"/>`, left, chartWidth-right, c.y(v), c.y(v))
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, c.y(v)+4, number(v))
	}
	last := len(s.seconds) - 1
	for _, i := range []int{0, last} {
		anchor := "start"
		if i == last {
			anchor = "end"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="%s">%s s</text>`+"\n", s.x(i), chartHeight-8, anchor, number(s.seconds[i]))
	}
	c.legend(b)
	floor := make([]float64, len(s.seconds))
	for i, curve := range c.Curves {
		if c.Stacked {
			floor = c.area(b, s, floor, s.columns[curve.Column], colours()[i])
		} else {
			c.line(b, s, s.columns[curve.Column], colours()[i])
		}
	}
}

// legend names the curves in one line below the title. Letters are reckoned to be 6 pixels wide.
func (c Chart) legend(b *strings.Builder) {
	x := left
	for i, curve := range c.Curves {
		fmt.Fprintf(b, `<rect x="%d" y="32" width="10" height="4" rx="2" fill="%s"/><text x="%d" y="38">%s</text>`+"\n",
			x, colours()[i], x+15, escape(curve.Legend))
		x += 15 + 6*len(curve.Legend) + 18
	}
}

// line draws a curve, interrupted where there is no value.
func (c Chart) line(b *strings.Builder, s *series, values []float64, colour string) {
	var path strings.Builder
	command := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			command = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f,%.1f", command, s.x(i), c.y(v))
		command = "L"
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"/>`+"\n", path.String(), colour)
}

// area draws values on a floor and returns what is the floor of the next. No value is 0.
func (c Chart) area(b *strings.Builder, s *series, floor, values []float64, colour string) []float64 {
	ceiling := make([]float64, len(floor))
	var path strings.Builder
	command := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			v = 0
		}
		ceiling[i] = floor[i] + v
		fmt.Fprintf(&path, "%s%.1f,%.1f", command, s.x(i), c.y(ceiling[i]))
		command = "L"
	}
	for i := len(floor) - 1; i >= 0; i-- {
		fmt.Fprintf(&path, "L%.1f,%.1f", s.x(i), c.y(floor[i]))
	}
	fmt.Fprintf(b, `<path d="%sZ" fill="%s"/>`+"\n", path.String(), colour)
	return ceiling
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
