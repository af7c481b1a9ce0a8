package unittest

import (
	"fmt"
	"slices"
	"time"

	"pmdaderived/internal/plural"
	"pmdaderived/pdu"
)

// completeTest checks what needs the whole test and file, whose statements may come in any order: which samples there
// are, and whether each series has a value for each of them.
func (p *parser) completeTest(t *Test) {
	problems := len(p.problems)
	for _, s := range t.given.series {
		t.samples = max(t.samples, p.placeItems(t.sample, s))
	}
	for _, o := range t.own.metrics {
		if o.missing && t.shared.metrics[o.name] == nil {
			p.report(o.pos, o.name+" is not declared, so without has no effect")
		}
	}
	numberOf := t.sample
	if t.fetches != nil {
		numberOf = func(when time.Duration) (int, bool) { return slices.BinarySearch(t.fetches, when) }
	}
	for _, s := range t.expect.series {
		if n := p.placeItems(numberOf, s); t.fetches == nil {
			t.samples = max(t.samples, n)
		}
	}
	if t.times != nil {
		t.samples = len(t.times)
		if t.intervalAt.line > 0 {
			p.report(t.intervalAt, "this interval has no effect, because the test has times")
		}
	}
	t.samples = max(t.samples, 1)
	for _, when := range t.fetches {
		if n, ok := t.sample(when); !ok || n >= t.samples {
			p.report(t.fetchesAt, "there is no sample at "+timeText(when))
			break
		}
	}
	if len(p.problems) > problems {
		return
	}
	for _, s := range t.given.series {
		p.fillItems(s, t.samples, "sample")
	}
	for _, s := range t.expect.series {
		p.fillItems(s, t.expectedCount(), map[bool]string{true: "sample", false: "fetch"}[t.fetches == nil])
	}
	p.checkGiven(t)
	if len(t.expect.series)+len(t.metadata)+len(t.errors)+len(p.problems) == 0 {
		p.report(sourcePos{line: t.Pos.Line, column: t.Pos.Column, source: "test " + t.Name},
			"this test has no expect, metadata or error statement")
	}
}

// placeItems sets the samples, or fetches, of a series' items. numberOf returns the number of the sample at a time.
// next is the number of samples that the series needs.
func (p *parser) placeItems(numberOf func(time.Duration) (int, bool), s *series) (next int) {
	for i := range s.items {
		it := &s.items[i]
		if it.when != nil {
			sample, ok := numberOf(*it.when)
			switch {
			case !ok:
				p.report(it.pos, "there is no sample at "+timeText(*it.when))
				return next
			case sample < next:
				p.report(it.pos, timeText(*it.when)+" is before the end of the values in front of it")
				return next
			}
			next = sample
		}
		it.first = next
		next += max(it.count, 1)
		it.end = next
		if next > maxSamples {
			p.report(it.pos, fmt.Sprintf("more than %d samples", maxSamples))
			return next
		}
	}
	return next
}

// sample returns the number of the sample at a time; ok is false if there is none.
func (t *Test) sample(when time.Duration) (int, bool) {
	if t.times != nil {
		return slices.BinarySearch(t.times, when)
	}
	return int(min(when/t.interval, maxSamples)), when%t.interval == 0
}

// fillItems extends endless items to the next item or to the last sample, and reports missing or surplus values: a
// value that was forgotten would make a test pass that tests less than it seems to. noun is the word for a sample.
func (p *parser) fillItems(s *series, samples int, noun string) {
	for i := range s.items {
		it := &s.items[i]
		if it.count != endless {
			continue
		}
		it.end = samples
		if i+1 < len(s.items) {
			it.end = s.items[i+1].first
		}
	}
	last := s.items[len(s.items)-1]
	differ := plural.Of(last.end, "value") + ", and the test has " + plural.Of(samples, noun)
	switch {
	case last.end > samples:
		p.report(last.pos, differ)
	case !s.fetches && last.end < samples:
		p.report(last.pos, differ+": end the line with ... to repeat the last value")
	}
}

// checkGiven checks that given values fit their metrics: pmcd could return no others.
func (p *parser) checkGiven(t *Test) {
	for _, s := range t.given.series {
		o := t.metric(s.name)
		switch {
		case o == nil:
			p.report(s.pos, s.name+" needs a metric statement with its type and semantics")
			continue
		case o.code < 0:
			p.report(s.pos, s.name+" has no descriptor, so it has no values")
			continue
		case s.instance && !p.checkInstance(t, o.desc.InDom, s):
			continue
		}
		next := 0
		for i := range s.items {
			it := &s.items[i]
			if it.first > next {
				break
			}
			next = it.end
			p.checkItem(o, s, it)
		}
		if next < t.samples {
			p.report(s.pos, "no value is given for "+timeText(t.sampleTime(next)))
		}
	}
}

// checkInstance reports whether the instance of a series exists.
func (p *parser) checkInstance(t *Test, d pdu.InDom, s *series) bool {
	if d == pdu.NoInDom {
		p.report(s.pos, s.name+" is singular: it has no instances")
		return false
	}
	known := t.indom(d)
	if known == nil {
		p.report(s.pos, fmt.Sprintf("%s needs an indom statement for %s with its instances", s.name, d))
		return false
	}
	if _, ok := known.byName[s.inst]; !ok {
		p.report(s.pos, fmt.Sprintf("instance %q is not in the indom statement for %s", s.inst, d))
		return false
	}
	return true
}

// checkItem checks that a metric can have a value.
func (p *parser) checkItem(o *metricDecl, s *series, it *item) {
	t := o.desc.Type
	switch {
	case it.kind == none, it.kind == code && !s.instance:
	case it.kind == anyValue:
		p.report(it.pos, "* is valid only in an expect statement: use a value, or _ for no value")
	case it.kind == code:
		p.report(it.pos, "an error applies to the whole metric, not to one instance: give it in a statement for "+s.name)
	case !it.kind.fits(t):
		has := map[kind]string{
			number: "not numbers", nonFinite: "whole numbers", text: "not strings",
			blob: "not bytes",
		}
		p.report(it.pos, fmt.Sprintf("%s has type %s: its values are %s", s.name, t, has[it.kind]))
	case it.tolerance != nil:
		p.report(it.pos, "a tolerance is valid only in an expect statement")
	case it.kind == number:
		for _, sample := range []int{it.first, it.end - 1} {
			if _, err := bits(t, it.value(sample)); err != nil {
				p.report(it.pos, err.Error())
				return
			}
		}
	}
}
