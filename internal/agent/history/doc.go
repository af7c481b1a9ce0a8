// Package history is what a client context has seen of a metric, and what is computed from that. It is pure; all of it belongs to
// the request loop.
//
//	newest sample            History.Advance              the metric is served
//	none, or too old         Stale: it stays              PM_ERR_AGAIN
//	the same as before       Same: it stays               rate() its former value, delta() none
//	newer                    one step more                its value
//	after a lost connection, it begins anew, and goes     a first value
//	or the first fetch       on with what was kept
//
// Evaluations computes metrics from histories. Contexts with the same samples share one, and its memory is used again.
package history
