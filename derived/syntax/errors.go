package syntax

// Error is the first syntax error of an expression.
type Error struct {
	At   int    // offset of the byte the caret points at, in bytes; at the end of the text, that of its last byte
	Msg  string // in the words of pmRegisterDerived(3); empty where PCP has nothing to say either
	Hint Hint   // what it may come from; zero: that is not known

	call bool // a parenthesis before At follows an operand
}

// Error gives the reason; callers that know the file show the place, too.
func (e *Error) Error() string {
	if e.Msg == "" {
		return "syntax error"
	}
	return "syntax error: " + e.Msg
}

// Offset is the place in the text, in bytes.
func (e *Error) Offset() int { return e.At }

// construct is something next that waits for its rest: an operator, a function with the argument that is next, or, being
// neither, a parenthesis that is the very first token. It has the message for a token that does not fit.
type construct struct {
	op   Op
	fn   Func
	arg  int32
	read bool // the argument is complete
}

// expects returns what PCP says it expects, and behind what; empty if what is around the construct has the word.
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

// message is what PCP says when the construct meets a token that cannot continue it.
func (c construct) message() string {
	if c == (construct{}) {
		return "Unexpected initial '('"
	}
	what, behind := c.expects()
	return what + " expected to follow " + behind
}
