package unittest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/plural"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
)

// shownRows is the largest number of differences shown for one expectation: more do not help to find the cause.
const shownRows = 20

// Result is the result of a test.
type Result struct {
	Test     *Test
	Failures []Failure // none: passed
}

// Failure is an expectation that was not met.
type Failure struct {
	Pos    config.Position // of the expectation
	Metric string          // name in the test
	Msg    string          // the expectation, in a few words

	// Err is why the definition cannot be used: a *derived.Error, or ErrNoDefinition. nil: it can.
	Err error

	Rows       []Row // differences
	MoreDiffer int   // number of differences that are not in Rows
	Matching   int   // number of values without a difference
}

// ErrNoDefinition means that the files to test do not define a name.
var ErrNoDefinition = errors.New("no definition has this name")

// Row is a difference in a value or in metadata.
type Row struct {
	Subject   string // of metadata: "type"; of a value: its time
	Instance  string // "": none
	Want, Got string
}

// Run runs a test of definitions with distinct names, in the site's language. labels has the labels of definitions, by
// name, as [config.ParseLabels] returns them. Operands are metrics of the test, then other definitions.
func Run(language derived.Language, defs []*derived.Definition, labels map[string]string, t *Test) Result {
	u := &runner{test: t, set: NewSet(language, defs, t), labels: labels, groups: derived.NewGroups()}
	for _, m := range t.metadata {
		u.checkMetadata(m)
	}
	for _, f := range t.errors {
		u.checkError(f)
	}
	u.checkValues()
	slices.SortStableFunc(u.failures, func(x, y Failure) int { return cmp.Compare(x.Pos.Line, y.Pos.Line) })
	return Result{Test: t, Failures: u.failures}
}

// NewSet makes the set of a test with these metrics.
func NewSet(language derived.Language, defs []*derived.Definition, metrics derived.Catalog) *derived.Set {
	return language.NewSet(slices.Concat(defs, servedMetrics(defs, metrics)), metrics, derived.Root)
}

// servedMetrics returns a definition for each metric of the test that an operand names as the agent serves it: the metric
// is in place of a definition of another file.
func servedMetrics(defs []*derived.Definition, catalog derived.Catalog) (metrics []*derived.Definition) {
	defined := make(map[string]bool, len(defs))
	for _, d := range defs {
		defined[d.Name] = true
	}
	for _, d := range defs {
		for name := range d.Names {
			short := derived.ShortName(name)
			if short == name || defined[short] {
				continue
			}
			if _, err := catalog.Desc(short); pdu.CodeOf(err) != pdu.ErrName {
				defined[short] = true
				if m, err := derived.Parse(short, short); err == nil {
					metrics = append(metrics, m)
				}
			}
		}
	}
	return metrics
}

// runner runs a test.
type runner struct {
	test     *Test
	set      *derived.Set
	labels   map[string]string // of definitions, by name
	groups   *derived.Groups
	failures []Failure
}

func (u *runner) position(pos sourcePos) config.Position { return pos.inFile(u.test.Pos.File) }

// lookup returns the metric of an expectation, and an empty failure of it. If the metric cannot be used, it is nil and
// the failure has been added.
func (u *runner) lookup(name string, pos sourcePos, msg string) (m *derived.Metric, f Failure) {
	m, ok := u.set.Lookup(derived.ShortName(name))
	f = Failure{Pos: u.position(pos), Metric: name, Msg: msg}
	switch {
	case !ok:
		f.Err = ErrNoDefinition
	case m.Err != nil:
		f.Err = m.Err
	default:
		return m, f
	}
	u.failures = append(u.failures, f)
	return nil, f
}

// checkMetadata compares the descriptor of a definition, and its labels if there are expected ones.
func (u *runner) checkMetadata(want metadataCheck) {
	m, f := u.lookup(want.name, want.pos, "metadata "+want.name)
	if m == nil {
		return
	}
	w, g := want.desc, m.Desc
	rows := []Row{
		{Subject: "type", Want: w.Type.String(), Got: g.Type.String()},
		{Subject: "semantics", Want: w.Sem.String(), Got: g.Sem.String()},
		{Subject: "units", Want: unitsText(w.Units), Got: unitsText(g.Units)},
		{Subject: "indom", Want: indomText(w.InDom), Got: indomText(g.InDom)},
	}
	if want.labels != "" {
		got := cmp.Or(u.labels[m.Name], "{}")
		rows = append(rows, Row{Subject: "labels", Want: want.labels, Got: got})
	}
	for _, row := range rows {
		if row.Want == row.Got {
			f.Matching++
		} else {
			f.Rows = append(f.Rows, row)
		}
	}
	if len(f.Rows) > 0 {
		u.failures = append(u.failures, f)
	}
}

func unitsText(u pdu.Units) string { return cmp.Or(u.String(), "none") }

func indomText(d pdu.InDom) string {
	if d == pdu.NoInDom {
		return "singular"
	}
	return d.String()
}

// checkError checks that a definition has an expected error.
func (u *runner) checkError(want errorCheck) {
	f := Failure{Pos: u.position(want.pos), Metric: want.name, Msg: "error " + want.name}
	m, ok := u.set.Lookup(derived.ShortName(want.name))
	switch {
	case !ok:
		f.Err = ErrNoDefinition
	case m.Err == nil:
		f.Rows = []Row{{Subject: "error", Want: cmp.Or(want.text, "any"), Got: "none"}}
	case !strings.Contains(m.Err.Error(), want.text):
		f.Rows = []Row{{Subject: "error", Want: want.text, Got: m.Err.Error()}}
	default:
		return
	}
	u.failures = append(u.failures, f)
}

// expectation has the expected values of a metric.
type expectation struct {
	*target
	metric   *derived.Metric
	failures map[*series]*Failure
}

// checkValues evaluates the expected metrics at each sample, as the agent does for one client. Windows get every
// sample, and the history of the client only those that it fetches.
func (u *runner) checkValues() {
	expected := u.expectations()
	if len(expected) == 0 {
		return
	}
	depth := 1
	for _, e := range expected {
		depth = max(depth, 1+e.metric.Needs().History)
	}
	c := newCollector(u.test, u.set)
	eval := u.set.NewEvaluation()
	eval.SetGroups(u.groups)
	windows := window.NewSingleClient(u.set, u.groups, window.FirstTicks)
	var history []derived.Sample // newest first
	for n := range u.test.samples {
		taken := c.sample(n)
		windows.Sample(u.test.sampleTime(n), taken)
		fetch, fetched := n, true
		if u.test.fetches != nil {
			fetch, fetched = slices.BinarySearch(u.test.fetches, u.test.sampleTime(n))
		}
		if !fetched {
			continue
		}
		history = slices.Insert(history, 0, derived.Sample(taken))
		history = history[:min(len(history), depth)]
		eval.Reset(history...)
		eval.SetResults(windows.Read())
		for _, e := range expected {
			e.compare(u, fetch, eval.Value(e.metric))
		}
	}
	for _, e := range expected {
		for _, s := range e.series {
			if f := e.failures[s]; len(f.Rows) > 0 {
				u.failures = append(u.failures, *f)
			}
		}
	}
}

// expectations returns the expectations of metrics that can be used. Each series has a failure, which is empty so far.
func (u *runner) expectations() []*expectation {
	var expected []*expectation
	for _, t := range u.test.expect.byMetric {
		e := &expectation{target: t, failures: map[*series]*Failure{}}
		first := t.series[0]
		if e.metric, _ = u.lookup(first.name, first.pos, "expect "+first.label()); e.metric == nil {
			continue
		}
		expected = append(expected, e)
		for _, s := range t.series {
			f := &Failure{Pos: u.position(s.pos), Metric: s.name, Msg: "expect " + s.label()}
			e.failures[s] = f
			if s.instance {
				u.checkInstanceName(e, s, f)
			}
		}
	}
	return expected
}

// checkInstanceName checks that the instance of an expectation exists.
func (u *runner) checkInstanceName(e *expectation, s *series, f *Failure) {
	d := e.metric.Desc.InDom
	row := Row{Subject: "instance", Want: s.inst}
	if d == pdu.NoInDom {
		row.Got = "none: " + s.name + " is singular"
	} else if _, ours := u.set.GroupDomains()[d]; ours {
		return // a group may have any name
	} else if known := u.test.indom(d); known == nil {
		row.Got = fmt.Sprintf("none: there is no indom statement for %s", d)
	} else if _, ok := known.byName[s.inst]; !ok {
		row.Got = fmt.Sprintf("none: no such instance in the indom statement for %s", d)
	} else {
		return
	}
	f.Rows = append(f.Rows, row)
}

// instancesOf returns the instances of a metric; known is false if its domain is not declared. In a domain of groups
// these are the groups that have values or expectations.
func (u *runner) instancesOf(e *expectation, got *derived.Vector) ([]pdu.Instance, bool) {
	d := e.metric.Desc.InDom
	if _, ours := u.set.GroupDomains()[d]; !ours {
		known := u.test.indom(d)
		if known == nil {
			return nil, false
		}
		return known.instances, true
	}
	var instances []pdu.Instance
	for _, id := range got.Insts.IDs() {
		group, _ := u.groups.Find(d, id, "")
		instances = append(instances, group)
	}
	for _, s := range e.series {
		if s.instance && !slices.ContainsFunc(instances, func(in pdu.Instance) bool { return in.Name == s.inst }) {
			instances = append(instances, pdu.Instance{ID: pdu.NoInst, Name: s.inst})
		}
	}
	return instances, true
}

// compare compares the values of a fetch with what is expected.
func (e *expectation) compare(u *runner, n int, got *derived.Vector) {
	t := u.test
	whole := e.whole()
	want := whole.item(n)
	if e.metric.Desc.InDom == pdu.NoInDom {
		e.addRow(t, whole, want, n, "", got, 0)
		return
	}
	instances, known := u.instancesOf(e, got)
	if got.Code < 0 || !known || want != nil && want.kind == code {
		e.addRow(t, whole, want, n, "", got, -1)
		if !known || got.Code >= 0 {
			return
		}
		if want != nil && want.kind == code {
			got = &derived.Vector{} // compared above
		}
		whole, want = nil, nil
	}
	for _, instance := range instances {
		index := -1
		if got.Insts != nil {
			index = got.Insts.Index(instance.ID)
		}
		switch own := e.instance(instance.Name); {
		case own != nil:
			e.addRow(t, own, own.item(n), n, instance.Name, got, index)
		case whole != nil:
			e.addRow(t, whole, want, n, instance.Name, got, index)
		case index >= 0:
			e.addRow(t, e.series[0], &item{kind: none}, n, instance.Name, got, index) // nothing says that it may exist
		}
	}
}

// addRow compares value i of a vector with an item of a series. i is -1 for no value, or for all values.
func (e *expectation) addRow(t *Test, s *series, want *item, n int, instance string, got *derived.Vector, i int) {
	if want == nil || want.kind == anyValue {
		return
	}
	f := e.failures[s]
	switch {
	case want.accepts(n, got, i):
		f.Matching++
	case len(f.Rows) >= shownRows:
		f.MoreDiffer++
	default:
		row := Row{Subject: timeText(t.expectedTime(n)), Instance: instance, Want: want.text(n), Got: valueText(got, i)}
		if i < 0 && instance == "" && got.Len() > 0 {
			row.Got = plural.Of(got.Len(), "value")
		}
		f.Rows = append(f.Rows, row)
	}
}
