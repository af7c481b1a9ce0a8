package syntax

// token is one lexical element of the text.
type token struct {
	kind kind
	op   Op     // of tokOp: the binary operator, Sub for every "-"
	fn   Func   // of tokFunc
	text string // name, digits, key or word with its parenthesis as written; string, instance or pattern without its delimiters
	num  uint32 // of tokInt: its value
	at   Span
}

// kind tells tokens apart as far as the grammar cares.
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
	tokOp     // every binary operator; "-" may be the prefix operator as well
	tokNot    // ! as what follows, in the order of marks
	tokQuest  // ?
	tokColon  // :
	tokLParen // (
	tokRParen // )
	tokComma  // ,
	tokAssign // =

	tokBad // what stands behind a mistake
)

// follows reports whether the token may stand right after a metric that is an operand.
func (t token) follows() bool {
	switch t.kind {
	case tokEnd, tokOp, tokQuest, tokColon, tokLParen, tokRParen, tokComma, tokInstance:
		return true
	default:
		return false
	}
}
