// Package window computes what values were over time: the largest, the sum … of each instance over the ticks of a window. It is
// pure: whoever owns a Window gives it the values of each tick, with the number of the tick, and asks for the result. Windows is those of
// all definitions together, with what they are computed from: it is given the samples of each tick.
//
//	tick   n          n+1        n+2        n+3        n+4        n+5
//	       └─────────── front ───────────┘  └──────── back ────────┘
//	       what is left of the front,       the value itself
//	       once this tick has gone
//
// Each instance has two parts, what its values in the front come to and what those in the back do; the result is both together. A new
// value is joined to the back. A value that leaves the window says itself what its front comes to from then on. Once the front is
// empty the back becomes the front, newest tick first. So a value is looked at three times, however long the window is;
// nothing is ever subtracted, so that no rounding outlives its value; and what is kept is one number for each value (two
// in the front of a standard deviation), whatever instances come and go. A percentile and a slope take all values, and have no parts: of the one
// each instance's are kept in order, too, for the other each result goes through them.
//
//	what happens                     what becomes of the window
//	a tick fails, or is missing      nothing: it ends at the last good one
//	an instance is missing           it is not in the result, over a domain of our own it is as long as the window has a value of it
//	a number is not finite           as if it were missing
//	ticks are numbered anew          it begins anew, if with a number that is not larger
//	the connection was lost          values stay; delta() and rate() have none once, as anywhere
//	a counter wraps                  its values do not come here, but those of its delta() and rate(): a negative one, and none
package window
