package pattern

// Error is the reason why a pattern is refused.
type Error string

// The reasons. The texts are those of regerror(3) in the GNU library, which libpcp shows after "bad regular
// expression:". The last two are of this package only.
const (
	ErrCType  Error = "Invalid character class name"         // [[:word:]]
	ErrEscape Error = "Trailing backslash"                   // a\
	ErrBrack  Error = "Unmatched [, [^, [:, [., or [="       // [a
	ErrParen  Error = `Unmatched ( or \(`                    // (a
	ErrBadBr  Error = `Invalid content of \{\}`              // a{2,1}
	ErrRange  Error = "Invalid range end"                    // [z-a]
	ErrSize   Error = "Regular expression too big"           // a{32768}, or a limit of this package or of Go's regexp
	ErrBadRpt Error = "Invalid preceding regular expression" // *a

	ErrBackref Error = "Back-references are not supported"          // (a)\1
	ErrCollate Error = "[.x.] and [=x=] are not supported: write x" // [[=a=]]
)

func (e Error) Error() string { return string(e) }
