package pmda

// Sizes in bytes and replies of the rule by which a replyBuffer gives memory back.
const (
	keepReply  = 64 << 10 // a buffer of this size is kept for good
	outlierRun = 64       // this many small replies in a row show that a big one was an outlier
)

// replyBuffer holds the reply being made and keeps its memory for the next one, unless that became
// out of proportion.
type replyBuffer struct {
	buf   []byte
	small int // replies in a row that filled less than a quarter of buf
}

// empty lends the memory for the next reply.
func (b *replyBuffer) empty() []byte { return b.buf[:0] }

// set takes the reply made from empty and returns it, valid until the next one.
func (b *replyBuffer) set(frame []byte) []byte {
	switch {
	case cap(frame) <= keepReply || len(frame) > cap(frame)/4:
		b.small = 0
	case b.small < outlierRun:
		b.small++
	default:
		b.small = 0
		b.buf = nil
		return frame
	}
	b.buf = frame
	return frame
}
