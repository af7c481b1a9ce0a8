// Package syntax reads and prints the derived-metric language of PCP: the text after the "=" of a
// definition such as
//
//	disk.avgsz = delta(disk.dev.total_bytes) / delta(disk.dev.total)
//
//	text ──scanner──► tokens ──parser──► tree of Expr ──String──► canonical text
//	                                          └────────Walk──► each node
//
// The package knows no metric, type or unit: package check gives trees their meaning. Units and
// patterns have languages of their own. The caller's [Literals] check them while the text is read,
// because PCP reports their mistakes as syntax errors.
//
// # Files
//
//	functions.go  the table of functions: words, arguments, messages
//	ast.go        the nodes, and the table of operators
//	scan.go       text to tokens; token.go has their kinds
//	parse.go      tokens to a tree, one method for each production of grammar.txt
//	tags.go       metadata: type=u64; by.go: by (KEY); interval.go: windows
//	errors.go     messages; hint.go: the likely reason of a mistake
//	print.go      tree to text; walk.go: visits of a tree; portable.go: which libpcp understands it
//
// # The language
//
// It is that of pmRegisterDerived(3) in PCP 6.0.3 and 7.2.1, with additions. grammar.txt is the whole
// grammar. Precedence and folding are libpcp's, also where they surprise:
//
//	-a*b     is  -(a*b)        prefix - takes a whole product
//	!a<b     is  !(a<b)        prefix ! takes everything up to && || ? :
//	!a||b    is  (!a)||b       the man page says otherwise
//	a||b&&c  is  (a||b)&&c     both have the same precedence
//	a?b:c?d:e  is  (a?b:c)?d:e
//
// More than PCP:
//
//   - avg, count, max, min and sum take any expression, where PCP wants a metric name;
//   - there are more functions, and max and min can have several operands;
//   - "/" is division inside the second argument of matchinst(), where PCP reads a pattern;
//   - metrics may be called meta and indom, which PCP 7 reserves;
//   - an aggregate may be followed by a key, as in sum(x) by (key): see By.
//
// # Errors
//
// Parse stops at the first mistake. The message and its position are those of libpcp 6.0.3. libpcp names
// the innermost construct that is not complete, or nothing: some messages are empty, some are odd. Only
// for text with one of the additions above, or with a feature of PCP 7, can they differ.
//
// Source: pmRegisterDerived(3), docs/language-rules.md sections 2, 3 and 8.1.
package syntax
