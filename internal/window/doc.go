// Package window computes functions over time: the maximum, the sum and so on of the values that each instance had at
// the ticks of a window. It is pure. The owner of a [Window] gives it the values of each tick, with the number of the
// tick, and asks for the result. [Windows] has the windows of a set, and computes their values from samples.
//
//	samples ──Windows.Add──► evaluation ──► Window.Add ──► front | back ──► Windows.Results
//	                                                                            │ per client
//	                                             BeginTick … EndTick ───────► ResultsSince
//
// # Parts
//
//	tick   n          n+1        n+2        n+3        n+4        n+5
//	       └─────────── front ───────────┘  └──────── back ────────┘
//	       word: the part of the front      word: the value itself
//	       without this tick and all
//	       before it
//
// Each instance has two parts: one joins its values in the front, the other its values in the back. The result joins
// both. A new value is joined to the back. When a tick leaves the front, its word is the new part of the front. When
// the front is empty, the back becomes the front, and is joined from the newest tick to the oldest.
//
// So each value is used three times, however long the window is. Nothing is subtracted, so no rounding error outlives
// its value. A window retains one number per value, two in the front of a standard deviation. A percentile also retains
// the values of each instance in order, and a slope goes through all values for each result.
//
//	event                            effect on the window
//	a tick fails, or is missing      none: the window ends at the last tick that did not
//	an instance is missing           it is not in the result; in a domain of groups it is, as long as it is in the window;
//	                                 in a latch it loses its state
//	a number is not finite, or 0/0   it does not count, but its instance is there
//	the operand has no values        the window moves on, and has the values of earlier ticks
//	ticks are numbered anew          the window restarts, if the number is not larger; a latch keeps its states
//	the connection was lost          values stay; delta() and rate() have no value once
//	a counter wraps                  its delta() and rate() have no value at one tick; counters themselves are refused
//
// # Per-client windows
//
// A window without a span covers the time since the last fetch of each client. Windows keeps one Window for first
// fetches, and one for each tick that some client has read last. A client that reads at tick n gets the values after
// the tick that it read before, and is from then on one of those that have read n.
package window
