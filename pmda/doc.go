// Package pmda is the server half of PCP: it runs an agent (PMDA) that pmcd has started, over the
// pipe that pmcd has opened. The author of an agent writes an [Agent]; a [Server] does the rest.
//
//	pmcd ── fd 0 ─► Server.Serve ──► Agent.Desc, Instances, Fetch      mandatory
//	     ◄─ fd 1 ──     │            Storer, Texter, Labeler, Namer    optional, found by assertion
//	                    │            AttributeWatcher, ContextEnder, Notifier, Observer
//	                    └─ handshake, framing, order, profile, error codes, panics
//
// # A first agent
//
// A metric has a number, its PMID, under which everything is asked for: an agent decides by it which
// descriptor ([Agent].Desc) and which values ([Agent].Fetch) to give, and says with [pdu.ErrPMID] that it has none such.
// A metric with several values at once has them by instance, and its descriptor names the instance domain, which is
// listed by Instances. The example (example_test.go) is whole; [pmdaderived/pmda/examples/dice] is a program with names, texts,
// instances, a counter and a metric that can be stored, made to be copied, and says how to install it.
// Package pdu explains the words.
//
// # Life of an agent
//
// pmcd starts the program and gives it 3 s to send CREDS, the first PDU on the pipe ([Greet], or
// Serve itself). pmcd answers with its own CREDS, with the attributes of the clients it has
// already (only if the agent is an [AttributeWatcher]) and then with requests, one at a time. It
// is single-threaded and serves nobody until the reply is there; after 5 s it gives the agent up.
// When it closes the pipe, the agent has to end: [Server.Serve] returns and so should main.
//
//	in, out, err := pmda.Stdio()                     // keep the pipe clear of stray prints
//	…
//	pmda.IgnoreSIGPIPE()                             // a lost pmcd is an error, not a death
//	err = pmda.Greet(out, true)                      // before anything slow
//	…                                                // OpenLog, load state: requests wait in the pipe
//	err = (&pmda.Server{Agent: a, Greeted: true}).Serve(ctx, in, out)
//
// # What the server takes care of
//
//   - Exactly one reply, written with one Write, to each PDU that wants one, in the order of
//     arrival; none to PROFILE, ATTR, ERROR and kinds that are not an agent's business.
//   - Replies that make pmcd drop the agent are never sent: PM_ERR_IPC, PM_ERR_TIMEOUT, -EPIPE, the
//     not-ready protocol and codes ≥ 0 become PM_ERR_GENERIC (PM_ERR_AGAIN for "not ready"), a RESULT
//     always has as many value sets as were asked for, and a TRAVERSE that fails for any other
//     reason than an unknown name is an empty list.
//   - A panic in the agent is contained: the client gets PM_ERR_GENERIC, the log the stack.
//   - PDU bodies that cannot be decoded cost one request (PM_ERR_GENERIC); a bad length or
//     type in a header means that the stream is not PDUs any more and ends Serve.
//   - One PROFILE is in force, the last one received, as pmcd means it: it sends a PROFILE before
//     a FETCH whenever the (client, context) of the FETCH differs from that of the PROFILE before.
//     Before the first one, which after a restart of the agent may be missing, everything is
//     included.
//
// The package also has what the main program of every agent needs: the usual options
// ([StandardOptions]), a log file ([GiveLog], [OpenLog]), an ordinary user ([DropPrivileges]) and a name space
// ([Namespace]). Package pmdatest tests an agent without pmcd.
//
// Sources: docs/protocol.md 1, 2, 4, 6; docs/pmcd.md a, d, e, h. Man pages pmcd(1), PMDA(3),
// pmdaGetOptions(3).
package pmda
