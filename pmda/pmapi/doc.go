// Package pmapi is the client half of the PMCD protocol. It asks a pmcd for names, descriptors,
// instances, values, texts and labels over one connection, as the PMAPI of libpcp does for C.
//
//	network, address, err := pmapi.ParseAddress("local:")
//	c, err := pmapi.Dial(ctx, network, address)
//	names, err := c.LookupNames(ctx, []string{"kernel.all.load"})
//	res, err := c.Fetch(ctx, []pdu.PMID{names[0].PMID})
//
// pmcd wants numbers, not names. LookupNames returns the PMID of a name, Desc the type and the
// units of its values, Instances the names of instances, and Fetch the values. Package pdu explains
// these words.
//
// # One request at a time
//
// A [Conn] has one request on its way. It may be used by one goroutine at a time, except for methods
// whose comment allows more. The deadline of a call is that of its context. Without one, each exchange
// of PDUs gets [DefaultTimeout].
//
// # Answers and failures
//
// If pmcd answers with an ERROR, the error is an [*OpError] that wraps its [pdu.Code], and the connection
// is good. The connection is also good after an answer that cannot be decoded or is for another request:
// an agent may have sent it, and pmcd passes on anything. The code is [pdu.ErrIPC] then, in a fetch only for the
// metrics concerned.
//
// After any other error, such as a time-out, the end of the stream or a PDU of a wrong kind, the next
// answer cannot be found in the stream. The connection is closed at once, and every later call returns that
// first error, as does [Conn.Err]. The caller dials again and looks everything up again. It is closed at once
// because pmcd writes to its clients without a time-out: a reply that is not read stops pmcd for all
// clients.
//
// # Two ways to fetch
//
// [Conn.Fetch] waits for the values. A caller that must never wait sends the request with
// [Conn.StartFetch] and reads the answer with [Conn.PollColumns], which reads only bytes that have arrived.
// Another goroutine waits in [Conn.WaitReadable] until there is something to read. While it waits,
// only StartFetch, PollColumns and methods that may be called at any time may be called. Calls of
// StartFetch and PollColumns need a lock of the caller's.
//
// # Limits
//
// pmcd closes a connection without an ERROR when a request is longer than 65,536 bytes ([MaxFetch]
// metrics). Requests for names and descriptors are split into much shorter ones, also because pmcd serves no
// other client during one. A Conn does not reconnect, cache or retry: that is left to the caller.
//
// Sources: PMAPI(3), PCPIntro(1), docs/protocol.md 5 to 7, docs/pmcd.md b.
package pmapi
