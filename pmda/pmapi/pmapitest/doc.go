// Package pmapitest has a pmcd for the tests of a client: [Listen] runs a script against each
// connection (expect this, send that), and [Collector] is a script that serves metrics from memory.
//
//	address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
//		p.Greet(pmapitest.AllFeatures)
//		p.Expect(pdu.KindTextReq)
//		p.Fail(pdu.ErrText)
//	})
//	c, err := pmapi.Dial(ctx, "unix", address)
//
// What a client does wrong is reported as an error of the test. Everything ends with the test.
package pmapitest
