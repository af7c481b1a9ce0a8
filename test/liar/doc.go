// Package liar lies in the name of an agent. It stands between pmcd and an agent that tells the truth, and says something
// else, or at another time, while an order tells it to:
//
//	err := liar.Between(in, out, func(in, out *os.File) error { return server.Serve(ctx, in, out) }, orders)
//
//	pmcd ══ pipe ══ Between ══ pipe ══ the agent
//	                   │
//	                 orders: a file; "NAME", or "NAME ARGUMENT", of [Lies]; read before each answer
//
// Between passes requests on as they are, one after the other, as pmcd asks. Which lies there are is a table, [Lies]: a new one is a line
// there, and everything that runs with liars runs with it, too (test/soak).
//
// What pmcd makes of a lie is docs/protocol.md 6.2: from some it drops the agent, which it starts again by itself
// once a minute at most.
package liar
