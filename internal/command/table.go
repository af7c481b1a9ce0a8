package command

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
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

// column is an instance of a metric. Its number may change, and be another instance's later.
type column struct {
	metric   int    // index of the printed metric
	instance string // its name; "": of a singular metric, or of one without values so far
}

// addColumns adds columns of CSV for the instances of the newest sample.
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
	p.columns = slices.Insert(p.columns, k, c)
	for i := k; i < len(p.columns); i++ {
		p.indexes[p.columns[i]] = i
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

// tableRow is a row of a table: the values of an instance, or those of the singular metrics.
type tableRow struct {
	instance string
	cells    []string // by metric; "": it has no such instance
}

// text prints a sample as a table with a column for each metric, which stays where it is whatever instances come and
// go. Singular values have the first row; so have metrics without values.
func (p *printer) text(t time.Time) error {
	rows := []*tableRow{{cells: make([]string, len(p.metrics))}}
	byInstance := map[string]*tableRow{"": rows[0]}
	empty := make([]bool, len(p.metrics))
	for k := range empty {
		empty[k] = true
	}
	p.eachValue(func(c column, v *derived.Vector, i int) {
		row := byInstance[c.instance]
		if row == nil {
			row = &tableRow{printable.Line(c.instance), make([]string, len(p.metrics))}
			rows, byInstance[c.instance] = append(rows, row), row
		}
		row.cells[c.metric], empty[c.metric] = cellText(v, i), false
	})
	for k, none := range empty {
		if none {
			rows[0].cells[k] = absent
		}
	}
	if strings.Join(rows[0].cells, "") == "" {
		rows = rows[1:]
	}
	if p.widths == nil {
		p.textHead(rows)
	}
	at := t.In(p.zone).Format(collector.TimeLayout)
	for _, row := range rows {
		p.textLine(at, row)
	}
	return nil
}

// textHead prints the names of the metrics above their columns. Names that do not fit are above the table. It makes the
// columns as wide as the first values.
func (p *printer) textHead(rows []*tableRow) {
	const least = 10 // most numbers fit
	head := &tableRow{cells: make([]string, len(p.metrics))}
	width := len(collector.TimeLayout)
	for k, m := range p.metrics {
		head.cells[k] = printable.Line(m.name)
		width += len("  ") + max(least, utf8.RuneCountInString(head.cells[k]))
		if m.metric.Desc.InDom != pdu.NoInDom {
			head.instance = "instance"
		}
	}
	if width+len("  "+head.instance) > p.width {
		for k, name := range head.cells {
			head.cells[k] = strconv.Itoa(k + 1)
			fmt.Fprintf(p.stdout, "%d: %s\n", k+1, name)
		}
		fmt.Fprintln(p.stdout)
	}
	p.widths = make([]int, len(p.metrics))
	for k := range p.widths {
		p.widths[k] = least
		for _, row := range append(rows, head) {
			p.widths[k] = max(p.widths[k], utf8.RuneCountInString(row.cells[k]))
		}
	}
	p.textLine("", head)
}

// textLine prints a row of the table.
func (p *printer) textLine(at string, row *tableRow) {
	line := fmt.Sprintf("%*s", len(collector.TimeLayout), at)
	for k, cell := range row.cells {
		line += "  " + strings.Repeat(" ", max(0, p.widths[k]-utf8.RuneCountInString(cell))) + cell
	}
	fmt.Fprintln(p.stdout, strings.TrimRight(line+"  "+row.instance, " "))
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
