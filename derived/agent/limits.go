package agent

import (
	"pmdaderived/derived"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
)

// Limits bound what an Agent takes. What exceeds one fails alone. 0 stands for the default, of Definitions and Log for
// one that is not known.
type Limits struct {
	Definitions int64 // of all files
	Expression  int64 // bytes of a definition's expression
	Depth       int64 // nodes on a path from the root of its tree to a leaf

	Operands  int64 // of a definition; more than the default cannot be sampled together
	Instances int64 // of an operand
	Contexts  int64 // of clients, with a history
	Samples   int64 // bytes of the samples that these histories hold
	Answer    int64 // bytes of a PDU from pmcd to the sampler

	Log int64 // bytes in an hour

	taken int64 // operands of a definition that pmcd takes in one fetch; 0: all
}

// DefaultLimits are the limits that nobody has changed. Those of definitions and of the log are not among them: whoever
// reads definitions and writes the log keeps to these, and to those of expressions, and the agent only shows them.
func DefaultLimits() Limits {
	expression := derived.DefaultLimits()
	return Limits{
		Expression: int64(expression.Text), Depth: int64(expression.Depth),
		Operands: maxPart, Instances: operand.MaxInstances, Contexts: maxViews, Samples: maxHeld, Answer: pdu.ClientLimit,
	}
}

// complete puts the default in for what is 0.
func (l Limits) complete() Limits {
	usual := DefaultLimits()
	for i := range limitMetrics {
		if own := limitMetrics[i].of(&l); *own == 0 {
			*own = *limitMetrics[i].of(&usual)
		}
	}
	return l
}

// limitMetric is an instance of derived.control.limit: the limits in the order of their instances.
type limitMetric struct {
	name string
	of   func(*Limits) *int64
	used func(*Agent, *service) uint64
}

// limitMetrics is a table.
//
//nolint:gochecknoglobals // a table
var limitMetrics = []limitMetric{
	{
		"definitions", func(l *Limits) *int64 { return &l.Definitions },
		func(_ *Agent, s *service) uint64 { return uint64(len(s.metrics)) },
	},
	{
		"expression", func(l *Limits) *int64 { return &l.Expression },
		func(a *Agent, _ *service) uint64 { return uint64(a.stats.expression.Load()) },
	},
	{
		"depth", func(l *Limits) *int64 { return &l.Depth },
		func(a *Agent, _ *service) uint64 { return uint64(a.stats.depth.Load()) },
	},
	{
		"operands", func(l *Limits) *int64 { return &l.Operands },
		func(a *Agent, _ *service) uint64 { return uint64(a.stats.operands.Load()) },
	},
	{
		"instances", func(l *Limits) *int64 { return &l.Instances },
		func(a *Agent, _ *service) uint64 { instances, _ := a.sampler.met(); return uint64(instances) },
	},
	{
		"contexts", func(l *Limits) *int64 { return &l.Contexts },
		func(a *Agent, _ *service) uint64 { return uint64(a.stats.contexts.Load()) },
	},
	{
		"samples", func(l *Limits) *int64 { return &l.Samples },
		func(a *Agent, _ *service) uint64 { return uint64(a.views.held.bytes) },
	},
	{
		"answer", func(l *Limits) *int64 { return &l.Answer },
		func(a *Agent, _ *service) uint64 { _, answer := a.sampler.met(); return uint64(answer) },
	},
	{
		"log", func(l *Limits) *int64 { return &l.Log },
		func(a *Agent, _ *service) uint64 {
			if a.options.Limits.Log == 0 {
				return noNumber
			}
			return uint64(a.options.LogUsed())
		},
	},
}

// max is the value of the limit; one that is not known, or not there, has none.
func (l *limitMetric) max(a *Agent) uint64 {
	if n := *l.of(&a.options.Limits); n > 0 {
		return uint64(n)
	}
	return noNumber
}

// noteDefinitions notes how large the expressions are.
func (s *stats) noteDefinitions(defs []Definition) {
	for _, d := range defs {
		raise(&s.expression, int64(len(d.Text)))
		raise(&s.depth, int64(d.Depth()))
	}
}
