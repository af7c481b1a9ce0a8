// Package upstream fetches operands through pmcd: it keeps connected, knows when to sample what, and holds the samples.
//
//	who                goroutine                  what it does here
//	request loop       pmda.Server's              Drain, Newest, Want, Plan: it never waits for pmcd
//	reload             the agent's                LookUp, LookUpInstances and NameAgents, which wait for pmcd; Serve, Events
//	stayConnected      Run's                      dials, dials again, moves connections to lower slots
//	follow             Run's                      samples what is planned, keeps warm, forgets, gives up what is overdue
//	read               one for each connection    takes answers off the socket and stores them as samples
//
// # The lock
//
// Upstream.mu guards everything that changes: connections, series, the queue, the schedule, what is known of slow agents. Requests
// take no other lock than package sampler's. Nothing that could take it again or call back is called under it, and nothing that waits, but for 20 ms at most until
// a socket has room for a request; what there is to log is logged after it (remark, unlock), and what has happened is one set of [Events], which a channel announces.
//
// # States
//
// A session is all connections together; only a lost connection ends it, and everything on its way with it.
//
//	connection     becomes
//	free           busy: a fetch is sent (send, start)
//	busy           free: the answer has come (settle); lost: pmcd has closed it, or not answered for a minute (fail)
//	leaving        ended, as soon as it is free: another has a lower slot (retire)
//	lost           the session ends (lose) and the next begins (stayConnected)
//	too long       ended because of its answer: it alone is made again (tooLong, refill)
//
//	series         becomes
//	fresh          idle, with time (Series.Fresh)
//	idle           waiting, when somebody wants a sample (ask); outstanding at once if a connection is free
//	waiting        outstanding: in the queue, for the first free connection (send)
//	outstanding    fresh: stored (store); idle: pmcd has refused (refused), or the session has ended (detach)
//	excused        idle, after ten minutes or a reload: its answer is too long (tooLongAlone, ForgetTooLong)
//
// Slow agents have states of their own: package slow. Their series wait apart and have the last connection to themselves; while one
// rests its series are not asked for. A probe is a fetch of one agent's operands alone: it brings no sample, and series wait for it.
// What LookUp and LookUpInstances ask passes a gate, which charges it and refuses what rests with PM_ERR_AGAIN.
//
// # Whose error it is
//
//	a value set's code       that operand's, in that sample
//	a value set, unreadable  likewise: PM_ERR_IPC, so is a set for another metric; PM_ERR_CONV, PM_ERR_TYPE: of another type
//	a fetch refused          the series of that fetch; so is an answer that cannot be read at all
//	a name, a descriptor     that name's, in the Catalog; the others of its request are asked for without it
//	a domain's instances     that domain's: it keeps the names it had, and is asked again ever more seldom (LookUpInstances)
//	a connection's           all that is on its way; with it the session ends
package upstream
