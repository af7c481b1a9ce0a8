package served

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Snapshot is everything that is served at one time. Immutable.
type Snapshot struct {
	Set         *derived.Set
	Entries     []*Entry // in the order of their names
	ByID        map[pdu.PMID]*Entry
	Retired     map[pdu.PMID]pdu.Desc // PMIDs that the metrics had under other metadata
	Namespace   *pmda.Namespace       // the agent's own metrics included
	LookedUp    bool                  // the operands have been
	Bound       int                   // metrics that are
	WithoutPMID []string              // definitions that are left out because there are no PMIDs any more

	OperandSets []*OperandSet // of all metrics and windows, each once
	Windows     []*OperandSet // of those of the Set that what is served has, nil of others

	Groups map[pdu.InDom]*GroupInDom // all that were ever given out

	Files []File
	Read  time.Time // when the files were

	catalog    derived.Catalog // that it was made with; nil: nothing had been looked up
	setIndexes map[string]int  // the indexes of the OperandSets
	hasClashes bool            // not all metrics have their names
}

// Operands is what one or more metrics are computed from: it is fetched at once. Immutable. Two snapshots that have
// the same share the pointer.
type OperandSet struct {
	Descs []pdu.Desc

	key string // their PMIDs
}

// OperandSetIndex is where a set is among the OperandSets; false: it is none of them.
func (s *Snapshot) OperandSetIndex(o *OperandSet) (int, bool) {
	i, ok := s.setIndexes[o.key]
	return i, ok && s.OperandSets[i] == o
}

// Entry is one definition as it is served. Immutable.
type Entry struct {
	Def          *Definition
	Index        int // in Snapshot.Entries
	ID           pdu.PMID
	Inst         pdu.Inst // in the domain of definitions
	Desc         pdu.Desc
	HasDesc      bool            // Desc is what the metric has, or had when last bound
	Protected    bool            // its operands are only for known users
	Derived      *derived.Metric // nil: not bound
	Operands     *OperandSet     // nil: not bound
	OlderSamples int             // how many older samples it needs

	State      State
	Problem    string // why it is not served, or served as it was
	Reported   bool   // the problem is one of Config.Failures
	Unreadable bool   // it could never be read and has no name, only a state

	wasBound bool // Def has been bound to operands and is served again when a new one turns out to be wrong
}

// State is what becomes of a definition, as derived.control.definition.state shows it.
type State string

// The states of a definition.
const (
	Bound   State = "bound"
	Kept    State = "kept"
	Unbound State = "unbound"
	Failed  State = "failed"
	Waiting State = "waiting"
)

// FullName is the name in the PMNS.
func (m *Entry) FullName() string { return derived.FullName(m.Def.Name) }

// Code is what a metric answers that is not bound, to a fetch or, if it has none, for its descriptor.
func (m *Entry) Code() pdu.Code {
	if m.HasDesc || m.State == Waiting {
		return pdu.ErrAgain
	}
	return pdu.ErrBadDerive
}

// Failures counts the definitions that are wrong, those aside that are among Config.Failures.
func (s *Snapshot) Failures() int {
	n := 0
	for _, m := range s.Entries {
		if (m.State == Failed || m.State == Kept) && !m.Reported {
			n++
		}
	}
	return n
}

// Candidates are the definitions that may come to be served with a configuration: its own, and those served now,
// which stay where their successors turn out to be wrong. A definition that is among both comes twice.
func (s *Snapshot) Candidates(c *Config) iter.Seq[*derived.Definition] {
	return func(yield func(*derived.Definition) bool) {
		for i := range c.Definitions {
			if !yield(c.Definitions[i].Definition) {
				return
			}
		}
		for _, m := range s.Entries {
			if m.wasBound && !yield(m.Def.Definition) {
				return
			}
		}
	}
}

// position is where a name below Root is among the metrics, or would be.
func (s *Snapshot) position(name string) (int, bool) {
	return slices.BinarySearchFunc(s.Entries, name, func(m *Entry, name string) int { return cmp.Compare(m.Def.Name, name) })
}

// OperandError names the first of some operands of a bound metric that has a code in place of values, and says which; "": there is none.
func (s *Snapshot) OperandError(m *Entry, of *OperandSet, code func(pdu.PMID) pdu.Code) string {
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

// operandName is what a metric calls an operand. One of another definition that it uses has no name here: that may be secret.
func (s *Snapshot) operandName(m *Entry, id pdu.PMID) string {
	for name := range m.Def.Names {
		if d, err := s.catalog.Desc(name); err == nil && d.PMID == id {
			return name
		}
	}
	return "of a definition that it uses"
}

// find returns a metric by its full name; nil: there is none.
func (s *Snapshot) find(name string) *Entry {
	short, ok := strings.CutPrefix(name, derived.Root+".")
	if i, found := s.position(short); ok && found {
		return s.Entries[i]
	}
	return nil
}

// Under yields all metrics at or below a node of the name space.
func (s *Snapshot) Under(node string) iter.Seq[*Entry] {
	short := strings.TrimPrefix(strings.TrimPrefix(node, derived.Root), ".")
	return func(yield func(*Entry) bool) {
		first, _ := s.position(short)
		for _, m := range s.Entries[first:] {
			rest, ok := strings.CutPrefix(m.Def.Name, short)
			if !ok {
				return
			}
			if (short == "" || rest == "" || rest[0] == '.') && !yield(m) {
				return
			}
		}
	}
}

// Pairs yields every metric with that of the same name in another snapshot, nil if there is none.
func (s *Snapshot) Pairs(other *Snapshot) iter.Seq2[*Entry, *Entry] {
	return func(yield func(m, same *Entry) bool) {
		rest := other.Entries
		for _, m := range s.Entries {
			for len(rest) > 0 && rest[0].Def.Name < m.Def.Name {
				rest = rest[1:]
			}
			var same *Entry
			if len(rest) > 0 && rest[0].Def.Name == m.Def.Name {
				same = rest[0]
			}
			if !yield(m, same) {
				return
			}
		}
	}
}

// SameNames reports whether two snapshots show the same names with the same PMIDs.
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

// SameLabels reports whether all metrics that two snapshots have in common have the same labels.
func (s *Snapshot) SameLabels(other *Snapshot) bool {
	for m, old := range s.Pairs(other) {
		if old != nil && old.ID == m.ID && !m.Unreadable && !old.Unreadable && old.Def.File != m.Def.File {
			return false
		}
	}
	return true
}
