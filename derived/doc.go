// Package derived gives meaning to the expressions of derived metrics: it checks a definition
// against the metrics it uses, compiles it, and computes its values from samples of those metrics.
//
//	text ──Parse──► Definition ──NewSet──► Metric (typed tree) ──► steps ──Evaluation──► Vector
//	        syntax                Catalog                           Sample, older Sample …
//
// A [Definition] is parsed text and knows no collector. A [Set] binds all definitions of one
// configuration to the metrics that a [Catalog] offers; each becomes a [Metric] with a descriptor,
// or one with an error that says which rule of the language it breaks. The metrics of a Set are
// compiled into one list of steps in which equal subexpressions, and equal operands, occur once.
//
// An [Evaluation] computes metrics from a [Sample], all operands of one fetch, and from the older
// samples that delta() and rate() need. It is a pure function of these samples: whose history they
// are is the caller's business. Values are columns ([Vector]) over shared lists of instances
// ([InstSet]); in the steady state nothing is allocated. test/bench/README.md tells what things cost.
//
// Instances of its own are those of groups, as in sum(x) by (KEY). [Groups] gives them numbers, made from their names, and
// belongs to whoever evaluates.
//
// The package does no I/O, reads no clock, keeps no history and writes no log.
//
// The language is that of pmRegisterDerived(3). Where the man page and the stock library part, and
// what is allowed beyond both, docs/conformance.md lists what this package does and why.
package derived
