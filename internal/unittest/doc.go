// Package unittest runs unit tests of definitions. A test gives the metrics of a collector and their values over time,
// and the expected results of definitions.
//
//	text ──Parse──► File{Definitions, Tests} ──Run──► []Result ──► text, JUnit
//	 ▲                                          ▲
//	Recording                             definitions, by package derived
//
//	token.go     words of a line                 sample.go    the samples of a test
//	parse.go     statements                      run.go       definitions are evaluated
//	declared.go  metric, indom, label            compare.go   a value and the expected one
//	series.go    given, expect                   text.go, junit.go   results
//	item.go      their values                    write.go     a recording as a test
//	complete.go  what needs the whole test
//
// A test uses the same engine as the agent: definitions are bound to the metrics of the test, and evaluated with the
// history of one client, which fetches at every sample. Only the values are made up.
//
// # Files
//
// A line has one statement. Indented statements belong to the test above. A # begins a comment. A backslash at the end
// of a line continues it.
//
//	file     = { "definitions" PATH… | "interval" TIME | metric | indom | label | "test" TITLE { part } }
//	metric   = "metric" NAME ( TYPE SEMANTICS [ UNITS ] [ INDOM ] | PM_ERR_x )
//	indom    = "indom" INDOM { [ NUMBER ":" ] NAME }
//	label    = "label" INDOM NAME { TEXT | "_" }
//	part     = "interval" TIME | "start" TIME | "times" TIME… | "fetches" TIME… | metric | indom | label | "without" NAME…
//	         | "given" NAME [ "[" INSTANCE "]" ] VALUES
//	         | "expect" NAME [ "[" INSTANCE "]" ] VALUES
//	         | "metadata" NAME TYPE SEMANTICS [ UNITS ] [ INDOM ] [ LABELS ]
//	         | "error" NAME [ TEXT ]
//	VALUES   = { [ "@" TIME ] value [ "x" COUNT | "..." ] }
//	value    = NUMBER [ ( "+" | "-" ) STEP ] [ "~" TOLERANCE ] | "text" | [hex] | PM_ERR_x | "_" | "*"
//
// docs/testing.md explains them.
package unittest
