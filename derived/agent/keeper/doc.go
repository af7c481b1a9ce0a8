// Package keeper samples what functions over time are computed from, and publishes what they come to.
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
package keeper
