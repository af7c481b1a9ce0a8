// Package predict forecasts when a client context fetches next, from the times of its fetches, and schedules samples
// for that. It is pure: it knows no metrics, and the time is a parameter.
//
//	request loop                                       upstream's schedule
//	Predictor.RecordFetch(now) ──► Schedule ──Set──► Timers ──Next──► a sample at Schedule.Next
//	                                                   ▲                    │
//	                                                   └──────Advance───────┘  until the context fetches again
//
// A Predictor belongs to the request loop. A Schedule is a value: the request loop makes it, and its Timer advances it
// until the next fetch. So the two share nothing.
//
// # When samples are taken
//
//	the context                       its Schedule has a sample
//	fetches at regular intervals      5 ms before the expected fetch, up to 25 ms if fetches came early; until the
//	                                  fourth fetch also every 800 ms
//	did not fetch when expected       every 800 ms, until a minute after its last fetch
//	fetches at irregular intervals    every 50 to 800 ms, until a minute after its last fetch
//	has fetched once                  5 ms before the usual intervals of 0.5 s to 1 min, then every minute, for an hour
//	fetches every 5 ms or faster      none, since each fetch requests the sample of the next one; if no fetch comes,
//	                                  every 800 ms, until a minute after its last fetch
//	has only looked up metrics        15 ms after the last look-up, then every 800 ms for 10 s
//
// # The forecast
//
// The next fetch is expected at the last fetch plus the median of the last eight intervals. This is a forecast only if
// most of the intervals are similar to the median. A fetch that came late because pmcd was blocked does not count as an
// interval: pmcd was blocked for more than half of the interval, and until at most blockedGrace before the fetch
// (TimeRange). After such a fetch there are repeated samples, too, until the next one.
//
// # Where to change it
//
//	which intervals count, and which are dropped          Predictor.RecordFetch, addInterval
//	whether there is a forecast                           Predictor.predictable
//	how long before the expected fetch its sample is      Predictor.lead
//	when there are repeated samples, and how far apart    Schedule.setNext, gap; the constants of package freshness
//	how many contexts have samples                        contexts.makeRoom and Agent.recordLookup of package agent
package predict
