// Package predict tells when a client context will fetch next, from when it has fetched. It is pure: it knows nothing of
// metrics, and the time is a parameter.
//
//	request loop:  Rhythm.Fetched(now) ──► Plan, a value ──► schedule:  sample at Plan.At, Plan.Sampled(now), …
//
// A Rhythm belongs to the request loop, a Plan to who follows it until the next fetch: they share nothing.
//
//	the context has fetched      the plan samples
//	at regular times             5 ms before the next one; up to 25 ms if fetches came early; until the fourth every 800 ms, too
//	at no regular times          every 50 to 800 ms, for a minute; so it does if the fetch that is expected does not come
//	once                         likewise, and then every minute for an hour
//	every 5 ms or faster         never: each fetch asks for the sample of the next one
//	nothing, it has looked up    15 ms after the last look-up, then every 800 ms for 10 s
//
// The forecast is the last fetch and the median of the intervals. A time during which pmcd served nobody (Interval) explains a late fetch.
package predict
