package syntax

// Error is the first syntax error of an expression.
type Error struct {
	At   int    // offset of the caret in bytes; for a mistake at the end of the text, that of its last byte
	Msg  string // in the words of pmRegisterDerived(3); "" if libpcp has no message
	Hint Hint   // the likely reason; zero if there is none

	call bool // At follows an operand and "(": the operand may be meant as a function
}

// Error returns the message without a position, which callers add.
func (e *Error) Error() string {
	if e.Msg == "" {
		return "syntax error"
	}
	return "syntax error: " + e.Msg
}

// Offset returns At.
func (e *Error) Offset() int { return e.At }

// construct is a part of the text that is not complete yet. It is an operator that waits for its operand, or a
// function that waits for an argument or for what may follow that. The zero construct is a parenthesis that is the
// first token of the text. If a wrong token comes, the innermost construct determines the message.
type construct struct {
	op   Op
	fn   Func
	arg  int32 // index of the argument of fn
	read bool  // the argument is complete
}

// expects returns the two parts of libpcp's message "WHAT expected to follow BEHIND".
func (c construct) expects() (what, behind string) {
	switch {
	case c.fn != 0:
		arg, word := c.fn.arg(int(c.arg)), c.fn.String()+"("
		if c.read {
			return arg.nextExpected, word + arg.nextFollows
		}
		return arg.expected, word + arg.follows
	case c.op.Boolean(), c.op == Not:
		return "Boolean expression", operators[c.op].name
	}
	return "Arithmetic expression", operators[c.op].name
}

// message returns libpcp's message for a token that cannot continue the construct.
func (c construct) message() string {
	if c == (construct{}) {
		return "Unexpected initial '('"
	}
	what, behind := c.expects()
	return what + " expected to follow " + behind
}
