package syntax

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/internal/blank"
)

// HintKind is a kind of hints.
type HintKind uint8

// The kinds of hints.
const (
	HintLanguage    HintKind = iota + 1 // another language writes it so; the hint has the text for this one
	HintFunction                        // a word is no function; the hint names the likely one
	HintParenthesis                     // a parenthesis may not be closed
)

// Hint is the likely reason of a syntax error, as advice to the author. The zero Hint means that none is known.
type Hint struct {
	Kind HintKind
	Text string
}

// hint returns the likely reason of the error in text.
func (e *Error) hint(text string) Hint {
	if before, ok := strings.CutSuffix(text[:min(e.At, len(text))], "("); ok && e.call {
		if hint := functionHint(strings.TrimRight(before, blank.All)); hint != "" {
			return Hint{HintFunction, hint}
		}
	}
	if hint := cmp.Or(e.messageHint(text), languageHint(text, e.At)); hint != "" {
		return Hint{HintLanguage, hint}
	}
	if e.At >= len(strings.TrimRight(text, blank.All))-1 && unclosed(text) {
		return Hint{HintParenthesis, "a closing parenthesis may be missing"}
	}
	return Hint{}
}

// messageHint returns advice that follows from the message, "" if there is none.
func (e *Error) messageHint(text string) string {
	at := min(e.At, len(text))
	before, after := strings.TrimRight(text[:at], blank.All), text[at:]
	const selection = " to follow matchinst(<filter>,"
	switch {
	case strings.HasPrefix(e.Msg, twoKeys):
		return "name them: by (first=KEY, second=KEY)"
	case strings.HasSuffix(e.Msg, selection) && strings.HasPrefix(after, ",") && !strings.HasSuffix(before, ","),
		strings.HasSuffix(e.Msg, selection+"<expr>,KEY") && strings.HasPrefix(after, "="):
		return "a key is /pattern/, a metric or label(name)"
	case e.Msg == lookupExpected:
		return "only a metric or a definition can follow ->"
	case strings.HasSuffix(e.Msg, "KEY") && strings.HasPrefix(after, "->") && strings.Contains(before, "->"):
		return "a key has one ->"
	case strings.HasSuffix(e.Msg, "KEY") && spacedArrow.MatchString(after),
		strings.HasSuffix(e.Msg, "=") && strings.HasPrefix(after, ">"):
		return "write -> in front of the metric that has the keys"
	case e.Msg == lookupEnd && strings.HasPrefix(after, "="):
		return "write the name of the label in front of the whole key: by (name=KEY -> metric)"
	case strings.HasPrefix(after, ">") && strings.HasSuffix(before, "-"):
		return "-> is read only in a key: by (KEY -> metric)"
	case strings.Contains(e.Msg, " string expected to follow "):
		if match := unquoted.FindStringSubmatch(after); match != nil {
			return `put it in quotes: "` + match[1] + `"`
		}
	case strings.HasSuffix(e.Msg, " to follow "+operators[opQuest].name),
		strings.HasSuffix(e.Msg, " to follow "+operators[opColon].name):
		if len(strings.TrimRight(after, blank.All)) <= 1 || strings.ContainsRune(":,)", rune(after[0])) {
			return "?: needs both values: write x ? y : z, where y or z can be novalue()"
		}
	}
	match := callInMessage.FindStringSubmatch(e.Msg)
	if match == nil || !strings.HasPrefix(after, ",") {
		return ""
	}
	switch f := functionOf(match[1]); {
	case f == Round:
		return "round() takes one argument: write 0.1 * round(x / 0.1) in place of round(x, 0.1)"
	case f != 0 && len(functions[f].args) == 1:
		return match[1] + "() takes one argument"
	}
	return ""
}

// languageHint returns advice for a text at offset that would be right in another language, "" if there is none.
func languageHint(text string, offset int) string {
	if offset >= len(text) {
		return ""
	}
	before, after := text[:offset], text[offset:]
	written := strings.TrimRight(before, blank.All)
	word, last := leadingWord.FindString(after), trailingWord.FindString(written)
	if !slices.Contains([]string{"not", "if", "bool"}, strings.ToLower(last)) {
		last = ""
	}
	return cmp.Or(
		signHint(before, after), numberHint(written, after, word), operatorHint(word), operatorHint(last),
		byHint(word), tagHint(written, after),
	)
}

var (
	leadingWord   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*`)
	trailingWord  = regexp.MustCompile(`[A-Za-z_.]+$`)
	lastNumber    = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.])(\d+\.?\d*|\.\d+)$`)
	exponent      = regexp.MustCompile(`^[eE][+-]?\d+`)
	hexadecimal   = regexp.MustCompile(`^[xX][0-9A-Fa-f]+`)
	insideTags    = regexp.MustCompile(`(?:mkconst\([^()]*,|novalue\((?:[^()]*,)?)$`)
	unquoted      = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9 ./^]*?) *(?:[,)]|$)`)
	loneName      = regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9_.]*\s*$`)
	callInMessage = regexp.MustCompile(`expected to follow ([a-z_]+)\($`)
	spacedArrow   = regexp.MustCompile(`^-\s+>`)
	tagKey        = regexp.MustCompile(`^([A-Za-z_]+)\s*=`)
)

// signHint returns advice for a character that has a meaning in other languages.
func signHint(before, after string) string {
	switch {
	case after[0] == '#':
		return "a comment needs a line of its own"
	case after[0] == ';':
		return "a definition ends at the end of its line: omit ;"
	case after[0] == '=' && loneName.MatchString(before):
		return "write == to compare; only a line of a definition file begins with NAME ="
	case after[0] == '=':
		return "write == to compare"
	case after[0] == '%':
		return remainderHint
	case after[0] == '^', after[0] == '*' && strings.HasSuffix(before, "*"):
		return powerHint
	case after[0] == '\'':
		return "a string is in double quotes"
	case after[0] == '&', after[0] == '|':
		return "write " + after[:1] + after[:1]
	case after[0] == '[' && strings.HasSuffix(before, ")"):
		return "put the expression in front of [ in parentheses: (…)[…]"
	case after[0] == '{':
		return "write x[name] for an instance, matchinst(/pattern/, x) for several, matchinst(/pattern/, x, label(name)) by a label"
	case after[0] == '>' && strings.HasSuffix(before, "<"):
		return "write != in place of <>"
	}
	return ""
}

// numberHint returns advice for a number with an exponent, in hexadecimal or with a unit. before ends with the digits
// that were read, after is the rest of the text, and word is its first word.
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
	return "a number has digits and a point only: write " + plain
}

// unitMeant returns PCP's name of the unit that a word may mean, "" for other words.
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
		if slices.Contains(strings.Fields(unit.words), word) {
			return unit.name
		}
	}
	return ""
}

const (
	ifHint        = "write x ? y : z in place of if"
	powerHint     = "there is no operator for powers: write x * x for a square, sqrt(x) for a root"
	remainderHint = "there is no operator %: the remainder of x / y is x - y * floor(x / y)"
)

// operatorHint returns advice for an operator that is a word in other languages.
func operatorHint(word string) string {
	lower := strings.ToLower(word)
	switch lower {
	case "if", "then":
		return ifHint
	case "mod":
		return remainderHint
	case "bool":
		return "a comparison gives 1 or 0: omit bool"
	case "unless":
		return "write y > 5 ? novalue() : x in place of x unless y > 5"
	case "offset":
		return `write first_sample(x, "5min") for the value of five minutes ago`
	case "for":
		return `write min_sample(x > 5, "5min") for a condition that has held for five minutes`
	case "without":
		return "write by (…) with the key that remains, behind the closing parenthesis of the function"
	case "group_left", "info", "label_replace":
		return "there is no " + lower + ": by (KEY) names groups, and by (KEY -> metric) has their names from another domain"
	case "on", "ignoring", "group_right":
		return "there is no " + lower + ": values pair by instance, and groups of by (…) by their names"
	}
	operators := map[string]string{"and": "&&", "or": "||", "not": "!"}
	if op := operators[lower]; op != "" {
		return "write " + op + " in place of " + word
	}
	return ""
}

// byHint returns advice for a by (KEY) that does not follow an aggregate.
func byHint(word string) string {
	if word != "by" {
		return ""
	}
	var names []string
	for f := range Functions {
		if f.Groups() {
			names = append(names, f.String())
		}
	}
	return "by (…) must follow the closing parenthesis of " + strings.Join(names, ", ")
}

// tagHint returns advice for a tag that does not exist.
func tagHint(written, after string) string {
	keys := []string{"type", "semantics", "units", "meta", "indom"}
	match := tagKey.FindStringSubmatch(after)
	if match == nil || slices.Contains(keys, match[1]) || !insideTags.MatchString(written) {
		return ""
	}
	return match[1] + " is not a valid tag; the tags are " + strings.Join(keys, ", ")
}

// functionHint returns advice for a text that ends with a word which is no function: the function that may be meant. It
// returns "" if the text does not end with a word.
func functionHint(text string) string {
	word := text[strings.LastIndexFunc(text, func(r rune) bool { return !isNameRune(r) })+1:]
	if word == "" || isDigit(word[0]) {
		return ""
	}
	var names []string
	for f := range Functions {
		if name := f.String(); functionOf(name) == f {
			names = append(names, name)
		}
	}
	if slices.Contains(names, word) {
		return word + " is a function only if ( follows it without a blank"
	}
	lower := strings.ToLower(word)
	switch lower {
	case "pow":
		return powerHint
	case "absent":
		return "write !defined(x) for a metric that does not exist, count(x[name]) == 0 for an instance without a value"
	}
	if hint := operatorHint(lower); hint != "" {
		return hint
	}
	best, least := "", len(word)
	for _, name := range names {
		most := 1 + len(name)/6 // a word at a greater distance is another word
		n := Distance(lower, name, most)
		if strings.HasPrefix(lower, name) { // maximum, matchinstance
			n = min(n, most)
		}
		if n <= most && n < least {
			best, least = name, n
		}
	}
	if lower == "average" || lower == "mean" {
		best = Avg.String()
	}
	over, _ := strings.CutSuffix(lower, "_over_time") // of PromQL
	for _, name := range []string{lower + "_inst", over + "_sample"} {
		if functionOf(name) != 0 {
			best = name
		}
	}
	promQL := map[string]Func{ // functions with quite another name there
		"clamp_max": Min, "clamp_min": Max, "deriv": SlopeSample, "ln": Log,
		"histogram_fraction": ShareBucket, "histogram_quantile": PercentileBucket,
		"predict_linear": SlopeSample, "quantile": Percentile, "quantile_over_time": PercentileSample,
		"stddev": Stdev, "stddev_over_time": StdevSample,
	}
	if f := promQL[lower]; f != 0 {
		best = f.String()
	}
	if best == "" {
		return word + " is not a function; the functions are " + strings.Join(names, ", ")
	}
	return word + " is not a function; did you mean " + best + "?"
}

// Distance returns the number of letters to insert, delete or replace to make y of x. Two neighbours that are exchanged
// count as one. It returns most+1 if the number is greater than most.
func Distance(x, y string, most int) int {
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	var before, above []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(x) {
		before, above = above, row
		row = make([]int, len(y)+1)
		row[0] = i + 1
		for j := range len(y) {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return min(row[len(y)], most+1)
}

// unclosed reports whether more parentheses are opened than closed in the tokens of a text.
func unclosed(text string) bool {
	s := scanner{text: text}
	depth, pattern := 0, false
	for {
		tok, err := s.next(pattern)
		if err != nil || tok.kind == tokEnd {
			return depth > 0
		}
		opens := text[tok.at.End-1] == '(' // alone or after a function's word
		switch {
		case opens:
			depth++
		case tok.kind == tokRParen:
			depth--
		}
		pattern = opens || tok.kind == tokNot || tok.kind == tokComma || tok.kind == tokAssign
	}
}
