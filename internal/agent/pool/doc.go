// Package pool has the connections to pmcd. It sends requests on them, hands back the answers, and charges agents for
// the time of pmcd that these took. It does not know what requests are for: package upstream does.
//
//	        upstream                          pool                       pmcd
//	┌──────────────────────┐   Send   ┌────────────────────┐   FETCH   ┌──────┐
//	│ series, queue,       │ ───────► │ conns: 5, in the   │ ────────► │      │
//	│ schedule, samples    │ ◄─────── │ order of slots     │ ◄──────── │      │
//	└──────────────────────┘ Answered │                    │  RESULT   │      │
//	  reload ── LookUp ─────────────► │ lookupConn: 1      │ ◄───────► │      │
//	  request loop ── RecordSlot ───► │ newSlots           │           └──────┘
//	                                  └────────────────────┘
//
// Send asks its caller for a request for each free connection. Answered gets each request back once, with its outcome:
// columns, or none if pmcd has refused it or the connection has ended. Free is called when a connection may have become
// free, Disconnected when a session has ended.
//
//	goroutine        started by          does
//	request loop     pmda.Server         Drain, RecordRequest, RecordSlot, RecordFreedSlot: never waits for pmcd
//	reload           the agent           LookUp, ExpectChange: LookUp waits for pmcd
//	Run              upstream            dials, dials again, moves connections to lower slots
//	readAnswers      Run, for each       waits until its socket is readable, then takes the answers of all connections
//	                 connection          that have one
//
// Run waits for the goroutines of readAnswers before it begins the next session.
//
// # The lock
//
// Lock guards the pool and what upstream knows of series. It is one lock for both, because an answer, the sample made
// of it and the next request on the connection are one step for everybody else. Answered, Free and Disconnected are
// called with it and must not take it. Nothing waits under it, but a write for 20 ms at most until a socket has room
// for a request. Log messages are written after it (Lock.Remark, Lock.Unlock). Package sampler has a lock of its own;
// nobody takes both at once.
//
// # States
//
// A session is all connections together. It begins when there are all of them, and ends when one is lost, with
// everything that is on its way: nobody knows what was restarted meanwhile.
//
//	connection   becomes
//	free         busy: a request is sent (startFetch)
//	busy         free: the answer has come (handleReply)
//	             closed: pmcd has ended it, or not answered for a minute (failConnection): the session ends
//	             closed: the answer is too long (failOversize): this connection alone is dialled again (dialMissing)
//	draining     closed, as soon as it is free: another has a lower slot (retireSlot)
//
// pmcd serves its clients in the order of their slots, so a connection moves down when a lower slot has become free
// (moveToLowerSlot). The last connection is for agents in quarantine (package slow), unless it is the only one.
//
// # Errors
//
//	a request that is refused    is counted, and logged if it is another refusal than the last one
//	a connection that fails      ends the session; Run dials again after 50 ms, then ever more seldom
//	a lookup for a slow agent    has PM_ERR_AGAIN while the agent rests; pmcd is not asked (lookupGate)
package pool
