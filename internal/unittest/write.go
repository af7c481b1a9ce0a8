package unittest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Recording has the values of a collector in some samples, and the results of definitions.
type Recording struct {
	Title   string
	Start   time.Time       // time of the first sample, if a definition depends on it; else zero
	Times   []time.Duration // since the first sample, ascending
	InDoms  []RecordedInDom
	Metrics []Recorded // of the collector
	Derived []Recorded
}

// Desc implements [derived.Catalog].
func (r *Recording) Desc(name string) (pdu.Desc, error) {
	i := slices.IndexFunc(r.Metrics, func(m Recorded) bool { return m.Name == name })
	switch {
	case i < 0:
		return pdu.Desc{}, pdu.ErrName
	case r.Metrics[i].Code < 0:
		return pdu.Desc{}, r.Metrics[i].Code
	}
	return r.Metrics[i].Desc, nil
}

// RecordedInDom is an instance domain with all instances that had values.
type RecordedInDom struct {
	InDom     pdu.InDom
	Instances []pdu.Instance
	Groups    bool                           // it is made by definitions
	Labels    map[string]map[pdu.Inst]string // needed by definitions, by name
}

// Recorded is a metric of the collector, or a definition.
type Recorded struct {
	Name   string
	Desc   pdu.Desc
	Code   pdu.Code          // of a metric, < 0: the error of its descriptor
	Err    *derived.Error    // of a definition that cannot be used
	Labels string            // of a definition, as config.ParseLabels returns them; "": none
	Values []*derived.Vector // one for each sample, nil for any values; nil if there is no descriptor
}

// String returns a test file with one test, in which the metrics have the recorded values, and the definitions are
// expected to have the recorded results.
func (r *Recording) String() string {
	p := &writer{names: map[pdu.InDom][]pdu.Instance{}}
	for _, d := range r.InDoms {
		p.names[d.InDom] = d.Instances
	}
	p.writeDeclarations(r)
	fmt.Fprintf(p, "\ntest %s\n", r.Title)
	times := make([]string, len(r.Times))
	for i, t := range r.Times {
		times[i] = timeText(t)
	}
	if !r.Start.IsZero() {
		p.addLine("start", fmt.Sprintf("%d.%09d", r.Start.Unix(), r.Start.Nanosecond()))
	}
	p.addLine("times", strings.Join(times, " "))
	for _, m := range r.Metrics {
		if m.Code == 0 {
			p.addValues("given  ", m.Name, m.Desc.InDom, m.Values)
		}
	}
	for _, d := range r.Derived {
		if d.Err != nil {
			p.addLine("error  "+d.Name, quote(d.Err.Reason()))
			continue
		}
		p.addValues("expect ", d.Name, d.Desc.InDom, d.Values)
		p.addLine("metadata "+d.Name, strings.TrimSpace(descText(d.Desc)+" "+d.Labels))
	}
	p.writeTest()
	return p.String()
}

// writer writes a test file.
type writer struct {
	strings.Builder
	names map[pdu.InDom][]pdu.Instance
	lines [][2]string // of the test: two columns
}

func (p *writer) addLine(head, text string) { p.lines = append(p.lines, [2]string{head, text}) }

// writeTest writes the lines of the test in two columns. A long name does not push all values to the right.
func (p *writer) writeTest() {
	const most = 60 // characters of the first column
	width := 0
	for _, l := range p.lines {
		width = max(width, min(utf8.RuneCountInString(l[0]), most))
	}
	for _, l := range p.lines {
		fmt.Fprintf(p, "    %-*s  %s\n", width, l[0], l[1])
	}
}

// writeDeclarations writes the metrics and instance domains. Domains of groups are left out: definitions make them.
func (p *writer) writeDeclarations(r *Recording) {
	width := 0
	for _, m := range r.Metrics {
		width = max(width, len(m.Name))
	}
	for _, m := range r.Metrics {
		text := descText(m.Desc)
		if m.Code < 0 {
			text = m.Code.Name()
		}
		fmt.Fprintf(p, "metric %-*s  %s\n", width, m.Name, text)
	}
	for _, d := range r.InDoms {
		if d.Groups {
			continue
		}
		fmt.Fprintf(p, "indom  %s", d.InDom)
		for _, i := range d.Instances {
			fmt.Fprintf(p, " %d:%s", i.ID, quote(i.Name))
		}
		fmt.Fprintln(p)
		for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
			fmt.Fprintf(p, "label  %s %s", d.InDom, name)
			for _, i := range d.Instances {
				if value, ok := d.Labels[name][i.ID]; ok {
					fmt.Fprint(p, " "+quote(value))
				} else {
					fmt.Fprint(p, " _")
				}
			}
			fmt.Fprintln(p)
		}
	}
}

func descText(d pdu.Desc) string {
	return d.Type.String() + " " + d.Sem.String() + " " + unitsText(d.Units) + " " + indomText(d.InDom)
}

// quote writes a text as one word. A blank is in place of a newline, which no statement can have.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
}

// addValues adds the values of a metric: a line for each instance with values, and one for errors.
func (p *writer) addValues(keyword, name string, d pdu.InDom, values []*derived.Vector) {
	addSeries := func(target string, word func(v *derived.Vector) string) {
		words := make([]string, len(values))
		for i, v := range values {
			if words[i] = "*"; v != nil {
				words[i] = word(v)
			}
		}
		p.addLine(keyword+target, compact(words))
	}
	if d == pdu.NoInDom {
		addSeries(name, func(v *derived.Vector) string { return recordedText(v, 0) })
		return
	}
	written := false
	for _, instance := range p.names[d] {
		index := func(v *derived.Vector) int {
			if v == nil || v.Code < 0 || v.Insts == nil {
				return -1
			}
			return v.Insts.Index(instance.ID)
		}
		if slices.ContainsFunc(values, func(v *derived.Vector) bool { return index(v) >= 0 }) {
			written = true
			addSeries(name+"["+strings.NewReplacer(`\`, `\\`, `]`, `\]`, "\n", " ").Replace(instance.Name)+"]",
				func(v *derived.Vector) string {
					return recordedText(v, index(v))
				})
		}
	}
	if !written || slices.ContainsFunc(values, func(v *derived.Vector) bool { return v != nil && v.Code < 0 }) {
		addSeries(name, func(v *derived.Vector) string { return valueText(v, -1) })
	}
}

// recordedText returns a value as a test file has it. An instance of a metric with an error has no value.
func recordedText(v *derived.Vector, i int) string {
	switch {
	case v.Code < 0 && i < 0:
		return "_"
	case v.Code == 0 && i >= 0 && i < v.Len() && v.Type == pdu.TypeString:
		return quote(string(v.Blobs[i]))
	}
	return valueText(v, i)
}

// compact joins words. Repeated words have a count instead: "5x3".
func compact(words []string) string {
	var b strings.Builder
	for i := 0; i < len(words); {
		n := 1
		for i+n < len(words) && words[i+n] == words[i] {
			n++
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i])
		if n > 1 {
			b.WriteString("x" + strconv.Itoa(n))
		}
		i += n
	}
	return b.String()
}
