package pmda

import "pmdaderived/pdu"

// resultSizes remembers how large the value sets of recent results were, for the next result to the
// same fetch: see [pdu.ResultWriter.Expect]. Fetches are told apart by who sent them and by the number
// of metrics; one that is taken for another only costs time.
type resultSizes [64]resultSize

type resultSize struct {
	client  Client
	context pdu.ContextID
	metrics int
	bytes   int
}

// of returns the place where the size of a result is kept, in bytes. What is there is the size of
// the last one, or that of singular numbers.
func (s *resultSizes) of(c Client, ctx pdu.ContextID, metrics int) *int {
	const setOfOne = 20 // bytes
	at := &s[(uint32(c)*31+uint32(ctx)*7+uint32(metrics))%uint32(len(s))]
	if at.client != c || at.context != ctx || at.metrics != metrics {
		*at = resultSize{client: c, context: ctx, metrics: metrics, bytes: setOfOne * metrics}
	}
	return &at.bytes
}
