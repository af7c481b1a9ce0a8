// Package sampler takes the samples of functions over time, adds them to the windows of these functions, and publishes
// the results.
//
//	reload ──SwitchSet──► Sampler ──Tick──► upstream           one fetch for all ticks of one time
//	                        │  ▲               │
//	                        │  └───Sampled─────┘               new samples have arrived
//	                        └──► Results ──Latest, ReadSince──► request loop
//
// Results belongs to one set of definitions. It has one immutable state at a time, Published, which the Sampler
// replaces when it has new results.
//
// # Goroutines and the lock
//
// Sampler.Run is one goroutine. It waits for the next tick, for samples, for a new set, or for the first fetch of a
// client; then RunDue does what is due. The request loop reads results and waits for nothing but Sampler.mu. This lock
// joins two things: a new state is published, and a cursor is set to the tick of a state. Nothing is computed under it.
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
// # A client reads a function without a window
//
// `max_sample(x)` covers the time since the client's last fetch of the metric. Its window has no span (Window.Span is
// 0) and is called a per-client window. The agent computes each result once for all clients that have read the same
// tick last, instead of once for each client:
//
//	tick              10     11     12     13     14      15
//	published            ▲      ▲      ▲      ▲       ▲
//	A fetches                   A: cursor 11          A: the result of ticks 12, 13 and 14; cursor 14
//	B fetches                   B: cursor 11   B: the result of ticks 12 and 13; cursor 13
//	accumulator of 11           ├──────┼──────┼───────┤   its result is published with each tick: since[11]
//	accumulator of 13                         ├───────┤   the same for B's next fetch: since[13]
//
// In words, with the functions that do it:
//
//  1. A tick begins (startDueTick): each second if a client reads one of the windows, else twice in --interval for
//     first fetches. scanCursors collects the tick that each client has read last, and drops the cursors of clients
//     that did not come again. For each of these ticks beginPerClientTick has an accumulator in each window
//     (Windows.BeginTick), and drops the accumulators that no cursor needs.
//  2. requestSamples requests the samples of the tick, and addSamples adds them to the windows: each value goes into
//     all accumulators of its window (Windows.Add).
//  3. When all windows have their sample, or it is too late for it, the tick is complete. publishIfComplete starts the
//     accumulators of this tick (Windows.EndTick) and publishes a new state: Published.tick is the number of the tick, and
//     Published.since has the result of each accumulator, by the tick that it began after.
//  4. A client's FETCH arrives. Agent.startFetch loads the state once (Results.Latest), so all metrics of the fetch are
//     of one tick.
//  5. Agent.windowResults finds the Cursor of context and metric and calls ReadSince. This returns since[cursor's
//     tick], and sets the cursor to the tick of the state. If the values cannot be served now, ExtendCursor only says
//     that the client is still there: the next fetch covers this time, too.
//  6. Agent.evaluate computes the rest of the expression from these results.
//
// ReadSince returns these results:
//
//	the cursor is                     result
//	not registered: a first fetch,    that of a first fetch: the last ticks, as long as --interval; from then on there is
//	or one after the cursor expired   a tick each second (wakeRun)
//	at tick n                         since[n]
//	at the tick of the state          the result of the last fetch, but no value for sums and 0 for counts: nothing may
//	                                  be counted twice
//	at tick n, and the definition     that of a first fetch, so that all windows of the metric have the same ticks
//	was edited since
//
// A new window begins with the next tick. The results of first fetches of all windows of its group begin again with it:
// see groupWindows.
//
// # Where to change it
//
//	when ticks are                                        ticker.tickAfter, windowsAt
//	how early or late a sample of a tick may be           maxEarly, ticker.deadline
//	which windows are sampled together                    Sampler.requestSamples; with the same ticks: groupWindows
//	how a value gets into a window, and its result        package window
//	when results are published                            Sampler.RunDue, publishIfComplete, publish
//	which result a client gets                            Sampler.ReadSince, Results.firstRead, window.WithPrevious
//	how long a client's cursor is kept                    contexts.expectedUntil of package agent
package sampler
