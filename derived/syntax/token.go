package syntax

// token is one lexical element of the text.
type token struct {
	kind kind
	op   Op     // of tokOp: the binary operator, Sub for every "-"
	fn   Func   // of tokFunc
	text string // name, digits or key as written; string, instance or pattern without its delimiters
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

	// A function word and the parenthesis right after it are one token.
	tokFunc    // the functions of type Func
	tokMkconst // mkconst(
	tokNoValue // novalue(
	tokRescale // rescale(
	tokMatch   // matchinst(

	tokOp     // every binary operator; "-" may be the prefix operator as well
	tokNot    // !
	tokQuest  // ?
	tokColon  // :
	tokLParen // (
	tokRParen // )
	tokComma  // ,
	tokAssign // =
)

// word gives the kind of a function word, tokName when it is none.
func word(name string) (kind, Func) {
	switch name {
	case "avg":
		return tokFunc, Avg
	case "count":
		return tokFunc, Count
	case "max":
		return tokFunc, Max
	case "min":
		return tokFunc, Min
	case "sum":
		return tokFunc, Sum
	case "delta":
		return tokFunc, Delta
	case "rate":
		return tokFunc, Rate
	case "instant":
		return tokFunc, Instant
	case "scalar":
		return tokFunc, Scalar
	case "defined":
		return tokFunc, Defined
	case "anon":
		return tokFunc, Anon
	case "mkconst":
		return tokMkconst, 0
	case "novalue":
		return tokNoValue, 0
	case "rescale":
		return tokRescale, 0
	case "matchinst":
		return tokMatch, 0
	}
	return tokName, 0
}

// FunctionNames returns the words that are functions where a parenthesis follows, but for anon, which only PCP
// itself writes.
func FunctionNames() []string {
	var names []string
	for f := Avg; f < Anon; f++ {
		names = append(names, f.String())
	}
	return append(names, "matchinst", "mkconst", "novalue", "rescale")
}

// follows reports whether the token may stand right after a metric that is an operand.
func (t token) follows() bool {
	switch t.kind {
	case tokEnd, tokOp, tokQuest, tokColon, tokLParen, tokRParen, tokComma, tokInstance:
		return true
	default:
		return false
	}
}
