package unittest

import (
	"time"

	"pmdaderived/config"
	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// epoch is the time at which a test begins if it does not say when.
var epoch = time.Unix(0, 0) //nolint:gochecknoglobals // never changed

// Extension is the extension of test files.
const Extension = ".test"

// defaultInterval is the time between samples if the file does not set one.
const defaultInterval = time.Second

// File is a parsed test file. Immutable.
type File struct {
	Path        string
	Definitions []string // files and directories to test, relative to the file's directory
	Tests       []*Test
}

// Test has the metrics of a collector with their values over time, and the expected results. Immutable.
type Test struct {
	Name string
	Pos  config.Position

	interval   time.Duration
	intervalAt sourcePos       // position of its own interval statement
	times      []time.Duration // of the samples; nil: one per interval
	start      time.Time       // when the test begins
	samples    int
	fetches    []time.Duration // times of the client's fetches; nil: each sample
	fetchesAt  sourcePos       // position of the fetches statement

	shared   *declarations // declared in the file
	own      *declarations
	given    targets
	expect   targets
	metadata []metadataCheck
	errors   []errorCheck
}

// metadataCheck is the expected descriptor of a definition, with its labels as [config.ParseLabels] returns them; "":
// they may be any.
type metadataCheck struct {
	name   string
	desc   pdu.Desc
	labels string
	pos    sourcePos
}

// errorCheck is the expected error of a definition. text is a part of its message.
type errorCheck struct {
	name, text string
	pos        sourcePos
}

// metric returns a metric, nil if the test has none of this name.
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

// indom returns an instance domain, nil if it is not declared.
func (t *Test) indom(d pdu.InDom) *indomDecl {
	if own, ok := t.own.indoms[d]; ok {
		return own
	}
	return t.shared.indoms[d]
}

// expectedCount returns the number of values that are expected of a metric.
func (t *Test) expectedCount() int {
	if t.fetches != nil {
		return len(t.fetches)
	}
	return t.samples
}

// expectedTime returns the time of an expected value.
func (t *Test) expectedTime(n int) time.Duration {
	if t.fetches != nil {
		return t.fetches[n]
	}
	return t.sampleTime(n)
}

// sampleTime returns the time of a sample since the beginning of the test.
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

// Tested returns the names of the definitions that the test checks. A name may be repeated.
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
