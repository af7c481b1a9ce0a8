// Package column holds the values of a metric or a subexpression at one moment: columns of numbers or blobs over shared
// lists of instances.
//
//	Vector                 InstSet ──Join──► InstSet
//	  Bits  [ 5  7  2 ]      ids [ a b c ]     ids [ c a d ]
//	  Insts ──────────────►      Join: instances [ a c ], at Left [ 0 2 ], at Right [ 1 0 ]
//
// A [Vector] has one value for each instance of its [InstSet]. Sets are immutable and shared, so that two operands with
// the same instances are found by comparing pointers. A [Join] pairs the values of two sets. A [NameTable] has the
// names of an instance domain. [Births] finds out which instances of a metric are new in its samples, and [Lives] tells
// it. Numbers are kept as bits: [ToDouble] and similar functions convert them to Go's numbers
// and back.
package column
