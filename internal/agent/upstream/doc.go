// Package upstream samples operands through pmcd: it knows which series are wanted and when, has them fetched by the
// pool, and holds the samples. It does not know connections: package pool does.
//
//	request loop, sampler, reload          schedule
//	     │ Want, Tick                         │ RunDue: what is planned, what is kept warm
//	     ▼                                    ▼
//	   stale series (not fresh, idle) ──► queue ──► nextFetch ──► pool.Send
//	                                                                 ┆
//	Newest, State, Retained ◄─ samples of series ◄── storeAnswer ◄── answered
//
// Everything here runs in a goroutine of somebody else, but for the schedule:
//
//	goroutine        started by        does
//	request loop     pmda.Server       Drain, Newest, Want, Plan: never waits for pmcd
//	sampler          the agent         Tick, Newest
//	reload           the agent         LookUp, LookUpInstances, NameAgents, which wait for pmcd; Serve, TakeEvents
//	runSchedule      Run               RunDue, whenever its timer fires
//	Pool.Run, and    Run               answered, send and disconnected, which the pool calls
//	readAnswers
//
// # The lock
//
// Upstream.mu is the lock of the pool, and guards all that changes here, too. See package pool.
//
// # States
//
//	series         becomes
//	fresh          idle, with time (Series.IsFresh)
//	idle           waiting, when somebody wants a sample (enqueueStale); outstanding at once if a connection is free
//	waiting        outstanding: in the queue, for the first free connection (send)
//	outstanding    fresh: stored (storeAnswer)
//	               idle: pmcd has refused, or the session has ended (answered, disconnected)
//	oversize       idle, after ten minutes or a reload: its answer is too long (recordOversize, ForgetOversize)
//
// Slow agents have states of their own: package slow. Their series wait in quarantine and have the last connection to
// themselves; while one rests its series are not requested. A probe is a fetch of one agent's operands alone: it brings
// no sample, and series wait for it.
//
// # Whose error it is
//
//	a value set's code       that operand's, in that sample
//	a value set, unreadable  likewise: PM_ERR_IPC, so is a set for another metric
//	           of wrong type  likewise: PM_ERR_CONV, PM_ERR_TYPE
//	a fetch refused          the series of that fetch; so is an answer that cannot be read at all
//	a name, a descriptor     that name's, in the metadata; the others of its request are looked up without it
//	a domain's instances     that domain's: it keeps the names it had, and is looked up again ever more seldom
//	a connection's           all that is on its way; with it the session ends
package upstream
