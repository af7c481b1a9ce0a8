package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// describes wants a line of docs/language.md, and names what is missing rather than show the page.
func describes(t *testing.T, line, what string) {
	t.Helper()
	page := readFile(t, "../../docs/language.md")
	assert.True(t, regexp.MustCompile(line).Match([]byte(page)), "docs/language.md: %s is missing", what)
}

// The table of functions has the row of each.
func TestFunctionsAreDocumented(t *testing.T) {
	for f := range syntax.Functions {
		describes(t, `(?m)^\| `+"`"+f.String()+`\(.*`+"`"+` \| `+regexp.QuoteMeta(f.Help())+` \|`,
			"the row of "+f.String()+"(), with the text "+f.Help()+",")
	}
}

// The page has the operators, the tags of mkconst() and the units that the language has.
func TestLanguageIsDocumented(t *testing.T) {
	for op := syntax.Add; op <= syntax.Or; op++ {
		operator := regexp.QuoteMeta(strings.ReplaceAll(op.String(), "|", `\|`))
		describes(t, "(?m)^\\| `(.* )?"+operator+"( .*)?` \\|", "the operator "+op.String())
	}
	for _, operator := range []string{
		syntax.Neg.String() + "x", syntax.Not.String() + "x", "x[instance]",
		"g ? a : b",
	} {
		describes(t, "(?m)^\\| `"+regexp.QuoteMeta(operator)+"` \\|", "the operator "+operator)
	}
	grammar := readFile(t, "../../derived/syntax/grammar.txt")
	tags := regexp.MustCompile(`(?m)^ +(?:tag +=|\|) "([a-z]+)" +"="`).FindAllStringSubmatch(string(grammar), -1)
	require.Len(t, tags, 5)
	for _, tag := range tags {
		describes(t, "(?m)^\\| `"+tag[1]+"` \\|", "the tag "+tag[1])
	}
	for _, unit := range unitWords() {
		describes(t, "`"+regexp.QuoteMeta(unit)+"`", "the unit "+unit)
	}
}

// The page has the lines of definition files that are no definitions.
func TestOtherLinesAreDocumented(t *testing.T) {
	for _, line := range []string{"name(oneline) = text", "# pmdaderived:ignore code ...", "#control option_novalue=1"} {
		describes(t, "(?m)^\\| `"+regexp.QuoteMeta(line)+"` \\|", "the line "+line)
	}
}

// unitWords are the units of every dimension, as they are printed.
func unitWords() []string {
	var words []string
	for scale := pdu.SpaceByte; scale <= pdu.SpaceEbyte; scale++ {
		words = append(words, pdu.Units{Space: 1, SpaceScale: scale}.String())
	}
	for scale := pdu.TimeNanosec; scale <= pdu.TimeHour; scale++ {
		words = append(words, pdu.Units{Time: 1, TimeScale: scale}.String())
	}
	for extra := pdu.ExtraTemperature; extra <= pdu.ExtraPower; extra++ {
		for scale := range uint8(8) {
			word := pdu.Units{Extra: extra, ExtraScale: scale}.String()
			if units, _, err := pdu.ParseUnits(word); err == nil && units.ExtraScale == scale {
				words = append(words, word)
			}
		}
	}
	return append(words, pdu.Units{Count: 1}.String(), pdu.Units{Count: 1, CountScale: 3}.String())
}
