package pdu

// Sizes of frames in bytes, header included. Source: docs/protocol.md 1.2.
const (
	// HeaderSize is the size of a header, and the smallest PDU.
	HeaderSize = 12

	// MaxClientPDU is the largest PDU that pmcd takes from a client (default of pmcd -L). pmcd
	// closes the connection without a word when one is larger.
	MaxClientPDU = 64 << 10

	// AgentLimit is what an agent should accept from pmcd.
	AgentLimit = 16 << 20

	// ClientLimit is what a client should accept from pmcd.
	ClientLimit = 256 << 20

	// MaxPDU is the largest PDU that any receiver accepts, and that Writer writes (7.2.0).
	MaxPDU = 1<<31 - 1 - 1024
)

// Sizes inside PDUs, in bytes unless said otherwise. Source: docs/protocol.md 2, 7.
const (
	// MaxBlockBody is the largest body of a value block: vlen has 24 bits and counts 4 more.
	MaxBlockBody = 1<<24 - 1 - blockHead

	// MaxAttrValue is the largest value of an ATTR, a NUL at its end included.
	MaxAttrValue = 4095

	// MaxSASLValue is the same for AttrSASL.
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

	// minRead is the least space worth a read.
	minRead = 512

	// retainedBytes is the capacity that a reused buffer keeps in any case.
	retainedBytes = 64 << 10
)

// bufferUse tells when a reused buffer should be given back because one outlier blew it up. The
// zero value is ready.
type bufferUse struct{ peak, uses int }

// useWindow is how many uses in a row must be small before capacity is given back.
const useWindow = 64

// tooLarge notes one use of a buffer, both sizes in bytes, and reports whether the capacity has been
// far more than needed for a whole window.
func (t *bufferUse) tooLarge(capacity, used int) bool {
	t.peak = max(t.peak, used)
	if t.uses++; t.uses < useWindow {
		return false
	}
	give := capacity > retainedBytes && capacity/4 > t.peak
	t.peak, t.uses = 0, 0
	return give
}
