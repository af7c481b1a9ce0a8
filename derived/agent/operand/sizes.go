package operand

import "time"

// PartRetry is how long shorter fetches are sent once an answer was too long or pmcd has closed a connection over a long
// fetch: it may have ended just then.
const PartRetry = 10 * time.Minute

// Sizes is what is known of how long fetches and their answers may be. pmcd does not tell how many operands it takes
// (pmcd -M), or how many bytes (-L), and longer answers than a client wants are not taken.
type Sizes struct {
	Now      int       // operands in one fetch at most
	Shrunk   time.Time // when that was last made less
	Together int       // what now grows back to: how many of several sources pmcd takes
	Alone    int       // operands of one source that pmcd takes: they cannot be parted
	Closed   time.Time // when pmcd last closed a connection over a fetch for several sources
	Proven   int       // operands in the longest fetch that it has answered in this session
}

// NewSizes makes one that has a fetch as long as it may be.
func NewSizes(most int) Sizes { return Sizes{Now: most, Together: most, Alone: most} }

// Part is how many operands a fetch has at most.
func (z *Sizes) Part(now time.Time) int {
	if z.Now < z.Together && now.Sub(z.Shrunk) > PartRetry {
		z.Now = z.Together
	}
	return z.Now
}

// Halve makes fetches half as long as one was.
func (z *Sizes) Halve(operands int, now time.Time) {
	z.Now, z.Shrunk = min(z.Now, max(1, operands/2)), now
}
