// Package sampler takes the samples of functions over time, adds them to the windows of these functions, and publishes
// the results.
//
//	reload ──SwitchSet──► Sampler ──Tick──► upstream           one fetch for all ticks of one time
//	                        │  ▲               │
//	                        │  └───Sampled─────┘               new samples have arrived
//	                        └──► Published ──Latest──► request loop ──► window.Reader
//
// Published belongs to one set of definitions. It has one immutable state at a time, a window.State, which the Sampler
// replaces when it has new results.
//
// Sampler.Run is one goroutine. It waits for the next tick, for samples, for a new set, for names of instances, or for
// the first fetch of a client; then RunDue does what is due. The request loop waits for nothing: it loads the newest
// state, and windows learn from an atomic pointer what the clients need (window.Readers).
//
// # Ticks
//
// Windows with the same interval have their ticks together, at multiples of the interval by the wall clock (ticker).
// The wall clock gives only the phase. Ticks are counted by the time that has passed, so a clock that is set ends no
// window.
//
//	a sample that was taken        is
//	up to 10 ms before a tick      the sample of the tick: one that was made for a client is used
//	up to half the interval after  the sample of the tick
//	later, or never                not used: the tick is a gap
//
// A tick has these states:
//
//	state       its ticker has                   it ends
//	started     pending: windows without their   for a window with its sample, or without prospect of one (addSamples);
//	            sample                           for all at the deadline (takeExpired)
//	complete    pending empty, incomplete set    at once, per-client windows only: publishIfComplete
//	published   pending empty                    with the next tick (startTick)
//
// # Per-client windows
//
// `max_sample(x)` covers the time since the client's last fetch of the metric. Its window has no span and is called a
// per-client window. Package window tells what a client gets; when its ticks are is decided here:
//
//   - While a client reads one of the windows that tick together (tickTogether), these have a tick each second, else two
//     in --interval for first fetches. The first fetch of a client wakes Run.
//   - A tick is complete when all windows have their sample, or it is too late for it. Only then is it published, so all
//     metrics of a fetch are of one tick.
//   - A new window begins with the next tick. The first fetches of all windows that tick together begin again with it.
//
// # Where to change it
//
//	when ticks are                                        ticker.tickAfter, windowsAt
//	how early or late a sample of a tick may be           maxEarly, ticker.deadline
//	which windows are sampled together                    Sampler.requestSamples; with the same ticks: tickTogether
//	in which order windows get their samples              Sampler.addSamples
//	how a value gets into a window, and its result        package window
//	when results are published                            Sampler.RunDue, publishIfComplete
//	which result a client gets                            window.Reader
//	how long a client's cursor is kept                    contexts.expectedUntil of package agent
package sampler
