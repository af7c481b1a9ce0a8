package operand

import "slices"

// RetainedSamples are samples that stay although there are newer ones, the newest first.
type RetainedSamples []*Sample

// Add adds a sample unless it is the newest already, and drops the oldest so that at most most remain.
func (k *RetainedSamples) Add(s *Sample, most int) {
	if len(*k) > 0 && (*k)[0] == s {
		return
	}
	*k = slices.Insert(*k, 0, s)
	k.Truncate(most)
}

// Truncate drops all samples but the n newest ones.
func (k *RetainedSamples) Truncate(n int) {
	n = min(n, len(*k))
	clear((*k)[n:])
	*k = (*k)[:n]
}
