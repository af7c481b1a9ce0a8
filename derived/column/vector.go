package column

import (
	"cmp"

	"pmdaderived/pdu"
)

// Vector has the values of a metric or subexpression at one moment: an error code, or a column of values. Immutable
// while it is shared.
type Vector struct {
	Code  pdu.Code // < 0: the error because of which there are no values; all other fields but Why are then unset
	Type  pdu.Type
	Insts *InstSet // one instance per value; nil: at most one value, of a singular metric

	// Type decides which of the two is used. Bits holds numbers: two's complement or IEEE-754,
	// 32-bit types zero-extended. Blobs holds strings (without NUL) and aggregates.
	Bits  []uint64
	Blobs [][]byte

	Lives *Lives // of the instances of a metric in a sample; nil: nobody wants to know

	Why string // more about Code, or why there are no values; "": nothing is known

	// Incomplete reports that values are missing, because a delta() or rate() had nothing to compare with, or by a rule of
	// windows. It is false where there are none to begin with, of which sum() and count() are 0.
	Incomplete bool
}

// Len returns the number of values, 0 for an error.
func (v *Vector) Len() int {
	if v.Type.Numeric() {
		return len(v.Bits)
	}
	return len(v.Blobs)
}

// Finite reports whether no number is infinite or NaN.
func (v *Vector) Finite() bool {
	exponent := exponentOf(v.Type)
	if exponent == 0 {
		return true
	}
	for _, b := range v.Bits {
		if b&exponent == exponent {
			return false
		}
	}
	return true
}

// OnlyFinite returns v without numbers that are infinite or NaN.
func (v *Vector) OnlyFinite() *Vector {
	if v.Finite() {
		return v
	}
	only := &Vector{Type: v.Type, Incomplete: v.Incomplete}
	var ids []pdu.Inst
	for i, b := range v.Bits {
		if Finite(v.Type, b) {
			only.Bits, ids = append(only.Bits, b), append(ids, v.At(i))
		}
	}
	if v.Insts != nil {
		only.Insts = NewInstSet(ids)
	}
	return only
}

// At returns the instance of value i, pdu.NoInst for a singular one.
func (v *Vector) At(i int) pdu.Inst {
	if v.Insts == nil {
		return pdu.NoInst
	}
	return v.Insts.ids[i]
}

// NameTable has the known names of an instance domain. Immutable: if anything changes, its owner makes another table,
// and an evaluation compares pointers to see the change. A nil table is empty.
type NameTable struct {
	names     map[pdu.Inst]string
	selectors map[string]pdu.Inst
	labels    map[string]map[pdu.Inst]string

	unanswered        bool  // a label that it lacks is not known; else no instance has it
	noNames, noLabels error // why names or labels that it lacks are not known; nil: they have not been asked for
}

// NewNameTable makes a table of the external names of a domain, and of the instances that the
// domain's agent returned for the names in selectors (as pmLookupInDom does; an agent may accept
// abbreviations). It keeps both maps.
func NewNameTable(names map[pdu.Inst]string, selectors map[string]pdu.Inst) *NameTable {
	return &NameTable{names: names, selectors: selectors}
}

// WithLabels returns a copy of t with the values of labels, by the label's name and the instance. An instance that the
// values of a label lack does not have the label. It keeps the map.
func (t *NameTable) WithLabels(labels map[string]map[pdu.Inst]string) *NameTable {
	made := *t
	made.labels = labels
	return &made
}

// Labels returns all values of labels, by the label's name and the instance; read-only.
func (t *NameTable) Labels() map[string]map[pdu.Inst]string {
	if t == nil {
		return nil
	}
	return t.labels
}

// Unanswered returns a copy of t that does not know the labels that it lacks. names and labels are the errors because
// of which it lacks names and labels, nil if these have not been asked for.
func (t *NameTable) Unanswered(names, labels error) *NameTable {
	made := *t
	made.unanswered, made.noNames, made.noLabels = true, names, labels
	return &made
}

// LabelCode returns why the values of a label are not known, 0 if they are. An error of the domain's agent does not
// mean that no instance has the label.
func (t *NameTable) LabelCode(name string) pdu.Code {
	switch {
	case t == nil:
		return pdu.ErrAgain
	case t.labels[name] != nil || !t.unanswered:
		return 0
	}
	return cmp.Or(pdu.CodeOf(t.noLabels), pdu.ErrAgain)
}

// NameCode returns the error because of which an instance has no known name. It is 0 if all have one, or if there was
// no error: the names of new instances are asked for.
func (t *NameTable) NameCode(of *InstSet) pdu.Code {
	if t == nil || t.noNames == nil {
		return 0
	}
	for _, id := range of.IDs() {
		if _, ok := t.names[id]; !ok {
			return pdu.CodeOf(t.noNames)
		}
	}
	return 0
}

// Label returns the value of a label of an instance.
func (t *NameTable) Label(name string, id pdu.Inst) (string, bool) {
	if t == nil {
		return "", false
	}
	value, ok := t.labels[name][id]
	return value, ok
}

// Names returns the external names of all instances; read-only.
func (t *NameTable) Names() map[pdu.Inst]string { return t.names }

// Name returns the external name of an instance.
func (t *NameTable) Name(id pdu.Inst) (string, bool) {
	if t == nil {
		return "", false
	}
	name, ok := t.names[id]
	return name, ok
}

// Select returns the instance that the domain's agent returned for a name.
func (t *NameTable) Select(name string) (pdu.Inst, bool) {
	if t == nil {
		return 0, false
	}
	id, ok := t.selectors[name]
	return id, ok
}
