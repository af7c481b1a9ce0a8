// Package syntax reads and prints the derived-metric language of PCP: the text after the "=" of a
// definition such as
//
//	disk.avgsz = delta(disk.dev.total_bytes) / delta(disk.dev.total)
//
// Text goes in through Parse, a tree of Expr comes out; String prints a tree canonically, Walk
// visits it. The package knows no metric, type or unit: what a tree means is package derived's
// business. Units and patterns, which have languages of their own, are judged by the caller's
// Literals while the text is read, because PCP reports their mistakes as syntax errors.
//
// # The language
//
// It is that of pmRegisterDerived(3) in PCP 6.0.3 and 7.2.1, and a little more; grammar.txt has it
// whole. Powers and folding are libpcp's, also where they surprise:
//
//	-a*b     is  -(a*b)        prefix - takes a whole product
//	!a<b     is  !(a<b)        prefix ! takes everything up to && || ? :
//	!a||b    is  (!a)||b       the man page says otherwise
//	a||b&&c  is  (a||b)&&c     both have one power
//	a?b:c?d:e  is  (a?b:c)?d:e
//
// More than PCP:
//
//   - avg, count, max, min and sum take any expression, where PCP wants a metric name;
//   - there are more functions, and max and min may have several operands;
//   - "/" is division inside the second argument of matchinst(), where PCP reads a pattern;
//   - metrics may be called meta and indom, which PCP 7 reserves;
//   - an aggregate may be followed by a key, as in sum(x) by (key): see By.
//
// # Errors
//
// Parse stops at the first mistake. Message and caret are those of libpcp 6.0.3, which names the
// innermost construct that still waits for something, or nothing at all: some messages are empty,
// some are odd. Only text that libpcp would refuse because it lacks one of the features above or
// of PCP 7 may be refused with another message, or at another place.
//
// Source: pmRegisterDerived(3), docs/language-rules.md sections 2, 3 and 8.1.
package syntax
