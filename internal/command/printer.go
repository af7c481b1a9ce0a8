package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/printable"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
)

// printer is the output of eval: samples of the metrics, each as pminfo prints it, or as lines in a form.
type printer struct {
	*run
	metrics   []*printedMetric
	watched   []*derived.Metric // the same, for the session
	nonFinite bool              // infinite values and NaN are printed
	zone      *time.Location    // of the times that are printed
	failed    bool              // there was an error

	widths []int // of the columns of a table, one for each metric; nil: it has no head yet

	// CSV has a column for each instance.
	columns     []column
	indexes     map[column]int // in columns
	headPrinted bool
	leftOut     bool // instances without a column have been reported
}

// printedMetric is a metric to print.
type printedMetric struct {
	name      string // as written on the command line
	metric    *derived.Metric
	hadValues bool
	lastError string // "": there was none
}

// value returns the values of a metric in the newest sample.
func (p *printer) value(m *printedMetric) *derived.Vector {
	v := p.session.Value(m.metric)
	if !p.nonFinite {
		v = v.OnlyFinite() // as the agent serves it
	}
	return v
}

// lineIn returns the function that prints the newest sample in a form.
func (p *printer) lineIn(form string) func(t time.Time) error {
	return map[string]func(time.Time) error{"": p.text, formText: p.text, formCSV: p.csv, formJSON: p.json}[form]
}

// pminfo prints the newest sample as pminfo does.
func (p *printer) pminfo(time.Time) error {
	for _, m := range p.metrics {
		fmt.Fprintf(p.stdout, "\n%s\n", printable.Line(m.name))
		v := p.value(m)
		switch {
		case v.Code < 0:
			fmt.Fprintln(p.stdout, "Error: "+errorText(v))
			p.failed = true
			continue
		case v.Len() == 0 && v.Why != "":
			fmt.Fprintf(p.stdout, "No value(s) available! (%s)\n", v.Why)
		case v.Len() == 0:
			fmt.Fprintln(p.stdout, "No value(s) available!")
		}
		for _, i := range inOrder(m.metric, v) {
			if v.Insts == nil {
				fmt.Fprintf(p.stdout, "    value %s\n", valueText(v, i))
				continue
			}
			name := "???"
			if known, ok := p.session.InstanceName(m.metric.Desc.InDom, v.At(i)); ok {
				name = strconv.Quote(known)
			}
			fmt.Fprintf(p.stdout, "    inst [%d or %s] value %s\n", v.At(i), name, valueText(v, i))
		}
	}
	return nil
}

// inOrder returns the indexes of values in the order in which they are printed: topk_inst() has the largest first,
// bottomk_inst() the smallest, and anything else the order of its instances.
func inOrder(m *derived.Metric, v *derived.Vector) []int {
	order := make([]int, v.Len())
	for i := range order {
		order[i] = i
	}
	call, ok := syntax.Unparen(m.Tree.Expr).(*syntax.Call)
	if !ok || call.Func != syntax.TopK && call.Func != syntax.BottomK {
		return order
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if call.Func == syntax.TopK {
			i, j = j, i
		}
		return cmp.Compare(v.Type.Float64(v.Bits[i]), v.Type.Float64(v.Bits[j]))
	})
	return order
}

// eachValue calls each for every value of the newest sample. A line has no place for an error, so it goes to stderr,
// and only once: a script may take a sample each second for days.
func (p *printer) eachValue(each func(c column, v *derived.Vector, i int)) {
	for k, m := range p.metrics {
		v := p.value(m)
		if v.Code < 0 {
			text := errorText(v)
			if p.collector.Archive == nil && text != m.lastError { // of an archive reportEmpty tells it
				p.failed = true
				p.complain(fmt.Errorf("%s: %s", printable.Line(m.name), text))
			}
			m.lastError = text
			continue
		}
		for _, i := range inOrder(m.metric, v) {
			m.hadValues = true
			each(column{k, p.instance(m.metric.Desc.InDom, v.At(i))}, v, i)
		}
	}
}

// reportEmpty warns of metrics without any value. In an archive a metric often has values only later, so that an error
// is reported at the end, and only of a metric that never had a value.
func (p *printer) reportEmpty() {
	for _, m := range p.metrics {
		if m.hadValues {
			continue
		}
		text := printable.Line(m.name) + " has no values in this time window"
		if m.lastError != "" {
			p.failed = true
			text += ": " + m.lastError
		}
		p.complain(errors.New(text))
	}
}

// instance returns the name of an instance, "" for a singular metric.
func (p *printer) instance(indom pdu.InDom, id pdu.Inst) string {
	if id == pdu.NoInst {
		return ""
	}
	return p.instanceName(p.session, indom, id)
}

// instanceName returns the name of an instance of a session, or its number if it has none.
func (r *run) instanceName(s *session.Session, indom pdu.InDom, id pdu.Inst) string {
	if name, ok := s.InstanceName(indom, id); ok && name != "" {
		return name
	}
	if archive := r.collector.Archive; archive != nil { // it existed at another time
		instances, _ := archive.AllInstances(indom) // none with an error
		for _, instance := range instances {
			if instance.ID == id {
				return instance.Name
			}
		}
	}
	return "instance " + strconv.FormatUint(uint64(uint32(id)), 10)
}

// json prints a sample as an object with values by metric. Values of a metric with instances are an object, too.
func (p *printer) json(t time.Time) error {
	values := make(map[string]any, len(p.metrics))
	p.eachValue(func(c column, v *derived.Vector, i int) {
		name := p.metrics[c.metric].name
		if c.instance == "" {
			values[name] = jsonValue(v, i)
			return
		}
		set, ok := values[name].(map[string]any)
		if !ok {
			set = map[string]any{}
			values[name] = set
		}
		set[c.instance] = jsonValue(v, i)
	})
	line, err := json.Marshal(struct {
		Time   string         `json:"time"`
		Values map[string]any `json:"values"`
	}{t.In(p.zone).Format(time.RFC3339Nano), values})
	if err == nil {
		_, _ = p.stdout.Write(append(line, '\n')) // p.stdout remembers the error
	}
	return err
}
