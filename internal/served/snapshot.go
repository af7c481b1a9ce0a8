package served

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Snapshot has everything that is served at one time. It is immutable.
type Snapshot struct {
	Set         *derived.Set
	Served      []*Served // sorted by name
	ByID        map[pdu.PMID]*Served
	Retired     map[pdu.PMID]pdu.Desc // former PMIDs of the metrics, with the metadata that they stood for
	Namespace   *pmda.Namespace       // with the agent's own metrics
	LookedUp    bool                  // operands have been looked up
	Bound       int                   // number of bound metrics
	Digest      string                // of the names, expressions and metadata of the bound metrics
	WithoutPMID []string              // definitions that are left out because no PMID is left

	OperandSets []*OperandSet // of all metrics and windows, each once
	Windows     []*OperandSet // of Set.Windows(), by index; nil: no served metric needs the window

	Groups map[pdu.InDom]*GroupInDom // all instance domains of groups that were ever given out

	Files []File

	catalog    derived.Catalog // that of Input
	setIndexes map[string]int  // of OperandSets, by key
	hasClashes bool            // some metrics have no name
}

// OperandSet has the operands of one or more metrics, which are fetched together. It is immutable. Snapshots that
// need the same operands share the pointer.
type OperandSet struct {
	Descs []pdu.Desc

	key string // the PMIDs
}

// OperandSetIndex returns the index of a set in OperandSets; false: it is not there.
func (s *Snapshot) OperandSetIndex(o *OperandSet) (int, bool) {
	i, ok := s.setIndexes[o.key]
	return i, ok && s.OperandSets[i] == o
}

// Served is a definition as it is served. It is immutable.
type Served struct {
	Def          *Definition
	Index        int // in Snapshot.Served
	ID           pdu.PMID
	Inst         pdu.Inst // in the domain of definitions
	Desc         pdu.Desc
	HasDesc      bool            // Desc is valid: the metric is bound, or its name was bound before
	Protected    bool            // only known users may see its values
	Derived      *derived.Metric // nil: not bound
	Operands     *OperandSet     // nil: not bound
	OlderSamples int             // number of older samples that it needs

	State      State
	Problem    string // why it is not served, or served with its former text
	Absent     bool   // the problem is only that this host lacks a metric, which is no error
	Reported   bool   // the problem is one of Config.Failures, and so is logged already
	Unreadable bool   // it could never be read, and Def has no tree

	wasBound bool // Def has been bound, and is served again if a new text turns out to be wrong
}

// State is the state of a definition, as in derived.control.definition.state. The package comment explains the
// values.
type State string

// The states of a definition.
const (
	Bound   State = "bound"
	Kept    State = "kept"
	Unbound State = "unbound"
	Failed  State = "failed"
	Waiting State = "waiting"
)

// FullName returns the name in the PMNS.
func (e *Served) FullName() string { return derived.FullName(e.Def.Name) }

// Code returns the error for a metric that is not bound, in a fetch or, without HasDesc, for its descriptor.
func (e *Served) Code() pdu.Code {
	if e.State == Waiting || e.State == Unbound && e.HasDesc {
		return pdu.ErrAgain
	}
	return pdu.ErrBadDerive
}

// Failures returns the number of wrong definitions, without those that are among Config.Failures.
func (s *Snapshot) Failures() int {
	n := 0
	for _, m := range s.Served {
		if (m.State == Failed || m.State == Kept) && !m.Reported {
			n++
		}
	}
	return n
}

// Candidates yields the definitions that the next snapshot may serve: those of a configuration, and those served now,
// which stay if their successors are wrong. A definition may come twice.
func (s *Snapshot) Candidates(c *Config) iter.Seq[*derived.Definition] {
	return func(yield func(*derived.Definition) bool) {
		for i := range c.Definitions {
			if !yield(c.Definitions[i].Definition) {
				return
			}
		}
		for _, m := range s.Served {
			if m.wasBound && !yield(m.Def.Definition) {
				return
			}
		}
	}
}

// position returns the index of a name below Root in Served, or where it would be.
func (s *Snapshot) position(name string) (int, bool) {
	return slices.BinarySearchFunc(s.Served, name, func(m *Served, name string) int {
		return cmp.Compare(m.Def.Name, name)
	})
}

// OperandError returns a text about the first operand of a bound metric that has a code instead of values; "": there
// is none.
func (s *Snapshot) OperandError(m *Served, of *OperandSet, code func(pdu.PMID) pdu.Code) string {
	for _, d := range of.Descs {
		if why := code(d.PMID); why < 0 {
			if m.Def.Secret {
				return fmt.Sprintf("an operand: %v", why)
			}
			return fmt.Sprintf("operand %s: %v", s.operandName(m, d.PMID), why)
		}
	}
	return ""
}

// operandName returns the name of an operand in the definition of a metric. For an operand of another definition it
// returns a description, since that definition may be secret.
func (s *Snapshot) operandName(m *Served, id pdu.PMID) string {
	for name := range m.Def.Names {
		if d, err := s.catalog.Desc(name); err == nil && d.PMID == id {
			return name
		}
	}
	return "of a definition that it uses"
}

// find returns the metric with a full name; nil: there is none.
func (s *Snapshot) find(name string) *Served {
	short, ok := strings.CutPrefix(name, derived.Root+".")
	if i, found := s.position(short); ok && found {
		return s.Served[i]
	}
	return nil
}

// Under yields all metrics at or below a node of the name space.
func (s *Snapshot) Under(node string) iter.Seq[*Served] {
	short := strings.TrimSuffix(strings.TrimPrefix(node+".", derived.Root+"."), ".")
	return func(yield func(*Served) bool) {
		first, _ := s.position(short)
		for _, m := range s.Served[first:] {
			if !strings.HasPrefix(m.Def.Name, short) {
				return
			}
			if (short == "" || pdu.AtOrBelow(m.Def.Name, short)) && !yield(m) {
				return
			}
		}
	}
}

// Awaits reports whether a node has definitions at or below it of which none is bound.
func (s *Snapshot) Awaits(node string) bool {
	found := false
	for m := range s.Under(node) {
		if m.Derived != nil {
			return false
		}
		found = true
	}
	return found
}

// Pairs yields each metric with the metric of the same name in another snapshot; nil: there is none.
func (s *Snapshot) Pairs(other *Snapshot) iter.Seq2[*Served, *Served] {
	return func(yield func(m, same *Served) bool) {
		rest := other.Served
		for _, m := range s.Served {
			for len(rest) > 0 && rest[0].Def.Name < m.Def.Name {
				rest = rest[1:]
			}
			var same *Served
			if len(rest) > 0 && rest[0].Def.Name == m.Def.Name {
				same = rest[0]
			}
			if !yield(m, same) {
				return
			}
		}
	}
}

// SameNames reports whether traversals of two snapshots return the same names with the same PMIDs.
func (s *Snapshot) SameNames(other *Snapshot) bool {
	if s.Namespace == other.Namespace {
		return true
	}
	a, errA := s.Namespace.Traverse(0, derived.Root)
	b, errB := other.Namespace.Traverse(0, derived.Root)
	if errA != nil || errB != nil || !slices.Equal(a, b) {
		return false
	}
	return !slices.ContainsFunc(a, func(name string) bool {
		x, errX := s.Namespace.Lookup(0, name)
		y, errY := other.Namespace.Lookup(0, name)
		return errX != nil || errY != nil || x != y
	})
}

// SameLabels reports whether the metrics that two snapshots have in common have the same labels.
func (s *Snapshot) SameLabels(other *Snapshot) bool {
	for m, old := range s.Pairs(other) {
		if old != nil && old.ID == m.ID && !m.Unreadable && !old.Unreadable &&
			(old.Def.File != m.Def.File || old.Def.publicLabels() != m.Def.publicLabels()) {
			return false
		}
	}
	return true
}
