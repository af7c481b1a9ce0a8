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
// pmcd asks for a metric by its number, the PMID. The agent returns its descriptor ([Agent].Desc) and its values
// ([Agent].Fetch), or [pdu.ErrPMID] if it does not have the metric. A metric with several values at once has one for
// each instance. Its descriptor names the instance domain, and [Agent].Instances lists the domain. Package pdu explains
// the words.
//
// The example of this package (example_test.go) is complete. [pmdaderived/pmda/examples/dice] is a program to copy,
// with names, texts, instances, a counter and a metric that can be stored. Its README.md says how to install it.
//
// # Life of an agent
//
// pmcd starts the program and waits up to 3 s for CREDS, the first PDU on the pipe ([Greet] sends it,
// or Serve). pmcd answers with its own CREDS. To an [AttributeWatcher] it then sends the attributes of
// the clients that are connected already. After that come requests, one at a time. pmcd has a single
// thread and serves no client until the reply has come; after 5 s it drops the agent. When it
// closes the pipe, the agent has to end: [Server.Serve] returns and so should main.
//
//	in, out, err := pmda.Stdio()                     // prints by mistake do not reach the pipe
//	…
//	pmda.IgnoreSIGPIPE()                             // a lost pmcd is an error, it does not kill the process
//	err = pmda.Greet(out, true)                      // before anything slow
//	…                                                // OpenLog, load state: requests wait in the pipe
//	err = (&pmda.Server{Agent: a, Greeted: true}).Serve(ctx, in, out)
//
// # Guarantees of the server
//
//   - It writes exactly one reply, with one Write, to each PDU that wants one, in the order of
//     arrival, and none to PROFILE, ATTR, ERROR and kinds that are not for agents.
//   - It never sends a reply that makes pmcd drop the agent. PM_ERR_IPC, PM_ERR_TIMEOUT, -EPIPE,
//     PM_ERR_PMDAREADY and codes ≥ 0 become PM_ERR_GENERIC, PM_ERR_PMDANOTREADY becomes PM_ERR_AGAIN.
//     A RESULT always has as many value sets as the FETCH has metrics. A TRAVERSE that fails for
//     another reason than an unknown name is answered with an empty list.
//   - A panic in the agent does not end it: the client gets PM_ERR_GENERIC, and the stack is logged.
//   - A PDU body that cannot be decoded is answered with PM_ERR_GENERIC. A bad length or type in a
//     header means that the bytes are no PDUs, and ends Serve.
//   - It passes on the last PROFILE that it received. pmcd sends one before a FETCH whenever the
//     client or the context of the FETCH is not that of the previous PROFILE. Before the first one,
//     which may be missing after a restart of the agent, all instances are included.
//
// The package also has what the main program of every agent needs: the usual options
// ([StandardOptions]), a log file ([GiveLog], [OpenLog]), an ordinary user ([DropPrivileges]) and a name space
// ([Namespace]). Package pmdatest tests an agent without pmcd.
//
// Sources: docs/protocol.md 1, 2, 4, 6; docs/pmcd.md e. Man pages pmcd(1), PMDA(3),
// pmdaGetOptions(3).
package pmda
