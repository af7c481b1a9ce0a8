package ere

// Error is the reason a pattern is refused. Its value is, byte for byte, the text that regerror(3)
// of the GNU C library has for the same fault, because that text is what libpcp shows after
// "bad regular expression:".
type Error string

// The reasons, under the names that regcomp(3) gives them (REG_EBRACK and so on).
const (
	ErrBadPat  Error = "Invalid regular expression"           // the pattern ends after "[" or "[^"
	ErrCollate Error = "Invalid collation character"          // [[.hyphen.]], [[=ab=]]
	ErrCType   Error = "Invalid character class name"         // [[:word:]]
	ErrEscape  Error = "Trailing backslash"                   // a\
	ErrSubReg  Error = "Invalid back reference"               // \1(a)
	ErrBrack   Error = "Unmatched [, [^, [:, [., or [="       // [a
	ErrParen   Error = `Unmatched ( or \(`                    // (a
	ErrBrace   Error = `Unmatched \{`                         // a{1
	ErrBadBr   Error = `Invalid content of \{\}`              // a{2,1}
	ErrRange   Error = "Invalid range end"                    // [z-a]
	ErrSize    Error = "Regular expression too big"           // a{32768}, or a limit of this package
	ErrBadRpt  Error = "Invalid preceding regular expression" // *a
)

// What the C library takes and Go's regexp cannot say.
const (
	ErrBackref  Error = "Back-references are not supported"                                                              // (a)\1
	ErrWordEdge Error = `\< must come directly before a letter, digit or _, and \> directly after one; otherwise use \b` // \<.
)

func (e Error) Error() string { return string(e) }
