package syntax

// token is one lexical element of the text.
type token struct {
	kind kind
	op   Op   // for tokOp: the binary operator, Sub for every "-"
	fn   Func // for tokFunc

	// text is a name, digits, a key or a word with its parenthesis as written, or a string, an instance or a pattern
	// without its delimiters.
	text string
	num  uint32 // for tokInt: its value
	at   Span
}

// kind is a kind of tokens that the grammar distinguishes.
type kind uint8

const (
	tokEnd      kind = iota
	tokName          // disk.dev.total
	tokInt           // 42
	tokDouble        // 1.5
	tokString        // "…"
	tokInstance      // […]
	tokPattern       // /…/
	tokKey           // type, semantics, units: reserved words

	tokFunc   // a function word and the parenthesis right after it
	tokOp     // every binary operator; "-" can be the prefix operator, too
	tokNot    // !; from here on the kinds are in the order of marks
	tokQuest  // ?
	tokColon  // :
	tokLParen // (
	tokRParen // )
	tokComma  // ,
	tokAssign // =

	tokBad // every token after a mistake
)

// follows reports whether the token may follow a metric that is an operand.
func (t token) follows() bool {
	switch t.kind {
	case tokEnd, tokOp, tokQuest, tokColon, tokLParen, tokRParen, tokComma, tokInstance:
		return true
	default:
		return false
	}
}
