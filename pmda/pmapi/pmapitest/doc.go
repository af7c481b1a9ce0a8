// Package pmapitest has a pmcd for the tests of a client. [Listen] runs a script for each connection, which reads
// requests and sends replies. [Collector] is a script that serves metrics from memory. [Relay] is a pmcd between
// clients and a Collector: a test sees each PDU there, and can delay, drop or change it.
//
//	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
//		p.Greet(pmapitest.AllFeatures)
//		p.Expect(pdu.KindTextReq)
//		p.Fail(pdu.ErrText)
//	})
//	c, err := pmapi.Dial(ctx, "unix", address)
//
// If a client sends another request than the script expects, the test fails. All servers end with the test.
package pmapitest
