package command

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/internal/unittest"
	"pmdaderived/pdu"
)

// recorder is the output of test --record: metrics of a collector, and the values of definitions, as a test.
type recorder struct {
	*run
	samples       int // to take; 0: nothing is recorded
	recording     unittest.Recording
	seenInstances map[pdu.InDom]map[pdu.Inst]bool // instances that have had values
	first         time.Time                       // of the first sample
}

// record prints a test that expects the present values of the definitions.
func (r *recorder) record(ctx context.Context, paths []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	r.definitions = r.reader(paths).Read()
	for _, p := range r.definitions.Problems {
		if p.Severity == config.Error {
			return r.fail(p)
		}
	}
	if err := r.connect(ctx); err != nil {
		return r.fail(err)
	}
	if err := r.addSamples(ctx); err != nil {
		return r.fail(err)
	}
	var text bytes.Buffer
	fmt.Fprintln(&text, "# Recorded by pmdaderived test --record: it expects the values of that time.")
	if beside := strings.TrimSuffix(paths[0], ".conf"); len(paths) > 1 || beside == paths[0] {
		fmt.Fprintf(&text, "definitions %s\n\n", strings.Join(quoted(paths), " "))
	} else {
		fmt.Fprintf(&text, "# Save it beside the definitions as %s.\n\n", filepath.Base(beside)+unittest.Extension)
	}
	text.WriteString(r.recording.String())
	r.stdout.writeExactly(text.Bytes())
	return r.repeat(text.Bytes())
}

func quoted(words []string) []string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
	}
	return quoted
}

// addSamples takes all samples.
func (r *recorder) addSamples(ctx context.Context) error {
	defs := slices.Clone(r.definitions.All)
	for _, name := range definitions.ForeignMetrics(r.definitions.All) {
		d, err := derived.Parse("("+name+")", name) // a definition with the metric's values
		if err != nil {
			return err
		}
		defs = append(defs, served.Definition{Definition: d})
	}
	var err error
	if r.session, err = session.New(ctx, r.collector.Metrics, defs, r.definitions.Language); err != nil {
		return err
	}
	r.addEntries()
	r.session.TickAtSamples() // a test has no other samples
	r.session.Watch(r.session.Set().Metrics()...)
	if r.collector.Archive != nil {
		err = r.addArchive(ctx)
	} else {
		err = r.takeSamples(ctx, 0, r.samples, r.addSample)
	}
	if err != nil {
		return err
	}
	r.addInstances()
	r.recording.Title = "recorded " + r.session.Time().UTC().Format(time.RFC3339)
	return nil
}

// addArchive takes the samples of an archive.
func (r *recorder) addArchive(ctx context.Context) error {
	archive := r.collector.Archive
	o, progress := r.playerOptions()
	defer progress.clear()
	err := r.playSamples(ctx, o, r.samples, r.addSample)
	if n := len(r.recording.Times); err == nil && (n == 0 || !r.hasOperandValue()) {
		end := archive.Part.End
		if n == r.samples {
			end = r.session.Time()
		}
		err = fmt.Errorf("the archive has no value of any operand from %s to %s",
			archive.FormatTime(archive.Part.Origin), archive.FormatTime(end))
	}
	return err
}

// hasOperandValue reports whether some operand has had a value, or none can have one. A test in which none has tests
// nothing: mostly the archive is that of another host, or of another time.
func (r *recorder) hasOperandValue() bool {
	operands := slices.DeleteFunc(slices.Clone(r.recording.Metrics), func(m unittest.Recorded) bool { return m.Code < 0 })
	has := func(v *derived.Vector) bool { return v.Len() > 0 }
	return len(operands) == 0 || slices.ContainsFunc(operands,
		func(m unittest.Recorded) bool { return slices.ContainsFunc(m.Values, has) })
}

// addEntries adds an entry for each metric and definition.
func (r *recorder) addEntries() {
	absent := definitions.MissingMetrics(r.definitions.All, r.session.Catalog())
	for _, name := range definitions.ForeignMetrics(r.definitions.All) {
		if slices.Contains(absent, name) {
			continue
		}
		desc, err := r.session.Catalog().Desc(name)
		if writable(desc) {
			m := unittest.Recorded{Name: name, Desc: desc, Code: pdu.CodeOf(err)}
			r.recording.Metrics = append(r.recording.Metrics, m)
		}
	}
	labels := definitions.Labels(r.definitions.All)
	for _, d := range r.definitions.All {
		if m, _ := r.session.Set().Lookup(d.Name); writable(m.Desc) {
			r.recording.Derived = append(r.recording.Derived,
				unittest.Recorded{Name: d.Name, Desc: m.Desc, Err: m.Err, Labels: labels[d.Name]})
		}
	}
}

// writable reports whether values of a metric can be written: events cannot.
func writable(d pdu.Desc) bool { return d.Type <= pdu.TypeAggregateStatic }

// addSample copies the values of a sample, which are valid until the next one.
func (r *recorder) addSample(time.Time) error {
	if len(r.recording.Times) == 0 {
		r.first = r.session.Time()
	}
	r.recording.Times = append(r.recording.Times, r.session.Time().Sub(r.first))
	value := func(name string, d pdu.InDom) *derived.Vector {
		m, _ := r.session.Set().Lookup(name)
		v := *r.session.Value(m)
		v.Bits, v.Blobs = slices.Clone(v.Bits), slices.Clone(v.Blobs)
		if v.Insts != nil {
			v.Insts = derived.NewInstSet(slices.Clone(v.Insts.IDs()))
		}
		if d != pdu.NoInDom && r.seenInstances[d] == nil {
			r.seenInstances[d] = map[pdu.Inst]bool{}
		}
		for _, id := range v.Insts.IDs() {
			r.seenInstances[d][id] = true
		}
		return &v
	}
	for i := range r.recording.Metrics {
		if m := &r.recording.Metrics[i]; m.Code == 0 {
			m.Values = append(m.Values, value("("+m.Name+")", m.Desc.InDom))
		}
	}
	for i := range r.recording.Derived {
		if d := &r.recording.Derived[i]; d.Err == nil {
			d.Values = append(d.Values, value(d.Name, d.Desc.InDom))
		}
	}
	return nil
}

// addInstances adds the instances that have had values. Others are left out: a host may have thousands.
func (r *recorder) addInstances() {
	for _, d := range slices.Sorted(maps.Keys(r.seenInstances)) {
		_, groups := r.session.Set().GroupDomains()[d]
		domain := unittest.RecordedInDom{InDom: d, Groups: groups, Labels: r.session.Labels(d)}
		for _, id := range slices.Sorted(maps.Keys(r.seenInstances[d])) {
			name, ok := r.session.InstanceName(d, id)
			if !ok {
				name = fmt.Sprintf("instance %d", id) // its name is not known any more
			}
			domain.Instances = append(domain.Instances, pdu.Instance{ID: id, Name: name})
		}
		r.recording.InDoms = append(r.recording.InDoms, domain)
	}
}

// repeat runs the recorded test: one that does not pass would be of no use.
func (r *recorder) repeat(text []byte) int {
	f, problems := unittest.Parse("recorded", text)
	if len(problems) > 0 {
		return r.fail(problems[0])
	}
	defs := r.definitions.All
	result := unittest.Run(r.definitions.Language, definitions.Derived(defs), definitions.Labels(defs), f.Tests[0])
	if failed := result.String(); failed != "" {
		return r.fail(fmt.Errorf("the recorded test does not pass:\n%s", failed))
	}
	return commandline.ExitOK
}
