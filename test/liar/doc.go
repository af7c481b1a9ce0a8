// Package liar sends wrong answers in the name of an agent. It stands between pmcd and an agent whose answers are
// right, and replaces them while there is an order:
//
//	err := liar.Between(in, out, func(in, out *os.File) error { return server.Serve(ctx, in, out) }, orders)
//
//	pmcd ══ pipe ══ Between ══ pipe ══ the agent
//	                   │
//	                 orders: a file; "NAME", or "NAME ARGUMENT", of [Lies]; read before each answer
//
// Between passes requests on unchanged, one after the other. The lies are a table, [Lies]. A new lie is a line there;
// all that runs with liars (test/soak) then tells it, too.
//
// The lies reach clients. Other wrong answers reach pmcd alone, which drops the agent (docs/protocol.md 6.2). A killed
// agent has the same effect.
package liar
