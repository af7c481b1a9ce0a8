package syntax

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// blanks are what may stand between the parts of an expression.
const blanks = " \t\r\n\v\f"

// Hint says what is probably meant where the error of a text is, for who knows other languages; "" if that is not known.
func (e *Error) Hint(text string) string {
	if e.Offset < 0 || e.Offset >= len(text) {
		return ""
	}
	before, after := text[:e.Offset], text[e.Offset:]
	if text := signHint(before, after); text != "" {
		return text
	}
	word := leadingWord.FindString(after)
	if text := numberHint(strings.TrimRight(before, blanks), after, word); text != "" {
		return text
	}
	if text := operatorHint(word); text != "" {
		return text
	}
	if last := trailingWord.FindString(strings.TrimRight(before, blanks)); strings.EqualFold(last, "not") {
		return operatorHint(last)
	}
	return ""
}

var (
	leadingWord  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*`)
	trailingWord = regexp.MustCompile(`[A-Za-z_.]+$`)
	lastNumber   = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.])(\d+\.?\d*|\.\d+)$`)
	exponent     = regexp.MustCompile(`^[eE][+-]?\d+`)
	hexadecimal  = regexp.MustCompile(`^[xX][0-9A-Fa-f]+`)
)

// signHint is for characters that mean something elsewhere.
func signHint(before, after string) string {
	switch {
	case after[0] == '#':
		return "a comment is a line of its own"
	case after[0] == ';':
		return "a definition ends at the end of its line: leave out ;"
	case after[0] == '=':
		return "write == to compare"
	case after[0] == '&', after[0] == '|':
		return "write " + after[:1] + after[:1]
	case after[0] == '[' && strings.HasSuffix(before, ")"):
		return "write parentheses around that of which an instance is selected: (…)[…]"
	case after[0] == '>' && strings.HasSuffix(before, "<"):
		return "write != in place of <>"
	}
	return ""
}

// numberHint is for what follows a number.
func numberHint(before, after, word string) string {
	match := lastNumber.FindStringSubmatch(before)
	if match == nil || word == "" {
		return ""
	}
	number := match[1]
	var value float64
	var err error
	switch unit := unitMeant(word); {
	case exponent.MatchString(after):
		value, err = strconv.ParseFloat(number+exponent.FindString(after), 64)
	case number == "0" && hexadecimal.MatchString(after):
		var n uint64
		n, err = strconv.ParseUint(hexadecimal.FindString(after)[1:], 16, 64)
		value = float64(n)
	case unit != "":
		return "a number has no units: write mkconst(" + number + ", units=" + unit + ")"
	default:
		return ""
	}
	if err != nil {
		return ""
	}
	plain := strconv.FormatFloat(value, 'f', -1, 64)
	if value > math.MaxUint32 && !strings.Contains(plain, ".") {
		plain += ".0" // whole numbers are U32
	}
	return "numbers have digits and a point only: write " + plain
}

// unitMeant is PCP's name of the unit that a word may stand for; empty for other words.
func unitMeant(word string) string {
	word = strings.ToLower(word)
	for _, unit := range []struct{ name, words string }{
		{"byte", "b byte bytes"},
		{"Kbyte", "k kb kib kbyte kbytes"},
		{"Mbyte", "m mb mib mbyte mbytes"},
		{"Gbyte", "g gb gib gbyte gbytes"},
		{"Tbyte", "t tb tib tbyte tbytes"},
		{"nanosec", "ns nanosec nanoseconds"},
		{"microsec", "us usec microsec microseconds"},
		{"millisec", "ms msec millisec milliseconds"},
		{"sec", "s sec secs second seconds"},
		{"min", "min mins minute minutes"},
		{"hour", "h hour hours"},
	} {
		for known := range strings.FieldsSeq(unit.words) {
			if word == known {
				return unit.name
			}
		}
	}
	return ""
}

// operatorHint is for operators that are words elsewhere.
func operatorHint(word string) string {
	for _, o := range [][2]string{{"and", "&&"}, {"or", "||"}, {"not", "!"}} {
		if strings.EqualFold(word, o[0]) {
			return "write " + o[1] + " in place of " + word
		}
	}
	return ""
}
