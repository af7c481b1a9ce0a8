// Package conformance compares answers with those that libpcp 6.0.3 gave to the definitions of the
// language corpus, and keeps the one list of the differences that are wanted.
//
//	for _, c := range conformance.ReadCorpus(t, "testdata/corpus") {
//		tally.Judge(t, c, c.DifferentDesc(desc)+c.DifferentValues(0, answer))
//	}
//	tally.Report(t)
//
// Two runs use it: package derived evaluates each definition over recorded operands, and package test
// asks the daemon under a real pmcd. Each counts in a [Tally]; `make conformance` prints the tallies as a table.
// The files of the corpus are explained in derived/testdata/corpus/README.md, the
// differences in docs/conformance.md.
package conformance
