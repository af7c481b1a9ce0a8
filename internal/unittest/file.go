package unittest

import (
	"time"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Extension ends the names of files with tests.
const Extension = ".test"

// defaultInterval is the time between samples where a file says nothing.
const defaultInterval = time.Second

// File is what stands in a file of tests. Immutable.
type File struct {
	Path        string
	Definitions []string // files and directories to test, as written: relative to the file's directory
	Tests       []*Test
}

// Test is a collector with its values over time, and what definitions are to make of them. Immutable.
type Test struct {
	Name string
	Pos  config.Position

	interval time.Duration
	times    []time.Duration // of the samples; nil: an interval apart
	samples  int
	fetches  []time.Duration // of the client; nil: at each sample
	fetched  place           // of the statement that says so

	shared *declared // by the file
	own    *declared
	given  targets
	expect targets
	descs  []metadata
	faults []fault
}

// metadata is what the descriptor of a definition is to be.
type metadata struct {
	name string
	desc pdu.Desc
	at   place
}

// fault is a definition that is to fail, with what its message has in it.
type fault struct {
	name, text string
	at         place
}

// operand finds a metric, nil if the test has none of that name.
func (t *Test) operand(name string) *operand {
	o, ok := t.own.metrics[name]
	if !ok {
		o = t.shared.metrics[name]
	}
	if o == nil || o.missing {
		return nil
	}
	return o
}

// indom finds an instance domain, nil if its instances are not declared.
func (t *Test) indom(d pdu.InDom) *indom {
	if own, ok := t.own.indoms[d]; ok {
		return own
	}
	return t.shared.indoms[d]
}

// expected is how many values are expected of a metric, at most.
func (t *Test) expected() int {
	if t.fetches != nil {
		return len(t.fetches)
	}
	return t.samples
}

// when is the time of an expected value.
func (t *Test) when(n int) time.Duration {
	if t.fetches != nil {
		return t.fetches[n]
	}
	return t.at(n)
}

// at is the time of a sample since the test begins.
func (t *Test) at(sample int) time.Duration {
	if t.times != nil {
		return t.times[sample]
	}
	return time.Duration(sample) * t.interval
}

// Desc implements [derived.Catalog].
func (t *Test) Desc(name string) (pdu.Desc, error) {
	switch o := t.operand(name); {
	case o == nil:
		return pdu.Desc{}, pdu.ErrName
	case o.code < 0:
		return pdu.Desc{}, o.code
	default:
		return o.desc, nil
	}
}

// Tested is the names of definitions whose values, or errors, a test looks at. A name may come repeatedly.
func (t *Test) Tested() []string {
	var names []string
	for _, e := range t.expect.targets {
		names = append(names, e.name)
	}
	for _, e := range t.faults {
		names = append(names, derived.ShortName(e.name))
	}
	return names
}
