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
	"pmdaderived/internal/collector"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/definitions"
	"pmdaderived/internal/replay"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/internal/unittest"
	"pmdaderived/pdu"
)

// recorder records metrics of a collector, and the values of definitions, as a test.
type recorder struct {
	*invocation
	samples int
	pause   time.Duration

	session       *session.Session
	defs          []served.Definition
	language      derived.Language
	recording     unittest.Recording
	seenInstances map[pdu.InDom]map[pdu.Inst]bool
	first         time.Time
}

// setSamples sets the number of samples, at least 1.
func (r *recorder) setSamples(arg string) error {
	if err := samplesOption(&r.samples)(arg); err == nil && r.samples > 0 {
		return nil
	}
	return fmt.Errorf("%q is not a number of samples, 1 or more", arg)
}

// record prints a test that expects the present values of the definitions.
func (r *recorder) record(ctx context.Context, paths []string) int {
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	read := r.read(paths)
	for _, p := range read.Problems {
		if p.Severity == config.Error {
			return r.fail(p)
		}
	}
	r.defs, r.language = read.All, read.Language
	c, err := r.connect(ctx)
	if err != nil {
		return r.fail(err)
	}
	defer c.Close()
	if err := r.takeSamples(ctx, c); err != nil {
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
	return r.verify(text.Bytes())
}

func quoted(words []string) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
	}
	return all
}

// takeSamples takes all samples.
func (r *recorder) takeSamples(ctx context.Context, c *collector.Collector) error {
	all := slices.Clone(r.defs)
	for _, name := range definitions.ForeignMetrics(r.defs) {
		d, err := derived.Parse("("+name+")", name) // a definition with the metric's values
		if err != nil {
			return err
		}
		all = append(all, served.Definition{Definition: d})
	}
	var err error
	if r.session, err = session.New(ctx, c.Metrics, all, r.language); err != nil {
		return err
	}
	r.addEntries()
	r.session.TickAtSamples() // a test has no other samples
	r.session.Watch(r.session.Set().Metrics()...)
	if c.Archive != nil {
		err = r.playArchive(ctx, c.Archive)
	} else {
		err = takeSamples(ctx, r.session, r.samples, r.pause, func(int) error { r.addSample(); return nil })
	}
	if err != nil {
		return err
	}
	r.addInstances()
	r.recording.Title = "recorded " + r.session.Time().UTC().Format(time.RFC3339)
	return nil
}

// playArchive takes the samples of an archive.
func (r *recorder) playArchive(ctx context.Context, p *collector.Archive) error {
	progress := r.progress(p.Part.Origin, p.Part.End)
	defer progress.clear()
	n := 0
	err := replay.NewPlayer(p.Source, r.session).Play(ctx, r.playerOptions(p, progress),
		func(*session.Session, time.Time) error {
			r.addSample()
			if n++; n == r.samples {
				return replay.ErrEnough
			}
			return nil
		})
	if err == nil && (n == 0 || !r.hasOperandValue()) {
		end := p.Part.End
		if n == r.samples {
			end = r.session.Time()
		}
		err = fmt.Errorf("the archive has no value of any operand from %s to %s", p.FormatTime(p.Part.Origin),
			p.FormatTime(end))
	}
	return err
}

// hasOperandValue reports whether some operand has had a value, or none can have one.
func (r *recorder) hasOperandValue() bool {
	all := slices.DeleteFunc(slices.Clone(r.recording.Metrics), func(m unittest.Recorded) bool { return m.Code < 0 })
	has := func(v *derived.Vector) bool { return v.Len() > 0 }
	return len(all) == 0 || slices.ContainsFunc(all,
		func(m unittest.Recorded) bool { return slices.ContainsFunc(m.Values, has) })
}

// addEntries adds an entry for each metric and definition.
func (r *recorder) addEntries() {
	absent := definitions.MissingMetrics(r.defs, r.session.Catalog())
	for _, name := range definitions.ForeignMetrics(r.defs) {
		if slices.Contains(absent, name) {
			continue
		}
		desc, err := r.session.Catalog().Desc(name)
		m := unittest.Recorded{Name: name, Desc: desc}
		if err != nil {
			m.Code = pdu.CodeOf(err)
		}
		if writable(desc) {
			r.recording.Metrics = append(r.recording.Metrics, m)
		}
	}
	labels := definitions.Labels(r.defs)
	for _, d := range r.defs {
		m, _ := r.session.Set().Lookup(d.Name)
		made := unittest.Recorded{Name: d.Name, Desc: m.Desc, Err: m.Err, Labels: labels[d.Name]}
		if writable(m.Desc) {
			r.recording.Derived = append(r.recording.Derived, made)
		}
	}
	r.seenInstances = map[pdu.InDom]map[pdu.Inst]bool{}
}

// writable reports whether values of a metric can be written: events cannot.
func writable(d pdu.Desc) bool { return d.Type <= pdu.TypeAggregateStatic }

// addSample copies the values of a sample.
func (r *recorder) addSample() {
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
}

// addInstances adds the instances that have had values.
func (r *recorder) addInstances() {
	for _, d := range slices.Sorted(maps.Keys(r.seenInstances)) {
		_, groups := r.session.Set().GroupDomains()[d]
		made := unittest.RecordedInDom{InDom: d, Groups: groups, Labels: r.session.Labels(d)}
		for _, id := range slices.Sorted(maps.Keys(r.seenInstances[d])) {
			name, ok := r.session.InstanceName(d, id)
			if !ok {
				name = fmt.Sprintf("instance %d", id) // its name is not known any more
			}
			made.Instances = append(made.Instances, pdu.Instance{ID: id, Name: name})
		}
		r.recording.InDoms = append(r.recording.InDoms, made)
	}
}

// verify runs the recorded test.
func (r *recorder) verify(text []byte) int {
	f, problems := unittest.Parse("recorded", text)
	if len(problems) > 0 {
		return r.fail(problems[0])
	}
	result := unittest.Run(r.language, definitions.Derived(r.defs), definitions.Labels(r.defs), f.Tests[0])
	if failed := result.String(); failed != "" {
		return r.fail(fmt.Errorf("the recorded test does not pass:\n%s", failed))
	}
	return commandline.ExitOK
}
