// Package predict tells when a client context will fetch next, from when it has fetched. It is pure: it knows nothing of
// metrics, and the time is a parameter.
//
//	request loop:  Rhythm.Fetched(now) ──► Plan, a value ──► schedule:  sample at Plan.At, Plan.Sampled(now), …
//
// A Rhythm belongs to the request loop, a Plan to who follows it until the next fetch: they share nothing.
//
//	the context has fetched      the plan samples
//	once, or twice at once       40 and 5 ms before the end of each usual interval
//	at regular times             5 ms before the next one; up to 25 ms if fetches came early or are not yet trusted
//	at no regular times          every 50 to 800 ms, for a minute (also until three forecasts in a row were right)
//	every 5 ms or faster         never: each fetch asks for the sample of the next one
//	nothing, it has looked up    15 ms after the last look-up, then every 800 ms for 10 s
//
// Of two forecasts the better one counts: pace is the typical interval after the last fetch, grid the next multiple of a
// period that most fetches came at. A time during which pmcd served nobody (Interval) explains a late fetch.
package predict
