package syntax

import (
	"fmt"
	"strings"
)

// Error is the first syntax error of an expression.
type Error struct {
	Offset int    // of the byte the caret points at; at the end of the text, that of its last byte
	Msg    string // empty where PCP has nothing to say either

	call bool // a parenthesis before Offset follows an operand
}

// Error gives the message and the offset; callers that know the file show Msg and a Caret instead.
func (e *Error) Error() string {
	if e.Msg == "" {
		return fmt.Sprintf("syntax error at offset %d", e.Offset)
	}
	return fmt.Sprintf("syntax error at offset %d: %s", e.Offset, e.Msg)
}

// Caret gives text and, below the line that holds offset, a line with a caret under that place.
// The caret line repeats the blanks and tabs of the line it belongs to and has a blank for every
// other character, so it fits at any tab width. There is no newline at the end.
//
//	1 + * 2
//	    ^
func Caret(text string, offset int) string {
	offset = max(0, min(offset, len(text)))
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	end := len(text)
	if n := strings.IndexByte(text[offset:], '\n'); n >= 0 {
		end = offset + n
	}

	var b strings.Builder
	b.Grow(2*len(text) + 2)
	b.WriteString(text[:end])
	b.WriteByte('\n')
	placed := false
	for i, r := range text[start:end] {
		switch {
		case !placed && start+i >= offset:
			b.WriteByte('^')
			placed = true
		case r == '\t' || r == '\r' || r == '\f' || r == '\v':
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	if !placed {
		b.WriteByte('^')
	}
	b.WriteString(text[end:])
	return b.String()
}

// construct is something begun that waits for its rest; it provides the message for a token that
// does not fit. Values below opFunc are operators, those above are functions.
type construct uint16

const (
	opQuest   construct = 0x40 + iota // ? … :
	opColon                           // : …
	opInitial                         // ( as the very first token
	opRescale                         // rescale( … ,
	opUnits                           // rescale(expr, … )
	opPattern                         // matchinst( … the pattern
	opFilter                          // matchinst(/re/ … ,
	opMatch                           // matchinst(/re/, … )
	opMkconst                         // mkconst( with a key of PCP 7: its tags … )
	opNoValue                         // novalue( tags … )
	opFunc                            // plus a Func: its word … )
)

// message is what PCP says when the construct meets a token that cannot continue it.
func (c construct) message() string {
	switch c {
	case opQuest:
		return "Arithmetic expression expected to follow QUEST"
	case opColon:
		return "Arithmetic expression expected to follow COLON"
	case opInitial:
		return "Unexpected initial '('"
	case opRescale:
		return "Arithmetic or relational or boolean operator expected to follow rescale("
	case opUnits:
		return "Units string expected to follow rescale(<expr>,"
	case opPattern:
		return "<filter>, <expr>) expected to follow matchinst("
	case opFilter:
		return ", <expr>) expected to follow matchinst(<filter>"
	case opMatch:
		return "<expr>) expected to follow matchinst(<filter>,"
	case opMkconst:
		return "metadata keyword expected to follow mkconst(type"
	case opNoValue:
		return "metadata keyword expected to follow novalue("
	case opFunc + construct(Scalar):
		return "<expr> expected to follow scalar("
	}
	if c > opFunc {
		return "Metric name expected to follow " + Func(c-opFunc).String() + "("
	}
	switch op := Op(c); op {
	case And, Or, Not:
		return "Boolean expression expected to follow " + op.Name()
	default:
		return "Arithmetic expression expected to follow " + op.Name()
	}
}

// afterName is the message for a token that can never follow a metric used as an operand.
const afterName = "Arithmetic or relational or boolean operator expected to follow NAME"
