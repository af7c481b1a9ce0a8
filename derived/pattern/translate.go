package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a pattern. ErrSize is the error for a pattern that exceeds one.
const (
	maxPattern = 64 << 10  // bytes
	maxDepth   = 1000      // groups in groups, and repetitions of repetitions; Go's regexp has the same limit
	maxRepeat  = 1000      // the largest number in an interval, and the product of intervals in one another
	maxProgram = 128 << 10 // instructions, about one for each byte of the pattern with its repetitions written out
)

// translator translates a pattern to one of Go's regexp. It is a recursive descent parser; each method reads a part of
// the pattern and returns its translation.
type translator struct {
	rest   string // the part of the pattern that is not read
	groups int    // number of groups that are open
}

// piece is the translation of a part of a pattern.
type piece struct {
	text string
	size int // estimate of the number of instructions, to compare with maxProgram
}

func translate(pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", ErrSize
	}
	t := &translator{rest: pattern}
	all, err := t.branches()
	if err == nil && all.size > maxProgram {
		err = ErrSize
	}
	return "(?s)" + all.text, err
}

// accept reports whether the rest begins with text. If so, it reads that.
func (t *translator) accept(text string) bool {
	rest, ok := strings.CutPrefix(t.rest, text)
	t.rest = rest
	return ok
}

// branches reads up to the end of the innermost group, or of the pattern. Branches may be empty, so "|" is copied.
func (t *translator) branches() (piece, error) {
	var text strings.Builder
	size := 0
	for t.rest != "" && (t.groups == 0 || t.rest[0] != ')') {
		next := piece{"|", 1}
		if !t.accept("|") {
			var err error
			if next, err = t.expression(); err != nil {
				return piece{}, err
			}
		}
		text.WriteString(next.text)
		size += next.size
	}
	return piece{text.String(), size}, nil
}

// expression reads an assertion, or an atom and the repetitions after it.
func (t *translator) expression() (piece, error) {
	token := t.token()
	if text := assertion(token); text != "" {
		return piece{text, 1}, nil // atom refuses a repetition after it
	}
	p, err := t.atom(token)
	for n := 0; err == nil && t.rest != "" && strings.IndexByte("*+?{", t.rest[0]) >= 0; n++ {
		if n == maxDepth {
			return piece{}, ErrSize
		}
		p, err = t.repeated(p)
	}
	return p, err
}

// token reads the next character, or a backslash and the character after it.
func (t *translator) token() string {
	n := 1
	if t.rest[0] == '\\' {
		n = min(2, len(t.rest))
	}
	token := t.rest[:n]
	t.rest = t.rest[n:]
	return token
}

// assertion returns the translation of a token that matches a position between two bytes, "" for other tokens.
func assertion(token string) string {
	switch token {
	case "^", "\\`":
		return `\A`
	case "$", `\'`:
		return `\z`
	case `\b`, `\B`:
		return token
	case `\<`, `\>`:
		return `\b` // Go's regexp has no other; it matches at the other end of a word, too
	}
	return ""
}

// atom reads a part that can be repeated and begins with token. A ")" without "(" and a "}" without "{" stand for
// themselves. So does a character after a backslash, unless the GNU library has an extension: \n is n and \d is d.
func (t *translator) atom(token string) (p piece, err error) {
	text := ""
	switch token {
	case "(":
		return t.group()
	case "[":
		text, err = t.bracket()
	case ".", `\w`, `\W`:
		text = token
	case `\s`:
		text = "[[:space:]]" // \s of Go's regexp lacks the vertical tab
	case `\S`:
		text = "[[:^space:]]"
	case "*", "+", "?", "{":
		err = ErrBadRpt
	case `\`:
		err = ErrEscape
	case `\1`, `\2`, `\3`, `\4`, `\5`, `\6`, `\7`, `\8`, `\9`:
		err = ErrBackref
	default:
		text = literal(token[len(token)-1])
	}
	return piece{text, 1}, err
}

// literal returns the text that Go's regexp reads as the character c, in brackets and outside.
func literal(c byte) string { return fmt.Sprintf(`\x%02x`, c) }

// group reads the rest of a group after its "(". Go's regexp numbers groups as POSIX does.
func (t *translator) group() (piece, error) {
	if t.groups == maxDepth {
		return piece{}, ErrSize
	}
	t.groups++
	inner, err := t.branches()
	t.groups--
	if err == nil && !t.accept(")") {
		err = ErrParen
	}
	return piece{"(" + inner.text + ")", inner.size + 2}, err
}

// repeated reads a repetition of p and returns both. The parentheses around p make a repetition of a repetition of two
// operators in a row, which Go's regexp would read as a lazy one.
func (t *translator) repeated(p piece) (piece, error) {
	operator, copies := t.token(), 1
	if operator == "{" {
		var err error
		if operator, copies, err = t.interval(); err != nil {
			return piece{}, err
		}
	}
	p = piece{"(?:" + p.text + ")" + operator, (p.size + 1) * copies}
	if p.size > maxProgram {
		return piece{}, ErrSize
	}
	return p, nil
}

// interval reads the rest of "{n}", "{n,}", "{,m}" or "{n,m}". It returns the interval in the form of Go's regexp,
// and the number of copies of the repeated part in the program.
func (t *translator) interval() (operator string, copies int, err error) {
	inside, rest, closed := strings.Cut(t.rest, "}")
	t.rest = rest
	from, to, comma := strings.Cut(inside, ",")
	if !comma {
		to = from
	}
	if comma && from == "" {
		from = "0"
	}
	low, err := strconv.ParseUint(from, 10, 32)
	high := max(low, 1)
	if err == nil && to != "" {
		high, err = strconv.ParseUint(to, 10, 32)
	}
	switch {
	case !closed || err != nil || to != "" && low > high:
		return "", 0, ErrBadBr
	case high > maxRepeat:
		return "", 0, ErrSize
	case to == "":
		return fmt.Sprintf("{%d,}", low), int(high), nil
	}
	return fmt.Sprintf("{%d,%d}", low, high), int(high), nil
}

// bracket reads the rest of a bracket expression. In it a backslash is an ordinary character. So are "]" as the first
// one, and "-" as the first, the last, or the end of a range.
func (t *translator) bracket() (string, error) {
	var text strings.Builder
	text.WriteString("[")
	if t.accept("^") {
		text.WriteString("^")
	}
	for first := true; first || !t.accept("]"); first = false {
		if !first && strings.HasPrefix(t.rest, "-") && !strings.HasPrefix(t.rest, "-]") {
			return "", ErrRange // the "-" after a range or a class
		}
		member, err := t.member()
		if err != nil {
			return "", err
		}
		text.WriteString(member)
	}
	return text.String() + "]", nil
}

// classes are the names of POSIX's character classes. Go's regexp has more.
const classes = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit"

// member reads a class, a range or a character in a bracket expression.
func (t *translator) member() (string, error) {
	if t.accept("[:") {
		name, rest, closed := strings.Cut(t.rest, ":]")
		t.rest = rest
		switch {
		case !closed:
			return "", ErrBrack
		case !slices.Contains(strings.Fields(classes), name):
			return "", ErrCType
		}
		return "[:" + name + ":]", nil
	}
	low, err := t.character()
	high := low
	if err == nil && strings.HasPrefix(t.rest, "-") && !strings.HasPrefix(t.rest, "-]") {
		t.accept("-")
		high, err = t.character()
	}
	if err == nil && low > high {
		err = ErrRange
	}
	return literal(low) + "-" + literal(high), err
}

// character reads a character that is alone or an end of a range.
func (t *translator) character() (byte, error) {
	switch {
	case t.rest == "":
		return 0, ErrBrack
	case strings.HasPrefix(t.rest, "[."), strings.HasPrefix(t.rest, "[="):
		return 0, ErrCollate
	case strings.HasPrefix(t.rest, "[:"):
		return 0, ErrRange
	}
	c := t.rest[0]
	t.rest = t.rest[1:]
	return c, nil
}
