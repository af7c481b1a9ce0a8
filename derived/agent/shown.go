package agent

import (
	"time"

	"pmdaderived/derived/agent/control"
	"pmdaderived/pdu"
)

// source is what derived.control.* shows.
func (a *Agent) source() *control.Source {
	return &control.Source{
		Version: a.options.Version, Figures: &a.figures, LeftOut: a.options.LeftOut,
		Definitions: a.shownDefinitions, Files: a.shownFiles, Limits: a.shownLimits,
	}
}

// Figures are what the agent counts. They may be read at any time.
func (a *Agent) Figures() *control.Figures { return &a.figures }

func (a *Agent) shownDefinitions(yield func(control.Definition) bool) {
	for _, m := range a.service.Load().metrics {
		if !yield(control.Definition{
			Inst: m.inst, Name: m.def.Name, State: m.state, Problem: m.problem, Text: m.def.Text, PMID: m.id,
			Sampled: a.newest(m), Fetched: m.usage.fetched, Values: m.usage.values,
		}) {
			return
		}
	}
}

// newest is when the newest sample of a metric's operands was taken; zero if there is none.
func (a *Agent) newest(m *metric) time.Time {
	if m.feed == nil {
		return time.Time{}
	}
	a.sampler.mu.Lock()
	defer a.sampler.mu.Unlock()
	return m.feed.taken
}

func (a *Agent) shownFiles(yield func(control.File) bool) {
	svc := a.service.Load()
	for _, f := range svc.files {
		if !yield(control.File{
			Inst: f.inst, Path: f.Path, Error: f.Error, Definitions: f.Definitions, Failed: f.Failed,
			Modified: f.Modified, Read: svc.read,
		}) {
			return
		}
	}
}

// shownLimits are the limits by their instances, whose numbers stay what they are.
func (a *Agent) shownLimits(yield func(control.Limit) bool) {
	l, f := &a.options.Limits, &a.figures
	instances, answer := a.sampler.met()
	logUsed := int64(-1)
	if l.Log > 0 {
		logUsed = a.options.LogUsed()
	}
	for i, one := range []control.Limit{
		{Name: "definitions", Max: l.Definitions, Used: f.Definitions.Load()},
		{Name: "expression", Max: l.Expression, Used: f.Expression.Load()},
		{Name: "depth", Max: l.Depth, Used: f.Depth.Load()},
		{Name: "operands", Max: l.Operands, Used: f.Operands.Load()},
		{Name: "instances", Max: l.Instances, Used: int64(instances)},
		{Name: "contexts", Max: l.Contexts, Used: f.Contexts.Load()},
		{Name: "samples", Max: l.Samples, Used: int64(a.views.held.bytes)},
		{Name: "answer", Max: l.Answer, Used: int64(answer)},
		{Name: "log", Max: l.Log, Used: logUsed},
	} {
		one.Inst = pdu.Inst(i)
		if !yield(one) {
			return
		}
	}
}
