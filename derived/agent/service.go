package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/identity"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Root is the name of the subtree of the PMNS that the agent serves.
const Root = "derived"

// Definition is a derived metric with what its configuration file says about it besides.
type Definition struct {
	*derived.Definition
	OneLine, Help *string // nil: not given
	File          string
	Line          int

	// Explain renders a message about a place in the expression for people: with the position in
	// the file, the line and a caret. Nil: only the message.
	Explain func(offset int, msg string) string
}

// Failure is a definition that cannot be read.
type Failure struct {
	Name    string // of the definition; "": the problem is the file's
	Text    string // the expression, as far as it is known
	File    string
	Line    int
	Message string
}

// File is a file of definitions, or a place where there should be one.
type File struct {
	Path        string
	Definitions int       // that could be read
	Failed      int       // that could not
	Modified    time.Time // zero: not known
	Error       string    // why it was not read, or not to its end; "": it was
}

// Config is all definitions as they are configured now.
type Config struct {
	Definitions []Definition
	Failures    []Failure
	Files       []File
	Read        time.Time // when

	Language derived.Language // as the site has configured it

	// Unread reports whether a file could not be read, or not to its end. What it defined before stays
	// in service. Nil: everything was read.
	Unread func(file string) bool
}

// service is everything served at one time. Immutable, except that feeds take new samples.
type service struct {
	set     *derived.Set
	spare   atomic.Pointer[derived.Evaluation] // made beforehand, for the first fetch
	metrics []*metric                          // in the order of their full names
	byID    map[pdu.PMID]*metric
	retired map[pdu.PMID]pdu.Desc // identities given up while the process lives
	names   *pmda.Namespace
	refused bool // names clash: not all metrics have theirs
	bound   bool // the operands have been looked up
	good    int  // metrics that are bound

	feeds []*feed // of all metrics, each once

	files  []file
	read   time.Time                 // when the files were
	labels map[string][]pdu.LabelSet // of all metrics that a file defines, by its path
}

// file is a file of definitions as derived.control.file.* shows it.
type file struct {
	File
	inst pdu.Inst
}

// metric is one definition as it is served.
type metric struct {
	def       *Definition
	source    bool // def has been bound to operands and is served again when a new one turns out to be wrong
	id        pdu.PMID
	desc      pdu.Desc
	described bool            // desc is what the metric has, or had when last bound
	derived   *derived.Metric // nil: not bound
	feed      *feed           // nil: not bound
	depth     int             // how many older samples it needs
	usage     *usage          // the same for all services
	protected bool            // its operands are only for known users
	inst      pdu.Inst        // in derived.control.definition.*
	state     string
	problem   string // why it is not served, or served as it was
	reported  bool   // the problem is one of Config.Failures
	absent    bool   // it could never be read and has no name, only a status
}

// usage is what became of a metric when it was fetched last. It belongs to the request loop.
type usage struct {
	fetched time.Time // zero: never
	values  int       // that it had then, for all instances
}

// The states of a definition, as derived.control.definition.state shows them.
const (
	stateBound   = "bound"   // served
	stateKept    = "kept"    // the new text is wrong, the last good one is served
	stateUnbound = "unbound" // an operand is missing
	stateFailed  = "failed"  // the definition is wrong
	stateWaiting = "waiting" // the operands have not been looked up yet
)

func (m *metric) fullName() string { return Root + "." + m.def.Name }

// code is what a metric answers that is not bound, to a fetch or, if it has none, for its descriptor.
func (m *metric) code() pdu.Code {
	if m.described || m.state == stateWaiting {
		return pdu.ErrAgain
	}
	return pdu.ErrBadDerive
}

// plan for a service: definitions, what is known of the collector, and what was before.
type blueprint struct {
	config    Config
	catalog   derived.Catalog // nil: not looked up yet
	operands  map[pdu.PMID]pdu.Desc
	before    *service // nil: none
	ids       *identity.Registry
	protected []string // names of operands, or of nodes above them, that only known users may see
	log       logrus.FieldLogger
	limits    Limits

	// What follows is made by build.
	met        int                // most operands of a definition
	old        map[string]*metric // of the service before, by name
	problems   map[string]string  // of definitions that are not those of the configuration, by name
	unreadable map[string]Failure // by names that are not served
	reported   map[string]bool    // names whose problem is one of Config.Failures
	secret     map[pdu.PMID]bool  // the protected operands
	feeds      []*feed            // of the service
	used       map[*feed]bool     // those
	byKey      map[string]*feed   // and those of the service before, by operandKey; nil: not needed yet
}

// build makes a service. Definitions that became wrong while they are served stay as they were.
func (b *blueprint) build() *service {
	b.limits = b.limits.complete()
	if b.before != nil {
		b.old = make(map[string]*metric, len(b.before.metrics))
		for _, m := range b.before.metrics {
			b.old[m.def.Name] = m
		}
	}
	defs := b.definitions()
	catalog := b.catalog
	if catalog == nil {
		catalog = derived.CatalogMap{}
	}
	set := bind(defs, catalog, b.config.Language)
	for again := true; again; { // an old definition that comes back may mend others, or break them
		again = false
		for i, d := range defs {
			m, _ := set.Lookup(d.Name)
			old := b.formerly(d.Name)
			if old == nil || old.Text == d.Text || b.catalog == nil {
				continue
			}
			problem := fault(d, m, b.limits)
			if problem == "" && m.Err != nil { // a misspelt operand is a mistake like any other
				problem = explain(d, m.Err)
			}
			if problem == "" {
				continue
			}
			b.problems[d.Name] = problem
			defs[i] = old.alone()
			again = true
		}
		if again {
			set = bind(defs, catalog, b.config.Language)
		}
	}
	b.secret, b.used = b.secrets(defs, catalog), make(map[*feed]bool, len(defs))
	return b.assemble(set, defs)
}

// fault is what is wrong with a definition, "" if that is nothing or only that operands are missing.
func fault(d *Definition, m *derived.Metric, limits Limits) string {
	switch {
	case m.Err == nil && int64(len(m.Needs().Operands)) > limits.Operands:
		return fmt.Sprintf("derived metric %s: %d operand metrics, %d are the most that are sampled together",
			d.Name, len(m.Needs().Operands), limits.Operands)
	case m.Err == nil && limits.taken > 0 && int64(len(m.Needs().Operands)) > limits.taken:
		return fmt.Sprintf("derived metric %s: pmcd takes no request for %d operand metrics (see its options -M and -L)",
			d.Name, len(m.Needs().Operands))
	case m.Err == nil || m.Err.Unbound():
		return ""
	}
	return explain(d, m.Err)
}

func bind(defs []*Definition, catalog derived.Catalog, language derived.Language) *derived.Set {
	return language.NewSet(slices.Collect(textsOf(defs)), catalog, Root)
}

// pointers returns where the definitions are.
func pointers(defs []Definition) []*Definition {
	all := make([]*Definition, len(defs))
	for i := range defs {
		all[i] = &defs[i]
	}
	return all
}

// formerly returns the definition of a name that is served now; nil if there is none.
func (b *blueprint) formerly(name string) *Definition {
	if old := b.old[name]; old != nil && old.source {
		return old.def
	}
	return nil
}

// definitions returns those to serve, each name once: what the configuration has, of several with one
// name the last, and for names that it fails to define what is served already.
func (b *blueprint) definitions() []*Definition {
	b.problems, b.reported = make(map[string]string), make(map[string]bool)
	b.unreadable = make(map[string]Failure)
	defs := make([]*Definition, 0, len(b.config.Definitions))
	at := make(map[string]int, len(b.config.Definitions))
	for _, d := range pointers(b.config.Definitions) {
		if i, ok := at[d.Name]; ok {
			defs[i] = d
			continue
		}
		at[d.Name] = len(defs)
		defs = append(defs, d)
	}
	keep := func(d *Definition, problem string) {
		if _, ok := at[d.Name]; ok {
			return
		}
		at[d.Name] = len(defs)
		defs = append(defs, d.alone())
		b.problems[d.Name], b.reported[d.Name] = problem, true
	}
	for _, f := range b.config.Failures {
		if old := b.formerly(f.Name); old != nil {
			keep(old, f.Message)
		} else if f.Name != "" {
			b.addFailure(f)
		}
	}
	if b.before == nil || b.config.Unread == nil {
		return defs
	}
	unread := make(map[string]bool)
	for _, m := range b.before.metrics {
		is, known := unread[m.def.File]
		if !known {
			is = b.config.Unread(m.def.File)
			unread[m.def.File] = is
		}
		switch {
		case is && m.absent: // there is nothing to serve, but its mistake has not gone
			b.addFailure(Failure{Name: m.def.Name, Text: m.def.Text, File: m.def.File, Line: m.def.Line, Message: m.problem})
		case is:
			keep(m.def, m.def.File+" could not be read")
		}
	}
	return defs
}

// addFailure notes what is wrong with a name that is not served; of several mistakes the last one counts.
func (b *blueprint) addFailure(f Failure) {
	b.unreadable[f.Name] = f
}

// alone returns a copy: one that is kept must not keep all others of its configuration in memory.
func (d *Definition) alone() *Definition {
	own := *d
	return &own
}

func explain(d *Definition, err *derived.Error) string {
	if d.Explain == nil {
		return err.Error()
	}
	return d.Explain(err.Offset(), err.Error())
}

func (b *blueprint) assemble(set *derived.Set, defs []*Definition) *service {
	s := &service{
		set: set, bound: b.catalog != nil,
		byID: make(map[pdu.PMID]*metric, len(defs)), retired: make(map[pdu.PMID]pdu.Desc),
		metrics: make([]*metric, 0, len(defs)),
	}
	for _, d := range defs {
		m, err := b.metric(set, d)
		if err != nil {
			b.log.WithError(err).WithField("metric", d.Name).Error("definition has no identity")
			continue
		}
		s.metrics = append(s.metrics, m)
		s.byID[m.id] = m
		old := b.formerly(d.Name)
		m.source = m.derived != nil || old != nil && old.Text == d.Text // then it is unbound for now
	}
	s.feeds = b.feeds
	b.addUnreadable(s)
	b.addFiles(s)
	b.retire(s)
	slices.SortFunc(s.metrics, func(x, y *metric) int { return cmp.Compare(x.def.Name, y.def.Name) })
	s.name(b)
	for _, m := range s.metrics {
		if m.derived != nil {
			s.good++
		}
	}
	return s
}

// addUnreadable adds definitions that have never been right, for their status.
func (b *blueprint) addUnreadable(s *service) {
	for _, name := range slices.Sorted(maps.Keys(b.unreadable)) { // identities are given out in this order
		f := b.unreadable[name]
		id, err := b.ids.PMID(f.Name)
		if err != nil || s.byID[id] != nil { // it has been read elsewhere
			continue
		}
		m := &metric{
			def: &Definition{Definition: &derived.Definition{Name: f.Name, Text: f.Text}, File: f.File, Line: f.Line},
			id:  id, usage: &usage{}, state: stateFailed, problem: f.Message, reported: true, absent: true,
		}
		m.inst = b.ids.Instance(id)
		s.metrics = append(s.metrics, m)
	}
}

// addFiles adds what is to be said about the files.
func (b *blueprint) addFiles(s *service) {
	s.read, s.labels = b.config.Read, make(map[string][]pdu.LabelSet)
	paths := make([]string, len(b.config.Files))
	for i, f := range b.config.Files {
		paths[i] = f.Path
	}
	for i, inst := range b.ids.FileNumbers(paths) {
		s.files = append(s.files, file{b.config.Files[i], inst})
	}
	for _, m := range s.metrics {
		if _, ok := s.labels[m.def.File]; !ok {
			s.labels[m.def.File] = fileLabels(m.def.File, b.log)
		}
	}
}

// metric makes one metric of a set.
func (b *blueprint) metric(set *derived.Set, d *Definition) (*metric, error) {
	bound, _ := set.Lookup(d.Name)
	m := &metric{def: d, problem: b.problems[d.Name], reported: b.reported[d.Name]}
	old := b.old[d.Name]
	if old != nil {
		m.usage = old.usage
	}
	if m.usage == nil {
		m.usage = &usage{}
	}
	if bound.Err == nil {
		b.met = max(b.met, len(bound.Needs().Operands))
	}
	wrong := fault(d, bound, b.limits)
	var err error
	if bound.Err == nil && wrong == "" && b.catalog != nil {
		m.derived, m.state = bound, stateBound
		if m.problem != "" {
			m.state = stateKept
		}
		m.id, err = b.ids.Bind(d.Name, d.Text, bound.Desc)
		m.desc, m.described = bound.Desc, true
		m.desc.PMID = m.id
		m.feed, m.depth = b.feed(m, old), bound.Needs().History
		m.protected = b.isProtected(bound)
	} else {
		m.id, err = b.ids.PMID(d.Name)
		m.desc, m.described = b.ids.Desc(d.Name, d.Text)
		switch {
		case b.catalog == nil:
			m.state = stateWaiting
		case wrong != "":
			m.state, m.described = stateFailed, false
		default:
			m.state, wrong = stateUnbound, explain(d, bound.Err)
		}
		if b.catalog != nil && m.problem == "" {
			m.problem = wrong
		}
	}
	m.inst = b.ids.Instance(m.id)
	return m, err
}

// feed returns the feed for the operands of a metric: that of the service before, if there is one.
func (b *blueprint) feed(m, old *metric) *feed {
	operands := m.derived.Needs().Operands
	f := b.continued(old, operands)
	if f == nil {
		descs := make([]pdu.Desc, len(operands))
		for i, id := range operands {
			descs[i] = b.operands[id]
		}
		if b.byKey == nil {
			b.byKey = b.formerFeeds()
		}
		key := operandKey(descs)
		if f = b.byKey[key]; f == nil || !slices.Equal(f.descs, descs) {
			var like []int
			if n := len(b.feeds); n > 0 {
				like = b.feeds[n-1].agents
			}
			f = newFeed(descs, like)
			b.byKey[key] = f
		}
	}
	if !b.used[f] {
		b.used[f] = true
		b.feeds = append(b.feeds, f)
	}
	return f
}

// continued returns the feed that a metric had if it is for these operands; nil if it is not.
func (b *blueprint) continued(old *metric, operands []pdu.PMID) *feed {
	if old == nil || old.feed == nil || len(old.feed.descs) != len(operands) {
		return nil
	}
	for i, id := range operands {
		if desc := &old.feed.descs[i]; desc.PMID != id || *desc != b.operands[id] {
			return nil
		}
	}
	return old.feed
}

// formerFeeds are those of the service before, by operandKey.
func (b *blueprint) formerFeeds() map[string]*feed {
	byKey := make(map[string]*feed)
	if b.before != nil {
		for _, f := range b.before.feeds {
			byKey[operandKey(f.descs)] = f
		}
	}
	return byKey
}

// secrets finds the operands that belong to agents that show their values to known users only. The
// values come to us as to a known user and must not go to others. What counts is the operand itself,
// however many definitions lie between it and the metric that is served.
func (b *blueprint) secrets(defs []*Definition, catalog derived.Catalog) map[pdu.PMID]bool {
	found := make(map[pdu.PMID]bool)
	if len(b.protected) == 0 {
		return found
	}
	for _, d := range defs {
		for name := range d.Names {
			if !b.isSecret(name) {
				continue
			}
			if desc, err := catalog.Desc(name); err == nil {
				found[desc.PMID] = true
			}
		}
	}
	return found
}

func (b *blueprint) isSecret(name string) bool {
	return slices.ContainsFunc(b.protected, func(node string) bool {
		rest, ok := strings.CutPrefix(name, node)
		return ok && (rest == "" || rest[0] == '.')
	})
}

func (b *blueprint) isProtected(m *derived.Metric) bool {
	return slices.ContainsFunc(m.Needs().Operands, func(id pdu.PMID) bool { return b.secret[id] })
}

// retire keeps the descriptors of identities that a change of metadata has ended.
func (b *blueprint) retire(s *service) {
	if b.before == nil {
		return
	}
	for id, desc := range b.before.retired {
		if s.byID[id] == nil { // it may be in service again
			s.retired[id] = desc
		}
	}
	for id, old := range b.before.byID {
		if !old.described || s.byID[id] != nil {
			continue
		}
		if now, err := b.ids.PMID(old.def.Name); err == nil && now != id {
			s.retired[id] = old.desc
		}
	}
}

// name makes the name space. Metrics that are not bound can be
// looked up but are not shown to those who look around. A name cannot be a metric and a node above
// others: of names that clash those that are served already stay, then the older ones.
func (s *service) name(b *blueprint) {
	if s.namedAs(b.before) {
		s.names = b.before.names
		return
	}
	served, others := make([]*metric, 0, len(s.metrics)), make([]*metric, 0, len(s.metrics))
	for _, m := range s.metrics {
		if old := b.old[m.def.Name]; old != nil && old.derived != nil {
			served = append(served, m)
		} else {
			others = append(others, m)
		}
	}
	byAge := func(x, y *metric) int { return cmp.Compare(x.inst, y.inst) }
	slices.SortStableFunc(served, byAge)
	slices.SortStableFunc(others, byAge)
	entries := slices.Grow(control.Entries(b.ids.Domain()), len(s.metrics))
	for _, metrics := range [][]*metric{served, others} {
		for _, m := range metrics {
			if !m.absent {
				entries = append(entries, pmda.Entry{Name: m.fullName(), PMID: m.id, Hidden: s.hides(m)})
			}
		}
	}
	var err error
	s.names, err = pmda.NewNamespace(Root, entries)
	s.refused = err != nil
	for _, refused := range nameErrors(err) {
		if m := s.find(refused.Name); m != nil {
			m.derived, m.feed, m.described, m.source = nil, nil, false, false
			m.state, m.problem, m.reported = stateFailed, refused.Error(), false
		}
	}
}

// hides reports whether a metric is not shown to those who look around.
func (s *service) hides(m *metric) bool { return !m.described || s.bound && m.derived == nil }

// namedAs reports whether a service has the name space that this one will have.
func (s *service) namedAs(before *service) bool {
	return before != nil && !before.refused && slices.EqualFunc(s.metrics, before.metrics, func(m, old *metric) bool {
		return m.id == old.id && m.absent == old.absent && s.hides(m) == before.hides(old) && m.def.Name == old.def.Name
	})
}

// nameErrors takes the error of NewNamespace apart.
func nameErrors(err error) []*pmda.NameError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var all []*pmda.NameError
	for _, one := range joined.Unwrap() {
		if refused, ok := errors.AsType[*pmda.NameError](one); ok {
			all = append(all, refused)
		}
	}
	return all
}

// failed counts the definitions that are wrong, those aside that are among Config.Failures.
func (s *service) failed() int {
	n := 0
	for _, m := range s.metrics {
		if (m.state == stateFailed || m.state == stateKept) && !m.reported {
			n++
		}
	}
	return n
}

// find returns a metric by its full name.
func (s *service) find(name string) *metric {
	short, ok := strings.CutPrefix(name, Root+".")
	if !ok {
		return nil
	}
	i, ok := slices.BinarySearchFunc(s.metrics, short, func(m *metric, name string) int { return cmp.Compare(m.def.Name, name) })
	if !ok {
		return nil
	}
	return s.metrics[i]
}

// under calls yield for all metrics at or below a node.
func (s *service) under(name string, yield func(*metric) bool) {
	short := strings.TrimPrefix(strings.TrimPrefix(name, Root), ".")
	i, _ := slices.BinarySearchFunc(s.metrics, short, func(m *metric, name string) int { return cmp.Compare(m.def.Name, name) })
	for _, m := range s.metrics[i:] {
		rest, ok := strings.CutPrefix(m.def.Name, short)
		if !ok {
			return
		}
		if (short == "" || rest == "" || rest[0] == '.') && !yield(m) {
			return
		}
	}
}

// pairs calls yield for every metric with that of the same name in another service, nil if there is none.
func (s *service) pairs(other *service, yield func(m, same *metric) bool) {
	rest := other.metrics
	for _, m := range s.metrics {
		for len(rest) > 0 && rest[0].def.Name < m.def.Name {
			rest = rest[1:]
		}
		var same *metric
		if len(rest) > 0 && rest[0].def.Name == m.def.Name {
			same = rest[0]
		}
		if !yield(m, same) {
			return
		}
	}
}

// sameNames reports whether two services show the same names with the same identities.
func (s *service) sameNames(t *service) bool {
	if t == nil || s.names == t.names {
		return t != nil
	}
	a, errA := s.names.Traverse(0, Root)
	b, errB := t.names.Traverse(0, Root)
	if errA != nil || errB != nil || !slices.Equal(a, b) {
		return false
	}
	for _, name := range a {
		x, errX := s.names.Lookup(0, name)
		y, errY := t.names.Lookup(0, name)
		if errX != nil || errY != nil || x != y {
			return false
		}
	}
	return true
}

// sameLabels reports whether all metrics of both services have the same labels.
func (s *service) sameLabels(t *service) bool {
	for m, old := range func(yield func(m, old *metric) bool) { s.pairs(t, yield) } {
		if old != nil && old.id == m.id && !m.absent && !old.absent && old.def.File != m.def.File {
			return false
		}
	}
	return true
}
