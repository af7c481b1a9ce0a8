package agent

import (
	"pmdaderived/derived"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/derived/window"
	"pmdaderived/pdu"
)

// Limits bound what an Agent takes. What exceeds one fails alone. Definitions and Log may be 0: not known.
type Limits struct {
	Definitions int64 // of all files
	Expression  int64 // bytes of a definition's expression
	Depth       int64 // nodes on a path from the root of its tree to a leaf

	Operands  int64 // of a definition; more than the default cannot be sampled together
	Instances int64 // of an operand
	Contexts  int64 // of clients, with a history
	Samples   int64 // bytes of the samples that these histories hold
	Answer    int64 // bytes of an answer of pmcd to a fetch of operands
	Windows   int64 // values that functions over time keep

	Log int64 // bytes in an hour
}

// DefaultLimits are the limits that nobody has changed. Those of definitions and of the log are not among them: whoever
// reads definitions and writes the log keeps to these, and to those of expressions, and the agent only shows them.
func DefaultLimits() Limits {
	expression := derived.DefaultLimits()
	return Limits{
		Expression: int64(expression.Text), Depth: int64(expression.Depth),
		Operands: upstream.MaxPart, Instances: operand.MaxInstances, Contexts: maxContexts, Samples: maxHeld, Answer: pdu.ClientLimit,
		Windows: window.MaxValues,
	}
}
