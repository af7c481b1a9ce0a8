package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// BoundLabelName is the name of the label with the upper bound of a bucket, as Prometheus has it.
const BoundLabelName = "le"

// BoundForm is how the instances of agents tell the bounds of their buckets.
type BoundForm uint8

// The forms, in the order in which they are tried.
const (
	NoBound     BoundForm = iota
	BoundLabel            // the label le
	BoundColon            // a word of the name, le:0.5, as pmdaopenmetrics writes the label
	BoundEquals           // a word of the name, le=0.5, as pmdaopentelemetry names buckets
	BoundRange            // a word of the name, 4-7, from the lowest to the highest value
	BoundLower            // a word of the name, vg-lv:0:512us, of a device, a region and the lower bound, as pmdadm has it
	BoundNumber           // the name
)

// String returns the form as explain prints it.
func (f BoundForm) String() string {
	return [...]string{"", "the label le", "le:BOUND", "le=BOUND", "LOW-HIGH", "NAME:REGION:LOW", "the number"}[f]
}

// Cumulative reports whether buckets of the form count all that is at or below the bound. The others count what is
// above the bound before.
func (f BoundForm) Cumulative() bool { return f == BoundLabel || f == BoundColon }

// bound has the bounds of a bucket: it counts what is above low and at or below high.
type bound struct {
	low  float64 // NaN: the bound of the bucket before
	high float64 // +Inf: there is none; of BoundLower low, until the next bucket is known
	form BoundForm
}

// BoundOf returns how an instance tells the bound of its bucket. The label must be known, see
// [column.NameTable.LabelCode].
func BoundOf(names *column.NameTable, id pdu.Inst) BoundForm {
	name, _ := names.Name(id)
	label, _ := names.Label(BoundLabelName, id)
	return boundOf(label, name).form
}

// boundOf returns the bounds that a label, which is perhaps "", or the name of an instance tells.
func boundOf(label, name string) bound {
	if high, ok := group.ParseBound(label); ok {
		return bound{math.NaN(), high, BoundLabel}
	}
	words := strings.Fields(name)
	for _, form := range []struct {
		prefix string
		form   BoundForm
	}{{"le:", BoundColon}, {"le=", BoundEquals}} {
		for _, word := range words {
			if text, ok := strings.CutPrefix(word, form.prefix); ok {
				if high, ok := group.ParseBound(text); ok {
					return bound{math.NaN(), high, form.form}
				}
			}
		}
	}
	if at := slices.IndexFunc(words, func(word string) bool { return parseRange(word).form != NoBound }); at >= 0 {
		return parseRange(words[at])
	}
	if at := slices.IndexFunc(words, func(word string) bool { return parseLower(word).form != NoBound }); at >= 0 {
		return parseLower(words[at])
	}
	if high, ok := group.ParseBound(name); ok {
		return bound{math.NaN(), high, BoundNumber}
	}
	return bound{}
}

// parseRange reads LOW-HIGH. Between whole numbers it is about whole values: up to the number after HIGH.
func parseRange(word string) bound {
	if len(word) > 2*group.MaxBound+1 {
		return bound{}
	}
	for i := 1; i < len(word); i++ {
		if word[i] != '-' {
			continue
		}
		low, err := strconv.ParseFloat(word[:i], 64)
		high, ok := group.ParseBound(word[i+1:])
		if err != nil || !ok || !(low <= high) {
			continue
		}
		if !strings.ContainsAny(word, ".eE") {
			high++
		}
		return bound{low, high, BoundRange}
	}
	return bound{}
}

// parseLower reads NAME:REGION:LOW. The bound has a unit, the largest in which it is a whole number, and is returned in
// seconds.
func parseLower(word string) bound {
	at := strings.LastIndexByte(word, ':')
	region := strings.LastIndexByte(word[:max(at, 0)], ':')
	if region <= 0 {
		return bound{}
	}
	if _, err := strconv.ParseUint(word[region+1:at], 10, 64); err != nil {
		return bound{}
	}
	for _, unit := range []struct {
		name      string
		perSecond float64
	}{{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}} {
		digits, ok := strings.CutSuffix(word[at+1:], unit.name)
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			low := float64(n) / unit.perSecond
			return bound{low, low, BoundLower}
		}
	}
	return bound{}
}
