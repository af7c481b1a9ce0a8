// Package sampler samples what functions over time are computed from, and publishes what they come to.
//
//	reload ──Serve──► Keeper ──Tick──► upstream           one fetch for all ticks that fall together
//	                    │  ▲              │
//	                    │  └──Sampled─────┘
//	                    └──► Board ──See──► request loop   immutable results, one set at a time
//
// It has one goroutine, Keeper.Run, to which the goroutine of the reload hands each set in Serve, and one lock:
//
//	seen  is between Run and the request loop, which says in See and Forget which client has seen which tick; nothing is computed under it
//
// # Ticks
//
// The windows of one interval have their ticks together, at multiples of it by the wall clock. That gives the phase only: ticks are
// counted by the time that has passed, so that a clock that is set moves them and ends no window.
//
//	a sample that was taken        is
//	up to 10 ms before a tick      its own: one that was made for a client is not made again
//	up to half the interval after  its own
//	later, or never                not taken: the tick is a gap
//
// # Looks
//
// What a client is told of a metric with windows that are since its last look:
//
//	it has seen                       it is told
//	nothing, or it came too late      the last ticks, as many as a first look covers
//	tick n                            what came after n: this is kept for each tick that somebody has seen last
//	tick n, which is the newest       the same again, but a sum is told once, and a count is 0
//	tick n, of what was edited since  as at a first look
//
// A window that is new begins with the next tick, and for first looks all windows of its group begin anew with it: see together.
package sampler
