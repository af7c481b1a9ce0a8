package agent

import (
	"fmt"
	"time"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/served"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// controlSource returns the source of the values of derived.control.*.
func (a *Agent) controlSource() *control.Source {
	return &control.Source{
		Version: a.options.Version, Digest: func() string { return a.snapshot.Load().Digest }, Figures: &a.figures,
		Definitions: a.controlDefinitions, Files: a.controlFiles, Agents: a.controlAgents,
	}
}

// OwnMetrics returns the metrics about the agent itself. No definition may have their names.
func OwnMetrics(domain int) []pmda.Entry { return control.Entries(domain) }

// Figures returns the counters of the agent. They may be read on any goroutine.
func (a *Agent) Figures() *control.Figures { return &a.figures }

// controlDefinitions yields the definitions for derived.control.definition.*.
func (a *Agent) controlDefinitions(yield func(*control.Definition) bool) {
	var m *reload.ServedState
	snap := a.snapshot.Load()
	d := control.Definition{
		Sampled: func() (at time.Time) {
			if m.Series == nil {
				return at
			}
			at = a.upstream.LastSampled(m.Series)
			for _, i := range m.Served.Derived.Needs().Windows {
				if of := a.upstream.LastSampled(snap.WindowSeries[i]); of.After(at) {
					at = of
				}
			}
			return at
		},
		Problem: func() string { return a.problem(snap, m) },
	}
	windows := snap.Published.Latest()
	for i := range snap.ServedStates {
		m = &snap.ServedStates[i]
		d.Instance, d.PMID = pdu.Instance{ID: m.Served.Inst, Name: m.Served.Def.Name}, m.Served.ID
		d.State, d.Text = string(m.Served.State), m.Served.Def.PublicText()
		d.Fetched, d.Values = m.Usage.Fetched, m.Usage.Values
		d.Time, d.Memory = m.Usage.Time+time.Duration(m.Usage.WindowTime.Load()), 0
		if m.Served.Derived != nil {
			for _, i := range m.Served.Derived.Needs().Windows {
				d.Memory += windows.Bytes(i)
			}
		}
		if !yield(&d) {
			return
		}
	}
}

// problem says why a metric is not served as it is written, or why it has no values now.
func (a *Agent) problem(snap *reload.Snapshot, m *reload.ServedState) string {
	if m.Served.Absent {
		return "" // most hosts lack the metrics of some shipped definitions
	}
	if m.Served.Problem != "" || m.Series == nil {
		return m.Served.Problem
	}
	text := a.missing(snap, m)
	if text != "" && m.Served.Def.Secret {
		return "it needs something that is not shown: not everyone can read its file"
	}
	return text
}

// missing says why a metric with known operands has no values now.
func (a *Agent) missing(snap *reload.Snapshot, m *reload.ServedState) string {
	if text := a.names.Problem(m.Served.Derived); text != "" {
		return text
	}
	if text := a.missingOf(snap, m, m.Served.Operands, m.Series); text != "" {
		return text
	}
	for _, i := range m.Served.Derived.Needs().Windows {
		if text := a.missingOf(snap, m, snap.Snapshot.Windows[i], snap.WindowSeries[i]); text != "" {
			return text
		}
		if snap.Published.Latest().Results.Values[i].Code == pdu.ErrTooBig {
			return fmt.Sprintf("with its functions over time the agent would keep more than %d values", window.MaxValues)
		}
	}
	if *m.Why != "" && m.Served.Protected { // it depends on the values, and everyone can read it
		return "it has no values, for a reason that is not shown: it is protected"
	}
	return *m.Why
}

// missingOf says why a metric has no values of some operands, which are sampled together.
func (a *Agent) missingOf(
	snap *reload.Snapshot, m *reload.ServedState, operands *served.OperandSet, s *upstream.Series,
) string {
	newest, resting := a.upstream.State(s, a.options.Now())
	if newest != nil {
		lack := snap.OperandError(m.Served, operands, func(id pdu.PMID) pdu.Code { return newest.Values(id, new(int32)).Code })
		if lack != "" {
			return lack
		}
	}
	switch {
	case resting:
		return "an agent of its operands is slow and is not sampled now, see derived.control.upstream.slow_agents"
	case !a.figures.Connected.Load() && !s.Constant():
		return "no connection to pmcd"
	}
	return ""
}

// controlFiles yields the definition files for derived.control.file.*.
func (a *Agent) controlFiles(yield func(*control.File) bool) {
	snap := a.snapshot.Load()
	for _, f := range snap.Files {
		if !yield(&control.File{
			Instance: pdu.Instance{ID: f.Inst, Name: f.Path}, Error: f.Error, Definitions: f.Definitions, Failed: f.Failed,
			Bound: f.Bound,
		}) {
			return
		}
	}
}

// controlAgents yields the agents of operands for derived.control.upstream.agent.*.
func (a *Agent) controlAgents(yield func(*control.Agent) bool) {
	a.upstream.Agents(func(of *agents.Agent) bool {
		return yield(&control.Agent{
			Instance: pdu.Instance{ID: pdu.Inst(of.Domain), Name: of.Name}, Errors: of.Errors, Error: of.Error(),
		})
	})
}
