// Package history has the samples that a client context was served from, by metric, and evaluates metrics from them. It
// is pure; all of it belongs to the request loop.
//
// A metric with delta() or rate() is computed from several samples. So each context has a History for each metric of
// its list, and History.Advance adds the newest sample at each fetch:
//
//	the newest sample is             the History           the metric has
//	missing, or too old              stays: Stale          PM_ERR_AGAIN
//	the one of the last fetch        stays: Unchanged      rate(): its last value; delta(): no value
//	newer                            has it first          its value
//	the first one, or the first      starts again with it: a value, if the series has retained older samples
//	after a lost connection          restart, Backfill
//
// Evaluations computes metrics. Contexts with the same samples share an evaluation, so a hundred clients that fetch
// together cost one. The memory of evaluations is reused.
package history
