package syntax

import "fmt"

// Error is the first syntax error of an expression.
type Error struct {
	Offset int    // of the byte the caret points at; at the end of the text, that of its last byte
	Msg    string // empty where PCP has nothing to say either

	call bool // a parenthesis before Offset follows an operand
}

// Error gives the message and the offset; callers that know the file show Msg and the place instead.
func (e *Error) Error() string {
	if e.Msg == "" {
		return fmt.Sprintf("syntax error at offset %d", e.Offset)
	}
	return fmt.Sprintf("syntax error at offset %d: %s", e.Offset, e.Msg)
}

// construct is something begun that waits for its rest; it has the message for a token that does not fit.
type construct struct{ wants, word, after string }

// message is what PCP says when the construct meets a token that cannot continue it.
func (c construct) message() string {
	if c.wants == "" {
		return "Unexpected initial '('"
	}
	return c.wants + " expected to follow " + c.word + c.after
}

// initial is a parenthesis that is the very first token.
func initial() construct { return construct{} }

// operand is what an operator waits for.
func (op Op) operand() construct {
	if op.Boolean() || op == Not {
		return construct{wants: "Boolean expression", word: operators[op].name}
	}
	return construct{wants: arithmetic, word: operators[op].name}
}

const arithmetic = "Arithmetic expression"

// afterName is the message for a token that can never follow a metric used as an operand.
const afterName = "Arithmetic or relational or boolean operator expected to follow NAME"
