// Package derived evaluates the language of derived metrics: it checks a definition against the metrics that it uses,
// compiles it, and computes its values from samples of those metrics.
//
//	text ──Parse──► Definition ──NewSet──► Set ──NewEvaluation──► Evaluation ──Value──► Vector
//	       syntax                Catalog                          Sample, older Sample …
//
// The work is done in the packages below, in phases; each imports only packages to its right:
//
//	derived ─► engine ─► check ─► group ─► column ─► pdu
//	             │         │        └──► pattern
//	             └─────────┴──► syntax, units (─► column)
//
//	syntax   text to tree, with places for messages
//	check    tree to typed tree: operands, rules, metadata, order of definitions
//	engine   typed tree to steps, steps to columns of values; windows of functions over time
//	group    groups of instances, as in sum(x) by (KEY): keys, names, numbers
//	units    scales of units
//	column   values and their instances
//	pattern  regular expressions
//
// This package has the names that others use, as aliases: the packages below are its parts, and change with it.
//
// A [Definition] is parsed text and knows no collector. A [Set] binds all definitions of one configuration to the
// metrics that a [Catalog] offers; each becomes a [Metric] with a descriptor, or one with an [Error] that says which
// rule of the language it breaks.
//
// An [Evaluation] computes metrics from a [Sample], all operands of one fetch, and from the older samples that delta()
// and rate() need. It is a pure function of these samples: the caller keeps their history. Values are columns
// ([Vector]) over shared lists of instances ([InstSet]); in the steady state nothing is allocated. test/bench/README.md
// has the costs.
//
// sum(x) by (KEY) makes instances that no agent has: groups. [Groups] gives them numbers, made from their names, and
// belongs to the owner of the evaluations.
//
// The package does no I/O, reads no clock, keeps no history and writes no log.
//
// The language is that of pmRegisterDerived(3). docs/conformance.md lists where this package differs from the man page
// or from libpcp, what it allows beyond both, and why.
//
// # A function of one operand
//
// A new function cube(x) takes three rows and a loop:
//
//   - derived/syntax/functions.go: a constant Cube among the others, in any place, and its row: word, kinds of
//     arguments, a line of help;
//   - derived/check/functions.go: its row: which operands it takes, and the metadata of the result, such as asDouble
//     for its type;
//   - derived/engine/functions.go: its row: the step opEach, and in each the loop, which gets the type and decides what
//     an overflow is.
//
// Functions of other shapes have other steps: see stepOp in package engine. go test ./derived/... ./internal/command
// names each row that is missing, and then these:
//
//   - derived/syntax/grammar.txt: a line;
//   - docs/language.md: a row;
//   - derived/model_test.go: its meaning in modeller.each;
//   - internal/command/testdata/sessions/eval-archive.txtar: its word in the message that lists the functions.
//
// Then add its values to derived/testdata/eval/each.txt, a definition site.cube to examples/site.conf, and a test of
// that definition to examples/site.test. Run the tests again, and pmdaderived test examples. docs/language.md and
// docs/conformance.md also name functions in sentences, which no test compares.
package derived
