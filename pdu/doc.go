// Package pdu is the vocabulary and the codec of the protocol that pmcd speaks with its clients
// and with its agents (PMDAs). It has every PDU as a type with Decode and Append, a reader and a
// writer for frames, and the words PDUs are made of: PMID, InDom, Units, Desc, Value, Code.
// It starts no goroutine, makes no decisions and logs nothing. PCP 6.0.3 and 7.x are covered.
//
// # Words
//
// A metric has a name such as kernel.all.load, a [PMID] and a [Desc]. The PMID is its number in three parts: the
// domain, one for each agent, the cluster and the item. The Desc has the type of its values, their semantics (a
// counter that only grows, a value of the moment, one that hardly changes), their [Units] and its instance domain.
// A metric that has one value is singular, and its instance domain is [NoInDom]. Other metrics have a [Value] for
// each [Instance]. An instance has a number within its [InDom] and a name. A fetch returns a [ValueSet] for each
// metric: values, or the [Code] that says why there are none. Names form a tree, the name space (PMNS). Clients
// connect to pmcd, the collector; agents (PMDAs) own the metrics.
//
// # Frames
//
// Both directions of both connections carry PDUs, one after the other, all integers big-endian:
//
//	byte 0         4         8         12
//	     +---------+---------+---------+------------
//	     | length  |  kind   |  from   | body ...
//	     +---------+---------+---------+------------
//	      header included                length-12 bytes
//
// Strings and value blocks are padded to four bytes; the padding byte is '~' when sent and
// anything when received. The word from has two uses: from pmcd to an agent it is the number of the
// client, and in CREDS it is a process id. Elsewhere it is ignored.
//
// # Who sends what
//
//	client to pmcd to agent           answer
//	FETCH, HIGHRES_FETCH (1)          RESULT, HIGHRES_RESULT (1)
//	DESC_REQ, DESC_IDS (1)            DESC, DESCS (1)
//	INSTANCE_REQ                      INSTANCE
//	TEXT_REQ                          TEXT
//	LABEL_REQ                         LABEL
//	PMNS_NAMES                        PMNS_IDS
//	PMNS_IDS, _CHILD, _TRAVERSE       PMNS_NAMES
//	RESULT (a store)                  ERROR, code 0 when all is well
//	PROFILE, ATTR                     none
//	CREDS (2)                         CREDS to an agent, none to a client
//	any                               ERROR in place of the answer
//
// (1) HIGHRES_FETCH, HIGHRES_RESULT, DESC_IDS and DESCS exist between client and pmcd only.
// (2) An agent speaks first, with CREDS; pmcd speaks first to a client, with an extended ERROR.
//
// # Trust
//
// A peer never decides how much memory we allocate. Frames have a limit that the receiver sets.
// Buffers grow with the bytes that have arrived, not with the length that was announced. Every
// count is compared with the bytes that remain before anything is allocated.
//
// Layouts are checked strictly, except where stock programs of different versions differ. Accepted
// are an ERROR of 16 or 20 bytes, a PROFILE of 24, a missing pad at the very end of a PDU that ends
// with a string, up to three bytes of pad after a LABEL, and a generous nstrbytes in PMNS_NAMES.
//
// Decoding errors are *[DecodeError] and carry [ErrIPC]; the stream is good after them. Framing
// errors are *[FrameError]; the stream is over. A value set of a RESULT that is wrong does not harm
// the other sets, see [Columns].
//
// # To add a PDU
//
//  1. kind.go: its Kind, its name, its type in New.
//  2. A type with Kind, Decode, Append and String in the file of its exchange; Decode is a straight
//     list of cursor reads, ended by done, and Append the same list of encoder writes, ended by withLength.
//  3. A golden vector in testdata/vectors, and its line in testdata/trace.golden (go test -update).
//
// # Sources
//
// The layouts follow docs/protocol.md (sections are named at the types), which was measured on
// running PCP 6.0.3 and 7.2.1 programs. In libpcp each has a file p_*.c, p_fetch.c for one. Names
// are those of PMAPI(3) and PMDA(3).
package pdu
