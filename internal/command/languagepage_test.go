package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/syntax"
	"pmdaderived/internal/commandline"
	"pmdaderived/pdu"
)

// languageManual returns the manual page of the language: as a reader sees it, without its macros and fonts, by
// section; and the definitions between .nf and .fi.
func languageManual(t *testing.T) (names []string, sections map[string]string, examples []string) {
	t.Helper()
	source := readFile(t, "../../docs/pmdaderived.5")
	text := string(source)
	text = regexp.MustCompile(`\\f[BIR]`).ReplaceAllString(text, "")
	text = strings.NewReplacer(`\-`, "-", `\e`, `\`, `\~`, " ", `\(aq`, "'").Replace(text)
	for _, match := range regexp.MustCompile(`(?s)\n\.nf\n(.*?)\.fi\n`).FindAllStringSubmatch(text, -1) {
		examples = append(examples, match[1])
	}
	sections = make(map[string]string)
	for _, part := range strings.Split(text, "\n.SH ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		name = strings.Trim(name, `"`)
		names = append(names, name)
		var seen strings.Builder
		for line := range strings.Lines(body) {
			if macro, arguments, ok := strings.Cut(line, " "); ok && regexp.MustCompile(`^\.[BIR]{1,2}$`).MatchString(macro) {
				line = joined(arguments, len(macro) == len(".B"))
			}
			seen.WriteString(line)
		}
		sections[name] = "\n" + seen.String()
	}
	return names, sections, examples
}

// joined is what .B and its like print: their arguments, with blanks between them if there is one font.
func joined(arguments string, oneFont bool) string {
	var words []string
	for _, match := range regexp.MustCompile(`"((?:[^"]|"")*)"|(\S+)`).FindAllStringSubmatch(arguments, -1) {
		words = append(words, strings.ReplaceAll(match[1], `""`, `"`)+match[2])
	}
	if oneFont {
		return strings.Join(words, " ") + "\n"
	}
	return strings.Join(words, "") + "\n"
}

// describes wants a line of a page, and names what is missing rather than show the page.
func describes(t *testing.T, page, line, what string) {
	t.Helper()
	assert.True(t, regexp.MustCompile(line).MatchString(page), "%s is missing", what)
}

// The page has what a definition can consist of: every function, operator, tag, type, semantics, unit and attribute.
func TestLanguageManualIsComplete(t *testing.T) {
	names, sections, _ := languageManual(t)
	assert.Equal(t, []string{
		"NAME", "DESCRIPTION", "FILE FORMAT", "OPERANDS", "OPERATORS", "FUNCTIONS", "METADATA", "VALUES", "EXAMPLES",
		"DIFFERENCES FROM pmRegisterDerived(3)", "FILES", "PCP ENVIRONMENT", "DIAGNOSTICS", "SEE ALSO",
	}, names)

	entry := func(section, begin string) {
		t.Helper()
		describes(t, sections[section], `\n\.TP\n(.*[ ,])?`+regexp.QuoteMeta(begin), "docs/pmdaderived.5, "+section+": "+begin)
	}
	for f := range syntax.Functions {
		entry("FUNCTIONS", f.String()+"(")
	}
	for op := syntax.Add; op <= syntax.Or; op++ {
		entry("OPERATORS", op.String())
	}
	for _, operator := range []string{syntax.Neg.String() + "x", syntax.Not.String() + "x", "x[instance]", "guard ? x : y"} {
		entry("OPERATORS", operator)
	}
	for _, line := range []string{"name = expression", "name(oneline) = text", "name(helptext) = text", "#", "#control option_novalue=1", "# pmdaderived:ignore"} {
		entry("FILE FORMAT", line)
	}
	grammar := readFile(t, "../../derived/syntax/grammar.txt")
	tags := regexp.MustCompile(`(?m)^ +(?:tag +=|\|) "([a-z]+)" +"="`).FindAllStringSubmatch(string(grammar), -1)
	require.Len(t, tags, 5)
	for _, tag := range tags {
		entry("OPERANDS", tag[1])
	}
	for _, word := range []string{"32", "U32", "64", "U64", "FLOAT", "DOUBLE", "counter", "instant", "discrete", "null"} {
		describes(t, sections["OPERANDS"], `(?m)^`+word+`[,. ]?$`, "docs/pmdaderived.5, OPERANDS: "+word)
	}
	for _, unit := range unitWords() {
		describes(t, sections["METADATA"], `(?m)^`+regexp.QuoteMeta(unit)+`[,.;]?$`, "docs/pmdaderived.5, METADATA: units "+unit)
	}
}

// The table of functions has the row of each.
func TestFunctionsAreDocumented(t *testing.T) {
	table := readFile(t, "../../docs/language.md")
	for f := range syntax.Functions {
		describes(t, table, `(?m)^\| `+"`"+f.String()+`\(.*`+"`"+` \| `+regexp.QuoteMeta(f.Help())+` \|`, "docs/language.md: the row of "+f.String()+"(), with the text "+f.Help()+",")
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

// The examples are definitions with which nothing is wrong.
func TestLanguageManualExamples(t *testing.T) {
	s := newSite(t)
	_, _, examples := languageManual(t)
	require.Greater(t, len(examples), 4)
	path := s.file("manual.conf", strings.Join(examples, ""))
	out, errs, exit := s.run("check", "--ignore=absent-operand", filepath.Dir(path))
	assert.Equal(t, commandline.ExitOK, exit, errs)
	assert.Regexp(t, `(?m)^10 definitions, 0 errors$`, out+errs)
	assert.NotContains(t, out, path)
}
