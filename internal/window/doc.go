// Package window computes functions over time: the maximum, the sum and so on of the values that each instance had at
// the ticks of a window. It is pure. The owner of [Windows] gives it the sample of each tick, with the number of the
// tick.
//
//	samples ──Windows.Add──► evaluation ──► a column of each window ──► the result of a window with a span
//	                                                 │
//	                                   Windows.State ▼ immutable
//	              client ──Cursor──► Reader.Read: the result of the columns after the client's last tick
//
// # Columns
//
// A window is a list of columns, one for each tick that had values or could have had some: the number of the tick, its
// instances in ascending order, and their values. A column never changes. The result of a window is a loop over its
// columns, so nothing has to be kept up to date, and no rounding error outlives its value:
//
//	tick         n       n+1       n+2       n+3
//	instance 1   3        1         4         1     ──► row 3 1 4 1 ──► max() 4, or sum() 9, or another function
//	instance 2   5        9         -         2     ──► row 5 9 2   ──► 9; 16
//	             └── one run ───┘   └─ others ─┘
//
// The loop (reducer) gathers the rows of some instances at a time, so that they stay in the cache, and gives each row to
// the function: that of the aggregate with the same name, or a few lines of this package. Columns that follow each other
// with the same instances are a run. The positions of the instances are looked up once for each run.
//
//	event                            effect on the window
//	a tick fails, or is missing      none: the window ends at the last tick that did not
//	an instance is missing           it is not in the result; in a domain of groups it is, as long as it is in the window;
//	                                 in a latch it loses its state
//	a group has a value in it        the group keeps its number and name: Windows is a [derived.GroupHolder]
//	a number gets another name       it is another instance: all that the window has of it ends (names.go)
//	an instance occurs twice         its first value counts
//	a number is not finite, or 0/0   it does not count, but its instance is there
//	the operand has no values        the window moves on, and has the values of earlier ticks
//	ticks are numbered anew          the window restarts, if the number is not larger; a latch keeps its states
//	the connection was lost          values stay; delta() and rate() have no value once
//	a counter wraps                  its delta() and rate() have no value at one tick; counters themselves are refused
//
// A latch has no columns, but a state for each instance of the newest tick.
//
// # Per-client windows
//
// A window without a span covers the time since the last fetch of each client. A client has a [Cursor] for each metric:
// the tick that it has read last. Its next result is that of the columns after this tick, and is computed when it reads.
// A first fetch has the last FirstTicks ticks.
//
//	tick           10     11     12     13     14
//	                ▲      ▲      ▲      ▲      ▲
//	A fetches              cursor 11     └──────┴── the columns 12, 13 and 14 ──► cursor 14
//	B fetches       cursor 10  └── 11 and 12 ──► cursor 12
//
// A window keeps the columns that a cursor needs, and those of a first fetch. [Readers] tells it what cursors need: the
// request loop sets it when cursors move, and the window reads it once a tick. A window keeps at most an hour, and
// [Limits] bounds its values. It drops its oldest columns for that, so the price is paid by those who read seldom: a
// cursor before what is kept has an error once. No other client and no other window notices.
package window
