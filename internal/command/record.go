package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
	samples       int                 // to take; 0: nothing is recorded
	withErrors    bool                // definitions may have errors
	own           []served.Definition // those that are recorded
	tested        definitions.Parsed  // the named files, as a test reads them
	recording     unittest.Recording
	seenInstances map[pdu.InDom]*seen // instances that have had values
	first         time.Time           // of the first sample
}

// seen has the instances of a domain that have had values, with their names at that time: one that has gone has no
// name at the end. A name that went to another number is that number's.
type seen struct {
	names   map[pdu.Inst]string // "": not known
	numbers map[string]pdu.Inst
}

// add adds a value of an instance. Without a name, it has the one before.
func (s *seen) add(id pdu.Inst, name string) {
	if name == "" {
		name = s.names[id]
	}
	s.names[id], s.numbers[name] = name, id
}

// name returns the name of an instance in the test.
func (s *seen) name(id pdu.Inst) string {
	if name := s.names[id]; name != "" && s.numbers[name] == id {
		return name
	}
	return fmt.Sprintf("instance %d", id)
}

// record prints a test that expects the present values of the definitions. Definitions of the agent's files that they
// use are metrics of the test.
func (r *recorder) record(ctx context.Context, paths []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	r.definitions = definitions.ReadNamed(r.reader(nil), paths)
	for _, p := range r.definitions.Problems {
		if p.Severity == config.Error && r.definitions.Concerns(p) {
			return r.fail(p)
		}
	}
	r.named = r.definitions.ByName()
	if r.own = r.definitions.Own(); len(r.own) == 0 {
		return r.fail(errors.New("these files define no metric"))
	}
	r.tested = r.reader(paths).Read()
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
	defs := definitions.WithUsed(r.named, r.own...)
	for _, name := range r.operands() {
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
	if err := r.unrecordable(); err != nil {
		return err
	}
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
	for _, d := range r.recording.Derived {
		if d.Err == nil && !slices.ContainsFunc(d.Values, func(v *derived.Vector) bool { return v != nil }) {
			return fmt.Errorf("%s uses definitions that need earlier samples: record more samples", d.Name)
		}
	}
	for _, m := range r.session.Set().Metrics() {
		for needs := range m.Fetches {
			if needs.Clock {
				r.recording.Start = r.first
			}
		}
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

// operands returns the names of the test's metrics, sorted: those of the collector, and definitions of the context.
func (r *recorder) operands() []string {
	names := definitions.ForeignMetrics(r.own)
	for i, name := range names {
		if short := derived.ShortName(name); r.named[short].Definition != nil {
			names[i] = short
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// operand returns an operand as the definition that addSamples makes of it.
func (r *recorder) operand(name string) *derived.Metric {
	m, _ := r.session.Set().Lookup("(" + name + ")")
	return m
}

// unrecordable returns why a definition cannot be recorded: its error, unless errors are wanted, or groups of a
// definition of the context: a test has groups only of its own definitions.
func (r *recorder) unrecordable() error {
	inFiles := r.definitions.InFiles()
	for _, d := range r.recording.Derived {
		m, _ := r.session.Set().Lookup(d.Name)
		err := cmp.Or(m.Err, d.Err)
		if err == nil || r.withErrors && d.Err != nil {
			continue
		}
		advice := "To record that it has this error, use --with-errors"
		if d.Err == nil {
			advice = "A test of these files alone does not have this error"
		}
		return fmt.Errorf("%w\n%s", definitions.ProblemOf(inFiles[d.Name],
			served.Fault{Definition: r.named[d.Name], Offset: err.Offset(), Message: err.Error(), Err: err}), advice)
	}
	for _, name := range r.operands() {
		for l := range r.operand(name).Lines {
			if _, groups := r.session.Set().GroupDomains()[l.InDom]; groups {
				return fmt.Errorf("%s uses groups of instances: also name its file, %s", name, r.named[name].File)
			}
		}
	}
	return nil
}

// addEntries adds an entry for each metric and definition. A test lacks metrics that do not exist and definitions of the
// context with an error, so the errors are those that definitions have in the test.
func (r *recorder) addEntries() {
	for _, name := range r.operands() {
		m, code := r.operand(name), pdu.Code(0)
		if m.Err != nil || r.named[name].Definition == nil {
			_, err := r.session.Catalog().Desc(name)
			code = pdu.CodeOf(err)
		}
		if code != pdu.ErrName && code != pdu.ErrNonLeaf && writable(m.Desc) {
			r.recording.Metrics = append(r.recording.Metrics, unittest.Recorded{Name: name, Desc: m.Desc, Code: code})
		}
	}
	labels := definitions.Labels(r.own)
	test := unittest.NewSet(r.tested.Language, definitions.Derived(r.tested.All), &r.recording)
	for _, d := range r.own {
		if m, _ := r.session.Set().Lookup(d.Name); writable(m.Desc) {
			entry := unittest.Recorded{Name: d.Name, Desc: m.Desc, Labels: labels[d.Name]}
			if there, ok := test.Lookup(d.Name); ok {
				entry.Err = there.Err
			}
			r.recording.Derived = append(r.recording.Derived, entry)
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
			r.seenInstances[d] = &seen{map[pdu.Inst]string{}, map[string]pdu.Inst{}}
		}
		for _, id := range v.Insts.IDs() {
			name, _ := r.session.InstanceName(d, id)
			r.seenInstances[d].add(id, name)
		}
		return &v
	}
	begins := map[string]bool{} // definitions of the context that lack earlier samples: what uses them does not know that
	for i := range r.recording.Metrics {
		if m := &r.recording.Metrics[i]; m.Code == 0 {
			v := value("("+m.Name+")", m.Desc.InDom)
			if v.Len() == 0 && len(r.recording.Times) <= r.operand(m.Name).Needs().History {
				v.Code, begins[m.Name] = pdu.ErrAgain, true
			}
			m.Values = append(m.Values, v)
		}
	}
	for i := range r.recording.Derived {
		d := &r.recording.Derived[i]
		switch used := func(u served.Definition) bool { return begins[u.Name] }; {
		case d.Err != nil:
		case len(begins) > 0 && slices.ContainsFunc(definitions.WithUsed(r.named, r.named[d.Name]), used):
			d.Values = append(d.Values, nil)
		default:
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
		seen := r.seenInstances[d]
		for _, id := range slices.Sorted(maps.Keys(seen.names)) {
			domain.Instances = append(domain.Instances, pdu.Instance{ID: id, Name: seen.name(id)})
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
	defs := r.tested.All
	result := unittest.Run(r.tested.Language, definitions.Derived(defs), definitions.Labels(defs), f.Tests[0])
	if failed := result.String(); failed != "" {
		return r.fail(fmt.Errorf("the recorded test does not pass:\n%s", failed))
	}
	return commandline.ExitOK
}
