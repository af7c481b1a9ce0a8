// Package pmapi is the client half of the PMCD protocol: it asks a pmcd for names, descriptors,
// instances, values, texts and labels over one connection.
//
//	network, address, err := pmapi.ParseAddress("local:")
//	c, err := pmapi.Dial(ctx, network, address)
//	names, err := c.LookupNames(ctx, []string{"kernel.all.load"})
//	res, err := c.Fetch(ctx, []pdu.PMID{names[0].PMID})
//
// Everything is asked for by number: LookupNames gives the PMID of a name, Desc the type that its values are
// read with, Instances the names of the instances that values are of, Fetch the values. What the words mean
// is in the documentation of package pdu.
//
// # One request at a time
//
// A [Conn] has one request in flight. It may be used by one goroutine at a time; the methods that
// may run beside others say so. The deadline of a call is that of its context; without one, each
// exchange of PDUs gets [DefaultTimeout].
//
// # Answers and failures
//
// An error answer of pmcd (an ERROR PDU in place of the reply) is a [pdu.Code] inside an
// [*OpError]; the connection stays good. So it does after an answer that cannot be read or does not fit the question:
// [pdu.ErrIPC], in a fetch of those metrics alone that it concerns. An agent may have said so, and pmcd relays it.
// Everything else — a time-out, the end of the stream, a PDU of a kind that cannot be the answer — leaves the stream in an unknown place: the connection is closed at
// once and every later call returns that first error, as does [Conn.Err]. The caller dials anew and
// looks everything up again. Closing at once matters: pmcd writes to its clients without a time-out,
// and a reply that nobody reads stops it for everybody.
//
// # Two ways to fetch
//
// [Conn.Fetch] waits for the values. A caller that must never wait writes the request with
// [Conn.StartFetch] and takes the answer with [Conn.PollColumns], which reads what the socket holds;
// another goroutine sleeps in [Conn.WaitReadable] until there is something to read. While it does,
// only StartFetch, PollColumns and the methods marked as safe may be called, under a lock of the
// caller's.
//
// # Limits
//
// pmcd closes a connection without a word when a request is longer than 65,536 bytes ([MaxFetch]
// metrics). Name and descriptor lookups are split well below, also because pmcd serves nobody else
// meanwhile. Reconnecting, caching and retrying are the caller's.
//
// Sources: PMAPI(3), PCPIntro(1), docs/protocol.md 5 to 7, docs/pmcd.md b, h, i, l.
package pmapi
