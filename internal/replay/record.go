package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/internal/session"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
	"pmdaderived/pmda/pmapi/archive/writer"
)

// Recording describes an archive of derived metrics to be made from another archive.
type Recording struct {
	In        *archive.Archive
	Out       string // base name of the files, which must not exist
	PID       int    // of this process
	Config    served.Config
	IDs       *identity.Registry     // gives PMIDs and instance domains; new ones for unknown names
	Wanted    func(name string) bool // which definitions to write; nil: all
	Replace   bool                   // also write metrics that In has
	NonFinite bool                   // also write values that are not finite
	Options                          // times
}

// Report says what has been written.
type Report struct {
	Metrics  []*served.Served
	LeftOut  []LeftOut
	NewPMIDs []string // definitions whose PMIDs no agent has assigned
	Records  int
	Ticks    []Ticks
}

// LeftOut is a wanted definition that has not been written.
type LeftOut struct {
	Name          string
	Why           string
	Recorded      bool // In has the metric already
	LacksOperands bool // In does not have all metrics that the definition uses
}

// Errors of Record.
var (
	ErrNothing  = errors.New("no metric can be written")
	ErrNoValues = errors.New("the metrics have no value in the selected part of the archive: nothing is written")
)

// Record writes the archive. After an error it removes the files that it has written, and still returns a report.
func (r *Recording) Record(ctx context.Context) (*Report, error) {
	report := &Report{}
	source := NewSource(r.In)
	defer source.Close()
	source.SetTime(r.Start)
	catalog, err := session.LookUp(ctx, source, r.Config.Definitions)
	if err != nil {
		return report, fmt.Errorf("operands: %w", err)
	}
	unknown := make(map[string]bool) // asked first, because Build registers all names in IDs
	for _, d := range r.Config.Definitions {
		unknown[d.Name] = !r.IDs.WasBound(d.Name)
	}
	snapshot := served.Build(served.Input{Config: r.Config, Catalog: catalog, IDs: r.IDs})
	metrics, err := r.chooseMetrics(ctx, snapshot, unknown, report)
	if err != nil {
		return report, err
	}
	if len(metrics) == 0 {
		return report, ErrNothing
	}
	w := &recorder{
		Recording: r, source: source, snapshot: snapshot, report: report,
		metricIndexes: make(map[*derived.Metric]int), domains: make(map[pdu.InDom]*outDomain),
	}
	w.groups = r.groups(ctx, snapshot, w)
	sessions, err := w.sessions(ctx, catalog, metrics)
	if err != nil {
		return report, err
	}
	label := r.In.LogLabels()[0]
	w.out, err = writer.Create(r.Out, writer.Label{
		Version: label.Version, PID: r.PID, Start: r.Start, Host: label.Host,
		TimeZone: label.TimeZone, ZoneInfo: label.ZoneInfo,
	})
	if err != nil {
		return report, err
	}
	if err := w.write(ctx, sessions); err != nil {
		return report, errors.Join(err, w.out.Discard())
	}
	return report, nil
}

// recordedMetric is a metric to be written, with its PMID in the archive.
type recordedMetric struct {
	*served.Served
	id pdu.PMID
}

// chooseMetrics chooses the metrics to write, and their PMIDs: a name that In has keeps its own. unknown are the names
// whose PMIDs are new.
func (r *Recording) chooseMetrics(
	ctx context.Context, snapshot *served.Snapshot, unknown map[string]bool, report *Report,
) ([]recordedMetric, error) {
	var all []recordedMetric
	for _, m := range snapshot.Served {
		if r.Wanted != nil && !r.Wanted(m.Def.Name) {
			continue
		}
		leave := func(why string) { report.LeftOut = append(report.LeftOut, LeftOut{Name: m.Def.Name, Why: why}) }
		if m.Derived == nil {
			left := LeftOut{Name: m.Def.Name, Why: m.Problem}
			if bound, ok := snapshot.Set.Lookup(m.Def.Name); ok && bound.Err != nil { // the user can read the file
				left.Why, left.LacksOperands = bound.Err.Error(), bound.Err.Unbound()
			}
			report.LeftOut = append(report.LeftOut, left)
			continue
		}
		found, err := r.In.LookupNames(ctx, []string{m.FullName()})
		if err != nil {
			return nil, err
		}
		above, err := r.metricAbove(ctx, m.FullName())
		if err != nil {
			return nil, err
		}
		c := recordedMetric{m, m.ID}
		switch {
		case above != "":
			leave("the archive has a metric " + above)
			continue
		case found[0].Code == pdu.ErrNonLeaf:
			leave("the archive has metrics below this name")
			continue
		case found[0].Code == 0 && !r.Replace:
			left := LeftOut{Name: m.Def.Name, Why: "the archive already has it", Recorded: true}
			report.LeftOut = append(report.LeftOut, left)
			continue
		case found[0].Code == 0:
			c.id = found[0].PMID
			if desc, err := r.In.Desc(ctx, c.id); err != nil || !sameMetadata(desc, m.Desc, snapshot) {
				leave(fmt.Sprintf("the archive has it with different metadata: %s, not %s",
					metadataText(desc), metadataText(m.Desc)))
				continue
			}
		default:
			if names, err := r.In.NameAll(ctx, c.id); err == nil {
				leave(fmt.Sprintf("its PMID %s belongs to %s in the archive", c.id, names[0]))
				continue
			}
		}
		if found[0].Code != 0 && unknown[m.Def.Name] {
			report.NewPMIDs = append(report.NewPMIDs, m.Def.Name)
		}
		all = append(all, c)
		report.Metrics = append(report.Metrics, m)
	}
	return all, nil
}

// metricAbove returns a metric of In whose name is a parent of name, "" if there is none.
func (r *Recording) metricAbove(ctx context.Context, name string) (string, error) {
	for at, c := range name {
		if c != '.' {
			continue
		}
		if found, err := r.In.LookupNames(ctx, []string{name[:at]}); err != nil || found[0].Code == 0 {
			return name[:at], err
		}
	}
	return "", nil
}

// sameMetadata reports whether a descriptor of In is that of a metric, except for the numbers of group domains.
func sameMetadata(in, of pdu.Desc, snapshot *served.Snapshot) bool {
	if _, groups := snapshot.Set.GroupDomains()[of.InDom]; groups && in.InDom != pdu.NoInDom {
		of.InDom = in.InDom
	}
	of.PMID = in.PMID
	return in == of
}

func metadataText(d pdu.Desc) string {
	units := d.Units.String()
	if units == "" {
		units = "none"
	}
	return fmt.Sprintf("%s %s %s %s", d.Type, d.Sem, units, d.InDom)
}

// groups makes the numbering of groups, which begins with the groups that In has.
func (r *Recording) groups(ctx context.Context, snapshot *served.Snapshot, w *recorder) *derived.Groups {
	theirs := make(map[pdu.InDom]pdu.InDom)
	for _, m := range snapshot.Served {
		if m.Derived == nil {
			continue
		}
		if _, groups := snapshot.Set.GroupDomains()[m.Desc.InDom]; !groups {
			continue
		}
		found, err := r.In.LookupNames(ctx, []string{m.FullName()})
		if err != nil || found[0].Code < 0 {
			continue
		}
		if desc, err := r.In.Desc(ctx, found[0].PMID); err == nil && desc.InDom != pdu.NoInDom {
			theirs[m.Desc.InDom] = desc.InDom
		}
	}
	w.inputDomains = theirs
	groups := derived.NewGroups()
	groups.Restore(func(yield func(derived.Group) bool) {
		for d := range snapshot.Set.GroupDomains() {
			all, err := r.In.AllInstances(w.outInDom(d))
			if err != nil {
				continue
			}
			for _, one := range all {
				if !yield(derived.Group{InDom: d, Name: one.Name, Inst: one.ID}) {
					return
				}
			}
		}
	})
	return groups
}

// recorder writes a Recording.
type recorder struct {
	*Recording
	source       *Source
	snapshot     *served.Snapshot
	report       *Report
	groups       *derived.Groups
	inputDomains map[pdu.InDom]pdu.InDom // domains of groups: by our number that of In

	metrics          []recordedMetric
	metricIndexes    map[*derived.Metric]int    // index in metrics
	classes          map[*session.Session][]int // indexes of the metrics of each session
	domains          map[pdu.InDom]*outDomain
	out              *writer.Writer
	pendingTime      time.Time // time of the values that have not been written yet
	markTime         time.Time // time of the last mark
	hasValues        bool      // a value has been written
	nothingSinceMark bool      // no record since the last mark, or at all
}

// outInDom returns the number of an instance domain in the written archive.
func (w *recorder) outInDom(d pdu.InDom) pdu.InDom {
	if theirs, ok := w.inputDomains[d]; ok {
		return theirs
	}
	return d
}

// sessions makes one session for all metrics that are evaluated at the same records.
func (w *recorder) sessions(
	ctx context.Context, catalog *operand.Catalog, metrics []recordedMetric,
) ([]*session.Session, error) {
	w.metrics, w.classes = metrics, make(map[*session.Session][]int)
	all := make([][]pdu.PMID, len(metrics))
	for i, m := range metrics {
		w.metricIndexes[m.Derived] = i
		for needs := range m.Derived.Fetches {
			all[i] = append(all[i], needs.Operands...)
		}
	}
	classes, err := Classes(ctx, w.source, w.Options, all)
	if err != nil {
		return nil, err
	}
	var sessions []*session.Session
	for _, class := range classes {
		s := session.NewWithSet(w.source, catalog, w.snapshot.Set, w.groups)
		var watched []*derived.Metric
		for _, i := range class {
			watched = append(watched, metrics[i].Derived)
		}
		s.Watch(watched...)
		w.classes[s], sessions = class, append(sessions, s)
	}
	return sessions, nil
}
