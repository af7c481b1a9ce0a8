package operand

import "slices"

// Kept is samples that are kept although there are newer ones, newest first.
type Kept []*Sample

// Add adds the newest sample, if it is not there, and lets go of the oldest if there are more than most then.
func (k *Kept) Add(s *Sample, most int) {
	if len(*k) > 0 && (*k)[0] == s {
		return
	}
	*k = slices.Insert(*k, 0, s)
	k.Trim(most)
}

// Trim lets go of all samples but the n newest.
func (k *Kept) Trim(n int) {
	n = min(n, len(*k))
	clear((*k)[n:])
	*k = (*k)[:n]
}
