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

	interval  time.Duration
	times     []time.Duration // of the samples; nil: an interval apart
	samples   int
	fetches   []time.Duration // of the client; nil: at each sample
	fetchesAt sourcePos       // of the statement that says so

	shared   *declarations // by the file
	own      *declarations
	given    targets
	expect   targets
	metadata []metadataCheck
	errors   []errorCheck
}

// metadataCheck is what the descriptor of a definition is to be.
type metadataCheck struct {
	name string
	desc pdu.Desc
	at   sourcePos
}

// errorCheck is a definition that is to fail, with what its message has in it.
type errorCheck struct {
	name, text string
	at         sourcePos
}

// metric finds a metric, nil if the test has none of that name.
func (t *Test) metric(name string) *metricDecl {
	o, ok := t.own.metrics[name]
	if !ok {
		o = t.shared.metrics[name]
	}
	if o == nil || o.missing {
		return nil
	}
	return o
}

// indomDecl finds an instance domain, nil if its instances are not declared.
func (t *Test) indom(d pdu.InDom) *indomDecl {
	if own, ok := t.own.indoms[d]; ok {
		return own
	}
	return t.shared.indoms[d]
}

// expectedCount is how many values are expected of a metric, at most.
func (t *Test) expectedCount() int {
	if t.fetches != nil {
		return len(t.fetches)
	}
	return t.samples
}

// expectedTime is the time of an expected value.
func (t *Test) expectedTime(n int) time.Duration {
	if t.fetches != nil {
		return t.fetches[n]
	}
	return t.sampleTime(n)
}

// sampleTime is the time of a sample since the test begins.
func (t *Test) sampleTime(sample int) time.Duration {
	if t.times != nil {
		return t.times[sample]
	}
	return time.Duration(sample) * t.interval
}

// Desc implements [derived.Catalog].
func (t *Test) Desc(name string) (pdu.Desc, error) {
	switch o := t.metric(name); {
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
	for _, e := range t.expect.byMetric {
		names = append(names, e.name)
	}
	for _, e := range t.errors {
		names = append(names, derived.ShortName(e.name))
	}
	return names
}
