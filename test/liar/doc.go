// Package liar lies in the name of an agent. It stands between pmcd and an agent that tells the truth, and says
// something else while an order tells it to:
//
//	err := liar.Between(in, out, func(in, out *os.File) error { return server.Serve(ctx, in, out) }, orders)
//
//	pmcd ══ pipe ══ Between ══ pipe ══ the agent
//	                   │
//	                 orders: a file; "NAME", or "NAME ARGUMENT", of [Lies]; read before each answer
//
// Between passes requests on as they are, one after the other, as pmcd asks. Which lies there are is a table, [Lies]:
// a new one is a line there, and everything that runs with liars runs with it, too (test/soak).
//
// The lies are those that reach clients. Others reach pmcd alone, which drops the agent (docs/protocol.md 6.2): that is
// what an agent that is killed shows.
package liar
