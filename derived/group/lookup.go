package group

import (
	"strings"

	"pmdaderived/derived/column"
)

// Lookup says where keys are looked up: in the values of a metric, which has a domain of its own.
type Lookup struct {
	From   Key             // the text that is looked up for each instance
	Insts  *column.InstSet // of the metric; nil: it has no values
	Values Key             // KeyMetric: its values
	By     Key             // the text by which each of its instances is found
}

// lookup has what was looked up for the keys of a set.
type lookup struct {
	from *Texts
	in   *values
	Missed
}

// Missed counts the instances for which a look-up finds no key.
type Missed struct {
	Empty     int // the instance has no text to look up
	Nothing   int // no instance of the metric has the text, or its value is ""
	Different int // several have it, and different values
}

// values has the value of a metric for each text by which an instance of it is found. It is valid as long as the
// instances, these texts and the values are the same.
type values struct {
	of, by *Texts
	byText map[string]value
}

// value is a value of a metric, as a text.
type value struct {
	text      string
	different bool // instances with different values are found
}

// Missed counts for each key of g the instances for which a look-up finds none; of other keys it is zero.
func (g *Grouping) Missed() []Missed {
	all := make([]Missed, len(g.keys))
	for i, t := range g.keys {
		if t.found != nil {
			all[i] = t.found.Missed
		}
	}
	return all
}

// holds reports whether l has what is looked up for a set.
func (l *lookup) holds(from *column.InstSet, k *Lookup) bool {
	return l.from.holds(from, &k.From) && l.in.holds(k)
}

func (v *values) holds(k *Lookup) bool {
	return v.of.holds(k.Insts, &k.Values) && v.by.holds(k.Insts, &k.By)
}

// lookUp sets the keys to what is looked up. Values that are the same as in an earlier result need no other table, and
// an instance with the same text as there needs no search.
func (t *Texts) lookUp(k *Lookup, known *Texts) {
	l := &lookup{}
	if known != nil && known.kind == KeyLookup {
		*l = *known.found
	}
	t.found = &lookup{from: k.From.Texts(t.from, l.from), in: l.in}
	if l.in == nil || !l.in.holds(k) {
		t.found.in = newValues(k, l.in)
	}
	var was []int
	if t.found.in == l.in {
		was = t.from.PositionsIn(known.from)
	}
	for i, text := range t.found.from.Of {
		if was != nil && was[i] >= 0 && known.Of[was[i]] != "" && l.from.Of[was[i]] == text {
			t.Of[i] = known.Of[was[i]]
			continue
		}
		switch v, ok := t.found.in.byText[text]; {
		case text == "":
			t.found.Empty++
		case v.different:
			t.found.Different++
		case !ok || v.text == "":
			t.found.Nothing++
		default:
			t.Of[i] = v.text
		}
	}
}

// newValues makes the table of a metric's values. known is an earlier one, or nil.
func newValues(k *Lookup, known *values) *values {
	if known == nil {
		known = &values{}
	}
	v := &values{of: k.Values.Texts(k.Insts, known.of), by: k.By.Texts(k.Insts, known.by)}
	v.byText = make(map[string]value, len(v.of.Of))
	for i, text := range v.of.Of {
		v.add(v.by.Of[i], text)
		if beginning, _, cut := strings.Cut(v.by.Of[i], " "); cut && k.By.Kind == KeyName {
			v.add(beginning, text)
		}
	}
	return v
}

// add adds the value of an instance that is found by a text. The empty one is never looked up.
func (v *values) add(by, text string) {
	before, ok := v.byText[by]
	v.byText[by] = value{text, before.different || ok && before.text != text}
}
