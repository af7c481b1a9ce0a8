package group

import (
	"math"
	"slices"
	"strconv"

	"pmdaderived/derived/column"
	"pmdaderived/derived/pattern"
)

// KeyKind is the source of keys.
type KeyKind uint8

// The sources of keys.
const (
	KeyPattern KeyKind = iota + 1 // a key is a part of the instance's name
	KeyMetric                     // a key is the value of a metric
	KeyLabel                      // a key is the value of a label
	KeyGroup                      // a key is one of the keys of the instance, which is a group
	KeyName                       // a key is the instance's name, or its beginning up to the first blank: only of Lookup.By
	KeyLookup                     // a key is the value of a metric at an instance of another domain
)

// Key says where the keys of instances come from.
type Key struct {
	Kind       KeyKind
	Source     string            // the pattern, or the name of the label
	At, Count  int               // of KeyGroup: the position of the key in a name, among so many
	Bound      bool              // a key that is a number is written as the shortest decimal
	Pattern    *pattern.Regexp   // of KeyPattern
	Names      *column.NameTable // of all but KeyMetric and KeyLookup: the names or labels of the instances
	Values     *column.Vector    // of KeyMetric: the values of the metric
	FromSample bool              // the memory of Values is a sample's, and does not change
	Lookup     *Lookup           // of KeyLookup
}

// Texts has the key of each instance of a set. It is valid as long as the instances, and their table of names or the
// values of the metric, are the same: see holds.
type Texts struct {
	Of []string // the key of each instance; "": it has none

	from   *column.InstSet
	kind   KeyKind
	source string
	at     int // of KeyGroup

	names *column.NameTable // of all but KeyMetric
	whole []string          // of KeyPattern: the name of each instance, of which its key is a part

	values *column.Vector // of KeyMetric: a copy of the values, the strings as texts
	texts  []string
	blobs  [][]byte // the same strings in the memory of a sample, or nil

	found *lookup // of KeyLookup
}

// holds reports whether t has the keys of a set of instances.
func (t *Texts) holds(from *column.InstSet, k *Key) bool {
	if t.from != from || !t.similar(k) {
		return false
	}
	switch k.Kind {
	case KeyLookup:
		return t.found.holds(from, k.Lookup)
	case KeyMetric:
		return t.holdsValues(k)
	default:
		return t.names == k.Names
	}
}

// holdsValues reports whether t has the keys for the values of a metric.
func (t *Texts) holdsValues(k *Key) bool {
	v := k.Values
	switch {
	case t.values.Insts != v.Insts, t.values.Type != v.Type, v.Len() != t.values.Len()+len(t.texts):
		return false
	case v.Type.Numeric():
		return slices.Equal(t.values.Bits, v.Bits)
	case len(t.blobs) > 0 && &t.blobs[0] == &v.Blobs[0]:
		return true
	}
	for i, text := range t.texts {
		if string(v.Blobs[i]) != text {
			return false
		}
	}
	if k.FromSample {
		t.blobs = v.Blobs
	}
	return true
}

// Texts returns the key of each instance of a set. known is an earlier result, or nil. It is returned if it is still
// valid.
func (k *Key) Texts(from *column.InstSet, known *Texts) *Texts {
	if known != nil && known.holds(from, k) {
		return known
	}
	t := &Texts{Of: make([]string, len(from.IDs())), from: from, kind: k.Kind, source: k.Source, at: k.At, names: k.Names}
	switch k.Kind {
	case KeyPattern:
		t.findParts(k, known)
	case KeyLabel:
		for i, id := range from.IDs() {
			t.Of[i], _ = k.Names.Label(k.Source, id)
		}
	case KeyGroup:
		for i, id := range from.IDs() {
			name, _ := k.Names.Name(id)
			t.Of[i] = keyIn(name, k.At, k.Count)
		}
	case KeyName:
		for i, id := range from.IDs() {
			t.Of[i], _ = k.Names.Name(id)
		}
	case KeyMetric:
		t.takeValues(k)
	case KeyLookup:
		t.lookUp(k.Lookup, known)
	}
	if k.Bound {
		for i, key := range t.Of {
			t.Of[i] = boundText(key)
		}
	}
	return t
}

// similar reports whether t has the keys of instances from the same source as k.
func (t *Texts) similar(k *Key) bool { return t.kind == k.Kind && t.source == k.Source && t.at == k.At }

// findParts sets the keys to parts of the names. An instance with the same name as in an earlier result has the same
// key, which saves matching the pattern.
func (t *Texts) findParts(k *Key, known *Texts) {
	t.whole = make([]string, len(t.Of))
	var was []int
	if known != nil && known.similar(k) {
		was = t.from.PositionsIn(known.from)
	}
	for i, id := range t.from.IDs() {
		name, ok := k.Names.Name(id)
		if !ok {
			continue
		}
		t.whole[i] = name
		if was != nil && was[i] >= 0 && known.whole[was[i]] == name {
			t.Of[i] = known.Of[was[i]]
		} else {
			t.Of[i] = k.Pattern.Find(name)
		}
	}
}

// takeValues sets the keys to the values of the metric.
func (t *Texts) takeValues(k *Key) {
	v := k.Values
	t.values = &column.Vector{Type: v.Type, Insts: v.Insts}
	text := func(at int) string { return column.FormatNumber(v.Type, v.Bits[at]) }
	if v.Type.Numeric() {
		t.values.Bits = slices.Clone(v.Bits)
	} else {
		if k.FromSample {
			t.blobs = v.Blobs
		}
		t.texts = textsOf(v.Blobs)
		text = func(at int) string { return t.texts[at] }
	}
	if v.Insts == nil {
		return // no values
	}
	next := 0
	for i, id := range t.from.IDs() {
		if at := v.Insts.Near(id, next); at >= 0 {
			t.Of[i], next = text(at), at+1
		}
	}
}

// textsOf returns copies of strings, end to end in memory.
func textsOf(blobs [][]byte) []string {
	rest, texts := string(slices.Concat(blobs...)), make([]string, len(blobs))
	for i, blob := range blobs {
		texts[i], rest = rest[:len(blob)], rest[len(blob):]
	}
	return texts
}

// MaxBound is the length in bytes of the longest text that is read as a bound. An agent could name instances so that
// reading them took long: each dash of a name may be the one of a range.
const MaxBound = 64

// ParseBound reads the upper bound of a bucket.
func ParseBound(text string) (float64, bool) {
	if len(text) > MaxBound {
		return 0, false
	}
	high, err := strconv.ParseFloat(text, 64)
	return high, err == nil && high > math.Inf(-1)
}

// boundText returns a bound as the shortest decimal of its number, so that 1 and 1.0 are one key. Other texts stay, and
// those whose decimal could not be read as a bound again.
func boundText(text string) string {
	if high, ok := ParseBound(text); ok {
		if decimal := strconv.FormatFloat(high+0, 'f', -1, 64); len(decimal) <= MaxBound { // no minus zero
			return decimal
		}
	}
	return text
}
