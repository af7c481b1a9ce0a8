package command

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/internal/collector"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// Output formats of eval.
const (
	formText = "text"
	formCSV  = "csv"
	formJSON = "json"
)

// absent is printed for a missing value, as pmrep does.
const absent = "N/A"

// sampleArchive prints a line for each sample of an archive. samples is the largest number of samples, 0 for all.
func (e *evaluation) sampleArchive(ctx context.Context, p *collector.Archive, samples int, form string) error {
	e.zone = p.Zone
	rows := e.rows()
	rows.played = p
	progress := e.progress(p.Part.Origin, p.Part.End)
	defer progress.clear()
	if e.stdout.isTerminal() {
		progress.w = nil // rows would mix with it
	}
	o := e.playerOptions(p, progress)
	play := func(row func(at time.Time) error) error {
		n := 0
		return replay.NewPlayer(p.Source, e.session).Play(ctx, o, func(_ *session.Session, at time.Time) error {
			if err := row(at); err != nil {
				return err
			}
			if n++; n == samples {
				return replay.ErrEnough
			}
			return nil
		})
	}
	if form == formCSV { // the first line needs all columns
		progress.passes = 2
		if err := play(rows.addColumns); err != nil {
			return err
		}
		rows.csvHead()
		p.Rewind()
		e.watch()
		o.Damaged = nil // the first pass has warned
	}
	err := play(rows.inForm(form))
	progress.clear()
	rows.reportEmpty()
	return err
}

// rows prints samples, one per line.
type rows struct {
	*evaluation
	played      *collector.Archive // nil: the samples are of a pmcd
	columns     []column
	indexes     map[column]int    // in columns
	names       map[column]string // of the instances, which may have gone since
	widths      []int             // nil: the next line needs a head
	headPrinted bool
	leftOut     bool     // instances without a column have been reported
	hadValues   []bool   // by metric: there has been a value
	lastError   []string // by metric: the last error; "": there was none
}

func (e *evaluation) rows() *rows {
	return &rows{
		evaluation: e, indexes: map[column]int{}, names: map[column]string{}, hadValues: make([]bool, len(e.metrics)),
		lastError: make([]string, len(e.metrics)),
	}
}

// inForm returns the function that prints the newest sample.
func (r *rows) inForm(form string) func(at time.Time) error {
	switch form {
	case formCSV:
		return r.csv
	case formJSON:
		return r.json
	}
	return r.text
}

func (r *rows) formatTime(t time.Time) string { return t.In(r.zone).Format(collector.TimeLayout) }

// column is an instance of a metric in the output.
type column struct {
	metric int
	inst   pdu.Inst // pdu.NoInst: of a singular metric, or of one without values
}

// eachValue calls each for every value of the newest sample.
func (r *rows) eachValue(each func(c column, v *derived.Vector, i int)) {
	for k, s := range r.metrics {
		v := r.session.Value(s.metric)
		if !r.nonFinite {
			v = v.OnlyFinite()
		}
		if v.Code < 0 {
			text := errorText(v)
			if r.played == nil && text != r.lastError[k] { // of an archive reportEmpty tells it
				r.failed = true
				r.complain(fmt.Errorf("%s: %s", printable.Line(s.name), text))
			}
			r.lastError[k] = text
			continue
		}
		for _, i := range inOrder(s.metric, v) {
			r.hadValues[k] = true
			each(column{k, v.At(i)}, v, i)
		}
	}
}

// addColumns adds columns for the instances of a sample.
func (r *rows) addColumns(time.Time) error {
	r.eachValue(func(c column, _ *derived.Vector, _ int) { r.addColumn(c) })
	return nil
}

func (r *rows) addColumn(c column) {
	if _, ok := r.indexes[c]; ok {
		return
	}
	at := len(r.columns)
	for at > 0 && r.columns[at-1].metric > c.metric {
		at--
	}
	r.names[c] = r.instance(c)
	r.columns = append(r.columns, column{})
	copy(r.columns[at+1:], r.columns[at:])
	r.columns[at] = c
	for i, c := range r.columns {
		r.indexes[c] = i
	}
}

// instance returns the name of a column's instance, "" for a singular metric.
func (r *rows) instance(c column) string {
	if c.inst == pdu.NoInst {
		return ""
	}
	if name, ok := r.names[c]; ok {
		return name
	}
	return r.instanceName(r.metrics[c.metric].metric.Desc.InDom, c.inst)
}

func (r *rows) instanceName(d pdu.InDom, id pdu.Inst) string {
	if name, ok := r.session.InstanceName(d, id); ok {
		return name
	}
	if r.played != nil {
		if all, err := r.played.AllInstances(d); err == nil { // it existed at another time
			for _, one := range all {
				if one.ID == id {
					return one.Name
				}
			}
		}
	}
	return "instance " + strconv.FormatUint(uint64(uint32(id)), 10)
}

const (
	timeColumn = len(collector.TimeLayout)
)

// text prints a sample as columns. It prints a head first if there are new columns.
func (r *rows) text(at time.Time) error {
	before := len(r.columns)
	cells := map[column]string{}
	r.eachValue(func(c column, v *derived.Vector, i int) {
		r.addColumn(c)
		cells[c] = cellText(v, i)
	})
	for k := range r.metrics {
		if !r.hadValues[k] {
			r.addColumn(column{k, pdu.NoInst})
		}
	}
	r.dropPlaceholders()
	if len(r.columns) != before || r.widths == nil {
		r.textHead()
	}
	var line strings.Builder
	line.WriteString(r.formatTime(at))
	for i, c := range r.columns {
		cell, ok := cells[c]
		if !ok {
			cell = absent
		}
		fmt.Fprintf(&line, "  %*s", r.widths[i], cell)
	}
	fmt.Fprintln(r.stdout, line.String())
	return nil
}

// dropPlaceholders removes the column of a metric without values once the metric has instances.
func (r *rows) dropPlaceholders() {
	kept := r.columns[:0]
	for _, c := range r.columns {
		if c.inst == pdu.NoInst && r.hadValues[c.metric] && r.metrics[c.metric].metric.Desc.InDom != pdu.NoInDom {
			delete(r.indexes, c)
			continue
		}
		kept = append(kept, c)
	}
	if len(kept) < len(r.columns) {
		r.columns, r.widths = kept, nil
		for i, c := range r.columns {
			r.indexes[c] = i
		}
	}
}

// textHead prints the names of the columns.
func (r *rows) textHead() {
	const least = 10
	r.widths = make([]int, len(r.columns))
	names, instances, any := make([]string, len(r.columns)), make([]string, len(r.columns)), false
	for i, c := range r.columns {
		names[i], instances[i] = printable.Line(r.metrics[c.metric].name), printable.Line(r.instance(c))
		any = any || instances[i] != ""
		r.widths[i] = max(least, utf8.RuneCountInString(names[i]), utf8.RuneCountInString(instances[i]))
	}
	line := func(cells []string) {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", timeColumn))
		for i, cell := range cells {
			b.WriteString("  " + strings.Repeat(" ", r.widths[i]-utf8.RuneCountInString(cell)) + cell)
		}
		fmt.Fprintln(r.stdout, strings.TrimRight(b.String(), " "))
	}
	if r.headPrinted {
		fmt.Fprintln(r.stdout)
	}
	r.headPrinted = true
	line(names)
	if any {
		line(instances)
	}
}

// cellText returns a value for a column. Numbers of type FLOAT and DOUBLE have six digits.
func cellText(v *derived.Vector, i int) string {
	if v.Type == pdu.TypeFloat || v.Type == pdu.TypeDouble {
		const digits = 6
		return formatNumber(v.Type.Float64(v.Bits[i]), digits)
	}
	return valueText(v, i)
}

// plainText returns a value for programs: a number with all its digits, a string without quotes.
func plainText(v *derived.Vector, i int) string {
	switch v.Type {
	case pdu.TypeFloat:
		const bits = 32
		return strconv.FormatFloat(v.Type.Float64(v.Bits[i]), 'g', -1, bits)
	case pdu.TypeDouble:
		const bits = 64
		return strconv.FormatFloat(v.Type.Float64(v.Bits[i]), 'g', -1, bits)
	case pdu.TypeString:
		return string(v.Blobs[i])
	}
	return valueText(v, i)
}

// csvHead prints the first line of CSV.
func (r *rows) csvHead() {
	r.headPrinted = true
	for k := range r.metrics {
		if !r.hadValues[k] {
			r.addColumn(column{k, pdu.NoInst})
		}
	}
	record := make([]string, 1+len(r.columns))
	record[0] = "Time"
	for i, c := range r.columns {
		record[i+1] = r.metrics[c.metric].name
		if instance := r.instance(c); instance != "" {
			record[i+1] += "-" + instance
		}
	}
	writeCSV(r.stdout, record)
}

func writeCSV(w io.Writer, record []string) {
	csv := csv.NewWriter(w)
	_ = csv.Write(record) // w remembers the error
	csv.Flush()
}

// csv prints a sample. The columns are those of the first sample, unless they are known, as with pmrep.
func (r *rows) csv(at time.Time) error {
	if !r.headPrinted {
		_ = r.addColumns(at)
		r.csvHead()
	}
	record := make([]string, 1+len(r.columns))
	record[0] = r.formatTime(at)
	left := ""
	r.eachValue(func(c column, v *derived.Vector, i int) {
		if k, ok := r.indexes[c]; ok {
			record[1+k] = plainText(v, i)
		} else {
			left = r.instance(c)
		}
	})
	if left != "" && !r.leftOut {
		r.leftOut = true
		r.complain(fmt.Errorf("%s and other instances that come later have no column; -o json prints them", left))
	}
	writeCSV(r.stdout, record)
	return nil
}

// json prints a sample as an object with values by metric. Values of a metric with instances are an object, too.
func (r *rows) json(at time.Time) error {
	values := make(map[string]any, len(r.metrics))
	r.eachValue(func(c column, v *derived.Vector, i int) {
		name := r.metrics[c.metric].name
		if c.inst == pdu.NoInst {
			values[name] = jsonValue(v, i)
			return
		}
		set, ok := values[name].(map[string]any)
		if !ok {
			set = map[string]any{}
			values[name] = set
		}
		set[r.instance(c)] = jsonValue(v, i)
	})
	line, err := json.Marshal(struct {
		Time   string         `json:"time"`
		Values map[string]any `json:"values"`
	}{at.In(r.zone).Format(time.RFC3339Nano), values})
	if err == nil {
		_, _ = r.stdout.Write(append(line, '\n')) // r.stdout remembers the error
	}
	return err
}

// jsonValue returns a number, or a string for an infinite value or NaN, which JSON does not have.
func jsonValue(v *derived.Vector, i int) any {
	text := plainText(v, i)
	if v.Type.Numeric() && derived.Finite(v.Type, v.Bits[i]) {
		return json.Number(text)
	}
	return text
}

// reportEmpty warns of metrics without any value.
func (r *rows) reportEmpty() {
	for k, had := range r.hadValues {
		switch {
		case had:
		case r.lastError[k] != "":
			r.failed = true
			r.complain(fmt.Errorf("%s has no values in this time window: %s", printable.Line(r.metrics[k].name), r.lastError[k]))
		default:
			r.complain(fmt.Errorf("%s has no values in this time window", printable.Line(r.metrics[k].name)))
		}
	}
}
