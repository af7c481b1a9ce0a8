package command

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/printable"
	"pmdaderived/pdu"
)

// absent is printed for a missing value, as pmrep does.
const absent = "N/A"

// column is an instance of a metric in a table. Its number may change, and be another instance's later.
type column struct {
	metric   int    // index of the printed metric
	instance string // its name; "": of a singular metric, or of one without values so far
}

// addColumns adds columns for the instances of the newest sample.
func (p *printer) addColumns(time.Time) error {
	p.eachValue(func(c column, _ *derived.Vector, _ int) { p.addColumn(c) })
	return nil
}

// addColumn adds a column after those of the same metric and of earlier ones.
func (p *printer) addColumn(c column) {
	if _, ok := p.indexes[c]; ok {
		return
	}
	k := len(p.columns)
	for k > 0 && p.columns[k-1].metric > c.metric {
		k--
	}
	p.setColumns(slices.Insert(p.columns, k, c), k)
}

// setColumns sets the columns, which differ from the present ones from an index on.
func (p *printer) setColumns(columns []column, from int) {
	p.columns, p.widths = columns, nil
	for i := from; i < len(columns); i++ {
		p.indexes[columns[i]] = i
	}
}

// addPlaceholders adds a column for each metric without values so far, which would not be seen otherwise.
func (p *printer) addPlaceholders() {
	for k, m := range p.metrics {
		if !m.hadValues {
			p.addColumn(column{k, ""})
		}
	}
}

// dropPlaceholders removes the placeholder of a metric once the metric has instances.
func (p *printer) dropPlaceholders() {
	kept := slices.DeleteFunc(slices.Clone(p.columns), func(c column) bool {
		m := p.metrics[c.metric]
		return c.instance == "" && m.hadValues && m.metric.Desc.InDom != pdu.NoInDom
	})
	if len(kept) < len(p.columns) {
		clear(p.indexes)
		p.setColumns(kept, 0)
	}
}

// text prints a sample as columns. It prints a head first if the columns are new.
func (p *printer) text(t time.Time) error {
	cells := map[column]string{}
	p.eachValue(func(c column, v *derived.Vector, i int) {
		p.addColumn(c)
		cells[c] = cellText(v, i)
	})
	p.addPlaceholders()
	p.dropPlaceholders()
	if p.widths == nil {
		p.textHead()
	}
	var line strings.Builder
	line.WriteString(t.In(p.zone).Format(collector.TimeLayout))
	for i, c := range p.columns {
		cell, ok := cells[c]
		if !ok {
			cell = absent
		}
		fmt.Fprintf(&line, "  %*s", p.widths[i], cell)
	}
	fmt.Fprintln(p.stdout, line.String())
	return nil
}

// textHead prints the names of the columns: metrics, and below them instances, unless all metrics are singular.
func (p *printer) textHead() {
	const least = 10 // most numbers fit, so that columns rarely shift
	p.widths = make([]int, len(p.columns))
	names, instances := make([]string, len(p.columns)), make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i], instances[i] = printable.Line(p.metrics[c.metric].name), printable.Line(c.instance)
		p.widths[i] = max(least, utf8.RuneCountInString(names[i]), utf8.RuneCountInString(instances[i]))
	}
	line := func(cells []string) {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", len(collector.TimeLayout)))
		for i, cell := range cells {
			b.WriteString("  " + strings.Repeat(" ", p.widths[i]-utf8.RuneCountInString(cell)) + cell)
		}
		fmt.Fprintln(p.stdout, strings.TrimRight(b.String(), " "))
	}
	if p.headPrinted {
		fmt.Fprintln(p.stdout)
	}
	p.headPrinted = true
	line(names)
	if strings.Join(instances, "") != "" {
		line(instances)
	}
}

// csv prints a sample. The columns are those of the first sample, unless they are known, as with pmrep: programs that
// read CSV expect one head.
func (p *printer) csv(t time.Time) error {
	if !p.headPrinted {
		_ = p.addColumns(t)
		p.csvHead()
	}
	record := make([]string, 1+len(p.columns))
	record[0] = t.In(p.zone).Format(collector.TimeLayout)
	newcomer := ""
	p.eachValue(func(c column, v *derived.Vector, i int) {
		if k, ok := p.indexes[c]; ok {
			record[1+k] = plainText(v, i)
		} else {
			newcomer = c.instance
		}
	})
	if newcomer != "" && !p.leftOut {
		p.leftOut = true
		p.complain(fmt.Errorf("%s and other instances that come later have no column; -o json prints them", newcomer))
	}
	p.writeCSV(record)
	return nil
}

// csvHead prints the first line of CSV.
func (p *printer) csvHead() {
	p.headPrinted = true
	p.addPlaceholders()
	record := make([]string, 1+len(p.columns))
	record[0] = "Time"
	for i, c := range p.columns {
		record[i+1] = p.metrics[c.metric].name
		if c.instance != "" {
			record[i+1] += "-" + c.instance
		}
	}
	p.writeCSV(record)
}

func (p *printer) writeCSV(record []string) {
	w := csv.NewWriter(p.stdout)
	_ = w.Write(record) // p.stdout remembers the error
	w.Flush()
}
