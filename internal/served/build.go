package served

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"pmdaderived/derived"
	"pmdaderived/internal/identity"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Input has everything that Build makes a snapshot from.
type Input struct {
	Config         Config
	Catalog        derived.Catalog    // comparable and immutable; nil: nothing has been looked up yet
	Before         *Snapshot          // the snapshot that is to be replaced; nil: none
	IDs            *identity.Registry // Build adds PMIDs for new definitions, and the descriptors that they stand for
	OwnEntries     []pmda.Entry       // the agent's own metrics
	ProtectedNodes []string           // only known users may see metrics at or below these, and what uses them
	MaxOperands    int                // of one definition, since they are fetched together; 0: no limit
}

// builder has the state of one Build.
type builder struct {
	Input
	servedBefore map[string]*Served           // of Before, by name of the definition
	problems     map[string]problem           // by name of the definition: why the former definition is served
	unreadable   map[string]*Failure          // by name: definitions that cannot be read and were never served
	descs        func() map[pdu.PMID]pdu.Desc // returns the descriptors of the operands
	secret       map[string]bool              // names of definitions whose file not everyone can read
	snapshot     *Snapshot
	keyBuf       []byte // scratch space of operandSet
}

// problem says why the definition of the configuration is not served.
type problem struct {
	text     string
	reported bool // it is one of Config.Failures
}

// Build returns a snapshot. A definition that has become wrong is served as in Before.
func Build(in Input) *Snapshot {
	b := &builder{
		Input: in, problems: make(map[string]problem), unreadable: make(map[string]*Failure), secret: make(map[string]bool),
	}
	if in.Before == nil {
		b.Before = &Snapshot{}
	}
	b.servedBefore = make(map[string]*Served, len(b.Before.Served))
	for _, m := range b.Before.Served {
		b.servedBefore[m.Def.Name] = m
	}
	defs := b.selectDefinitions()
	set := b.bind(defs)
	b.descs = sync.OnceValue(func() map[pdu.PMID]pdu.Desc { return descriptors(defs, in.Catalog) })
	b.snapshot = &Snapshot{
		Set: set, catalog: in.Catalog, LookedUp: in.Catalog != nil,
		Files:  slices.Clone(in.Config.Files),
		Served: make([]*Served, 0, len(defs)), ByID: make(map[pdu.PMID]*Served, len(defs)),
		Windows: make([]*OperandSet, len(set.Windows())), Retired: make(map[pdu.PMID]pdu.Desc),
		setIndexes: make(map[string]int, len(b.Before.setIndexes)),
	}
	for i, d := range defs {
		b.addServed(d, set.Metrics()[i])
	}
	b.addUnreadable()
	b.collectGroupInDoms()
	b.assignFileNumbers()
	b.collectRetired()
	slices.SortFunc(b.snapshot.Served, func(x, y *Served) int { return cmp.Compare(x.Def.Name, y.Def.Name) })
	for i, m := range b.snapshot.Served {
		m.Index = i
	}
	b.buildNamespace()
	b.countBound()
	return b.snapshot
}

// countBound counts the bound definitions, all and by file, and sets their digest. The digest has nothing that differs
// between hosts with the same definitions and operands: no PMIDs, and no instance domains, since a host numbers those of
// groups itself. It has only text that everyone can see, since a client could try guesses at the rest.
func (b *builder) countBound() {
	s, byFile, hash := b.snapshot, make(map[string]int), sha256.New()
	for _, m := range s.Served {
		if m.Derived == nil {
			continue
		}
		s.Bound++
		byFile[m.Def.File]++
		fmt.Fprintf(
			hash, "%s\x00%s\x00%d %d %d\x00", m.Def.Name, m.Def.PublicText(), m.Desc.Type, m.Desc.Sem, m.Desc.Units.Wire())
	}
	for i := range s.Files {
		s.Files[i].Bound = byFile[s.Files[i].Path]
	}
	s.Digest = hex.EncodeToString(hash.Sum(nil)[:8])
}

// servedDefinition returns the definition of a name that Before serves; nil: there is none.
func (b *builder) servedDefinition(name string) *Definition {
	if old := b.servedBefore[name]; old != nil && old.wasBound {
		return old.Def
	}
	return nil
}

// selectDefinitions returns one definition for each name to serve: the last one of the configuration, or the one of
// Before if its file fails to define the name or could not be read, unless a later file defines the name. The set that
// bind returns has the metrics in the same order.
func (b *builder) selectDefinitions() []*Definition {
	defs := make([]*Definition, 0, len(b.Config.Definitions))
	at := make(map[string]int, len(b.Config.Definitions))
	for i := range b.Config.Definitions {
		d := &b.Config.Definitions[i]
		if k, ok := at[d.Name]; ok {
			defs[k] = d
			continue
		}
		at[d.Name] = len(defs)
		defs = append(defs, d)
	}
	places := make(map[string]int, len(b.Config.Files))
	for i, f := range b.Config.Files {
		places[f.Path] = i
	}
	keep := func(d *Definition, why string) {
		if k, ok := at[d.Name]; ok {
			defs[k] = d.clone()
		} else {
			at[d.Name] = len(defs)
			defs = append(defs, d.clone())
		}
		b.problems[d.Name] = problem{why, true}
	}
	for i := range b.Config.Failures {
		f := &b.Config.Failures[i]
		old := b.servedDefinition(f.Name)
		fromFile := old != nil && old.File == f.File
		k, defined := at[f.Name]
		switch {
		case f.Name == "":
		case defined && (f.Attribute || places[f.File] <= places[defs[k].File]):
		case fromFile || old != nil && !defined:
			keep(old, f.Message)
		case defined: // and not by the file that counts, which has nothing to keep
			b.problems[f.Name] = problem{f.Message, true}
		default:
			b.unreadable[f.Name] = f // of several failures the last one counts
		}
	}
	if b.Config.Unread == nil {
		return defs
	}
	for _, m := range b.Before.Served {
		place := b.Config.Unread(m.Def.File)
		k, defined := at[m.Def.Name]
		switch {
		case place < 0 || defined && place <= places[defs[k].File]:
		case m.Unreadable: // nothing can be served, but the problem is still there
			b.unreadable[m.Def.Name] = &Failure{
				Name: m.Def.Name, Text: m.Def.Text, File: m.Def.File, Line: m.Def.Line, Message: m.Problem,
				Secret: m.Def.Secret,
			}
		default:
			keep(m.Def, m.Def.File+" could not be read")
		}
	}
	return defs
}

// bind binds the definitions. It replaces wrong ones by those of Before and binds again, until nothing changes: a
// former definition may mend others, or break them.
func (b *builder) bind(defs []*Definition) *derived.Set {
	catalog := derived.Catalog(derived.CatalogMap{})
	if b.Catalog != nil {
		catalog = b.Catalog
	}
	language := b.Config.Language
	ids := b.IDs // so that the set keeps the registry alive, and not the builder
	language.GroupInDom = func(g derived.GroupDomain) pdu.InDom { return ids.GroupInDom(g.Of, g.Label) }
	nodes := b.ProtectedNodes
	language.Protects = func(name string) bool {
		return slices.ContainsFunc(nodes, func(node string) bool { return pdu.AtOrBelow(name, node) })
	}
	for {
		set := Bind(defs, catalog, language)
		for _, d := range defs {
			if d.Secret {
				b.secret[d.Name] = true
			}
		}
		if b.Catalog == nil || !b.restoreServed(set, defs) {
			return set
		}
	}
}

// restoreServed replaces definitions whose new text is wrong by those of Before, and reports whether there are any.
func (b *builder) restoreServed(set *derived.Set, defs []*Definition) bool {
	any := false
	for i, d := range defs {
		old := b.servedDefinition(d.Name)
		if old == nil || old.Text == d.Text {
			continue
		}
		m := set.Metrics()[i]
		why := b.problemOf(d, m)
		if why == "" && m.Err != nil { // also if only an operand does not exist: its name may be misspelt
			why = d.errorText(m.Err, b.secret)
		}
		if why != "" {
			b.problems[d.Name] = problem{text: why}
			defs[i] = old.clone()
			any = true
		}
	}
	return any
}

// problemOf returns what is wrong with a definition; "": nothing, or only that operands do not exist.
func (b *builder) problemOf(d *Definition, m *derived.Metric) string {
	switch {
	case m.Err == nil:
		return tooManyOperands(d, m, b.MaxOperands)
	case m.Err.Unbound():
		return ""
	}
	return d.errorText(m.Err, b.secret)
}

// addServed adds a definition to the snapshot. bound is the result of binding it.
func (b *builder) addServed(d *Definition, bound *derived.Metric) {
	former := b.problems[d.Name]
	e := &Served{Def: d, Problem: former.text, Reported: former.reported}
	problem := b.problemOf(d, bound)
	var err error
	if bound.Err == nil && problem == "" && b.Catalog != nil {
		err = b.setBound(e, bound)
	} else {
		err = b.setUnbound(e, bound, problem)
	}
	if err != nil {
		b.snapshot.WithoutPMID = append(b.snapshot.WithoutPMID, d.Name)
		return
	}
	e.Inst = b.IDs.Instance(e.ID)
	b.snapshot.Served = append(b.snapshot.Served, e)
	b.snapshot.ByID[e.ID] = e
}

// setBound sets the fields of a metric whose definition is bound. It fails if no PMID is left.
func (b *builder) setBound(e *Served, bound *derived.Metric) (err error) {
	e.Derived, e.State, e.wasBound, e.Protected = bound, Bound, true, bound.Protected
	if e.Problem != "" {
		e.State = Kept
	}
	e.ID, err = b.IDs.Bind(e.Def.Name, bound.Desc)
	e.Desc, e.HasDesc = bound.Desc, true
	e.Desc.PMID = e.ID
	needs := bound.Needs()
	e.Operands, e.OlderSamples = b.operandSet(needs.Operands), needs.History
	for _, i := range needs.Windows {
		b.snapshot.Windows[i] = b.operandSet(b.snapshot.Set.Windows()[i].Needs().Operands)
	}
	return err
}

// setUnbound sets the fields of a metric whose definition is not bound: it is wrong, if there is a problem, or its
// operands do not exist or are not known yet. It fails if no PMID is left.
func (b *builder) setUnbound(e *Served, bound *derived.Metric, problem string) (err error) {
	e.ID, err = b.IDs.PMID(e.Def.Name)
	e.Desc, e.HasDesc = b.IDs.Desc(e.Def.Name)
	old := b.servedDefinition(e.Def.Name)
	e.wasBound = old != nil && old.Text == e.Def.Text
	switch {
	case b.Catalog == nil:
		e.State = Waiting
	case problem != "":
		e.State = Failed
	default:
		e.State, problem = Unbound, e.Def.errorText(bound.Err, b.secret)
		e.Absent = e.Problem == "" && bound.Err.Absent()
	}
	if b.Catalog != nil && e.Problem == "" {
		e.Problem = problem
	}
	return err
}

// addUnreadable adds definitions that could never be read. They have a state, and a name in the PMNS if they were bound
// in an earlier run.
func (b *builder) addUnreadable() {
	for _, name := range slices.Sorted(maps.Keys(b.unreadable)) { // PMIDs are given out in this order
		f := b.unreadable[name]
		id, err := b.IDs.PMID(name)
		if err != nil || b.snapshot.ByID[id] != nil { // another file defines the name
			continue
		}
		desc, has := b.IDs.Desc(name)
		e := &Served{
			Def: &Definition{
				Definition: &derived.Definition{Name: name, Text: f.Text, File: f.File}, Line: f.Line, Secret: f.Secret,
			},
			ID: id, Inst: b.IDs.Instance(id), Desc: desc, HasDesc: has, State: Failed, Problem: f.Message, Reported: true,
			Unreadable: true,
		}
		b.snapshot.Served = append(b.snapshot.Served, e)
		if has {
			b.snapshot.ByID[id] = e
		}
	}
}

func (b *builder) assignFileNumbers() {
	paths := make([]string, len(b.snapshot.Files))
	for i, f := range b.snapshot.Files {
		paths[i] = f.Path
	}
	for i, inst := range identity.FileNumbers(paths) {
		b.snapshot.Files[i].Inst = inst
	}
}

// operandSet returns the set of operands with these PMIDs. It is the pointer of Before if Before has an equal set.
func (b *builder) operandSet(ids []pdu.PMID) *OperandSet {
	b.keyBuf = b.keyBuf[:0]
	for _, id := range ids {
		b.keyBuf = binary.BigEndian.AppendUint32(b.keyBuf, uint32(id))
	}
	if i, ok := b.snapshot.setIndexes[string(b.keyBuf)]; ok {
		return b.snapshot.OperandSets[i]
	}
	var o *OperandSet
	i, ok := b.Before.setIndexes[string(b.keyBuf)]
	if ok && (b.Catalog == b.Before.catalog || b.unchanged(b.Before.OperandSets[i].Descs)) {
		o = b.Before.OperandSets[i]
	} else {
		o = &OperandSet{Descs: make([]pdu.Desc, len(ids)), key: string(b.keyBuf)}
		for i, id := range ids {
			o.Descs[i] = b.descs()[id]
		}
	}
	b.snapshot.setIndexes[o.key] = len(b.snapshot.OperandSets)
	b.snapshot.OperandSets = append(b.snapshot.OperandSets, o)
	return o
}

// descriptors returns the descriptors of the operands in definitions.
func descriptors(defs []*Definition, catalog derived.Catalog) map[pdu.PMID]pdu.Desc {
	found := make(map[pdu.PMID]pdu.Desc)
	for d := range DerivedDefinitions(defs) {
		for name := range d.Names {
			if desc, err := catalog.Desc(name); err == nil {
				found[desc.PMID] = desc
			}
		}
	}
	return found
}

// unchanged reports whether operands still have these descriptors.
func (b *builder) unchanged(descs []pdu.Desc) bool {
	return !slices.ContainsFunc(descs, func(d pdu.Desc) bool { return d != b.descs()[d.PMID] })
}

// DefaultProtected returns the subtrees of the PMNS that are protected unless the administrator names others. Their
// agents show each client only what its user may see.
func DefaultProtected() []string { return []string{"proc", "hotproc", "systemd"} }

// collectRetired sets Retired: the descriptors of former PMIDs of definitions that still exist.
func (b *builder) collectRetired() {
	for _, m := range b.snapshot.Served {
		for _, was := range b.IDs.Former(m.Def.Name) {
			b.snapshot.Retired[was.PMID] = was
		}
	}
}
