package pdu

// Sizes of frames in bytes, header included. Source: docs/protocol.md 1.2.
const (
	// HeaderSize is the size of a header, and the smallest PDU.
	HeaderSize = 12

	// MaxClientPDU is the largest PDU that pmcd accepts from a client (default of pmcd -L). pmcd
	// closes the connection without an ERROR when one is larger.
	MaxClientPDU = 64 << 10

	// AgentLimit is the largest PDU that an agent should accept from pmcd.
	AgentLimit = 16 << 20

	// ClientLimit is the largest PDU that a client should accept from pmcd.
	ClientLimit = 256 << 20

	// MaxPDU is the largest PDU that any receiver accepts, and that Writer writes (7.2.0).
	MaxPDU = 1<<31 - 1 - 1024
)

// Sizes inside PDUs, in bytes unless said otherwise. Source: docs/protocol.md 2, 7.
const (
	// MaxBlockBody is the largest body of a value block: its length word vlen has 24 bits and counts the 4
	// bytes of the block's head, too.
	MaxBlockBody = 1<<24 - 1 - blockHead

	// MaxAttrValue is the largest value of an ATTR, a NUL at its end included.
	MaxAttrValue = 4095

	// MaxSASLValue is the largest value of an ATTR of the attribute AttrSASL.
	MaxSASLValue = 2047

	// MaxLabelJSON is the largest JSON text of one label set.
	MaxLabelJSON = 1<<16 - 2

	// MaxLabels is the largest number of labels in one set.
	MaxLabels = 254

	// MaxLabelName is the longest name of a label.
	MaxLabelName = 255

	// maxCreds is the largest number of credentials in a CREDS.
	maxCreds = 1024
)

// Sizes of buffers, in bytes.
const (
	// minBuffer is the first size of a receive buffer; stock PDUs rarely are larger.
	minBuffer = 4 << 10

	// minRead is the least space that is offered to a Read.
	minRead = 512

	// retainedBytes is the capacity that a reused buffer never gives back.
	retainedBytes = 64 << 10
)

// bufferUse counts the uses of a reused buffer, to find one that a single large message made too large.
// The zero value is ready.
type bufferUse struct{ peak, uses int }

// useWindow is how many uses in a row must be small before a buffer is given back.
const useWindow = 64

// tooLarge counts one use of a buffer, both sizes in bytes. Once in useWindow uses it reports whether the capacity
// is more than retainedBytes and more than four times the largest use of the window.
func (t *bufferUse) tooLarge(capacity, used int) bool {
	t.peak = max(t.peak, used)
	if t.uses++; t.uses < useWindow {
		return false
	}
	give := capacity > retainedBytes && capacity/4 > t.peak
	t.peak, t.uses = 0, 0
	return give
}
