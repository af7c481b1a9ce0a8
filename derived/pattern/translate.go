package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a pattern; one that exceeds them is refused with ErrSize.
const (
	maxPattern = 64 << 10  // bytes
	maxDepth   = 1000      // groups in groups, and repetitions of repetitions; that of Go's regexp
	maxRepeat  = 1000      // the largest number in an interval, and their product where one is inside another
	maxProgram = 128 << 10 // instructions, about one for each byte when intervals are written out
)

// translator writes a pattern anew for Go's regexp, over subjects of which each byte is a character.
type translator struct {
	rest   string // of the pattern
	groups int    // that are open
}

// piece is a part of a pattern, translated.
type piece struct {
	text string
	size int // instructions, roughly
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

// accept reports whether the rest begins with a text, and passes over it.
func (t *translator) accept(text string) bool {
	rest, ok := strings.CutPrefix(t.rest, text)
	t.rest = rest
	return ok
}

// branches reads up to the end of the group that is open, or of the pattern. Branches may be empty, so "|" is only copied.
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
		return piece{text, 1}, nil // a repetition after it has nothing to repeat
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

// token takes the next character, or a backslash with the character after it.
func (t *translator) token() string {
	n := 1
	if t.rest[0] == '\\' {
		n = min(2, len(t.rest))
	}
	token := t.rest[:n]
	t.rest = t.rest[n:]
	return token
}

// assertion is a condition on the place between two bytes; "" if the token is none.
func assertion(token string) string {
	switch token {
	case "^", "\\`":
		return `\A`
	case "$", `\'`:
		return `\z`
	case `\b`, `\B`:
		return token
	case `\<`, `\>`:
		return `\b` // the other end of a word is taken, too
	}
	return ""
}

// atom reads what can be repeated. A ")" without "(", and a "}" without "{", stand for themselves, as does every escaped
// character that is no extension of the GNU library: \n is an n and \d a d.
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

// literal is c where Go's regexp reads it as itself, in brackets and outside.
func literal(c byte) string { return fmt.Sprintf(`\x%02x`, c) }

// group reads the rest of a group, which Go's regexp numbers by its parenthesis.
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

// repeated reads a repetition, and applies it. It may follow another one: nothing is lazy.
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

// interval reads the rest of "{n}", "{n,}", "{,m}" or "{n,m}". It returns the interval as Go's regexp has it, and how many copies
// it makes of what it repeats.
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

// bracket reads the rest of a bracket expression. A backslash is an ordinary character here, and so are "]" in the first place
// and "-" in the first or last one, or as the end of a range.
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

// member reads a class, a range or a character in a bracket expression.
func (t *translator) member() (string, error) {
	if t.accept("[:") {
		name, rest, closed := strings.Cut(t.rest, ":]")
		t.rest = rest
		switch {
		case !closed:
			return "", ErrBrack
		case !slices.Contains(strings.Fields("alnum alpha blank cntrl digit graph lower print punct space upper xdigit"), name):
			return "", ErrCType // Go's regexp has more
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

// character reads an end of a range, or a character alone.
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
