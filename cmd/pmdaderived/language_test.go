package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
)

// languageParts are the parts of the pages of the language and of its messages. They have examples, as indented blocks:
//
//	definitions   are good, and are the site's configuration for what follows
//	$ pmdaderived a session: the program prints what follows, exactly
//
// and, as headings of level four, every message there is. The first block below such a heading
// causes the message, those after it are good again.
func languageParts(t *testing.T) []part {
	t.Helper()
	return append(partsOf(t, "../../docs/language.md"), partsOf(t, "../../docs/messages.md")...)
}

// part is a heading with the blocks below it, up to the next heading.
type part struct {
	heading string // of level four, without its backquotes; "" for any other
	blocks  []string
}

func partsOf(t *testing.T, page string) []part {
	t.Helper()
	text := readFile(t, page)
	parts := []part{{}}
	block := ""
	end := func() {
		if block = strings.TrimRight(block, "\n"); block != "" {
			last := &parts[len(parts)-1]
			last.blocks = append(last.blocks, block+"\n")
		}
		block = ""
	}
	for line := range strings.Lines(string(text)) {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented:
			block += code
		case line == "\n" && block != "":
			block += line
		case strings.HasPrefix(line, "#"):
			end()
			heading, message := strings.CutPrefix(line, "#### `")
			if !message {
				heading = ""
			}
			parts = append(parts, part{heading: strings.TrimSuffix(strings.TrimSpace(heading), "`")})
		default:
			end()
		}
	}
	end()
	return parts
}

// placeholder is what stands in a heading for words that vary.
var placeholder = regexp.MustCompile(`<[a-z]+>`)

// pattern is the messages that a heading stands for.
func (p part) pattern() *regexp.Regexp {
	quoted := regexp.QuoteMeta(p.heading)
	return regexp.MustCompile(placeholder.ReplaceAllString(quoted, `.*`))
}

func TestLanguageExamples(t *testing.T) {
	s := newSite(t)
	definitions, sessions, provoked := 0, 0, 0
	for i, p := range languageParts(t) {
		for j, block := range p.blocks {
			t.Run(fmt.Sprintf("%d.%d %s", i, j, p.heading), func(t *testing.T) {
				s.t = t
				command, isSession := strings.CutPrefix(block, "$ pmdaderived ")
				switch {
				case isSession:
					sessions++
					command, want, _ := strings.Cut(command, "\n")
					out := s.succeeds(words(command)...)
					assert.Equal(t, want, out)
				case p.heading != "" && j == 0:
					provoked++
					path := filepath.Join(t.TempDir(), "bad")
					writeFile(t, path, block)
					out, _, _ := s.run("check", path)
					assert.Regexp(t, p.pattern(), out)
				default:
					definitions++
					path := s.file(fmt.Sprintf("%03d.%d", i, j), block)
					out, _, _ := s.run("check", "--ignore=absent-operand,same-expression,rescale-rounds", filepath.Dir(path)) // with all that came before
					assert.NotContains(t, out, path)
				}
			})
		}
	}
	assert.Greater(t, definitions, 15)
	assert.Greater(t, sessions, 4)
	assert.Greater(t, provoked, 60)
}

// words are those of a command line; single quotes are the only ones.
func words(command string) []string {
	var all []string
	for i, piece := range strings.Split(command, "'") {
		if i%2 == 1 {
			all = append(all, piece)
		} else {
			all = append(all, strings.Fields(piece)...)
		}
	}
	return all
}

// Every message about a definition is on the page.
func TestLanguageHasAllMessages(t *testing.T) {
	var parts []part
	for _, p := range languageParts(t) {
		if p.heading != "" {
			parts = append(parts, p)
		}
	}
	explained := func(message string) bool {
		return slices.ContainsFunc(parts, func(p part) bool {
			at := p.pattern().FindStringIndex(message)
			return at != nil && at[0] == 0 && at[1] == len(message)
		})
	}
	for rule := derived.Rule(1); rule <= derived.RuleHistory; rule++ {
		assert.True(t, explained(rule.String()), "rule: %s", rule)
	}
	for _, message := range syntaxMessages(t) {
		assert.True(t, explained(message), "syntax: %s", message)
	}
	for _, message := range configMessages(t) {
		begins := slices.ContainsFunc(parts, func(p part) bool {
			return strings.HasPrefix(skeleton(p.heading), skeleton(message))
		})
		assert.True(t, begins, "file: %s", message)
	}
	assert.False(t, explained("no such message"))
}

// syntaxMessages gives all messages of the parser: those of its own table, and its limits.
func syntaxMessages(t *testing.T) []string {
	t.Helper()
	text := readFile(t, "../../derived/syntax/testdata/errors.txt")
	messages := []string{"syntax error"}
	for line := range strings.Lines(string(text)) {
		if _, message, ok := strings.Cut(line, "^ "); ok && strings.TrimSpace(line[:strings.Index(line, "^")]) == "" {
			messages = append(messages, strings.TrimSpace(message))
		}
	}
	require.Greater(t, len(messages), 100)
	for _, expr := range []string{strings.Repeat("(", 20_000) + "1", strings.Repeat("1+", 1<<20) + "1"} {
		_, err := derived.Parse("x", expr)
		require.Error(t, err)
		messages = append(messages, strings.TrimPrefix(err.Error(), "syntax error: "))
	}
	return messages
}

// configMessages gives the beginnings of all messages in the source of package config.
func configMessages(t *testing.T) []string {
	t.Helper()
	files := must(filepath.Glob("../../config/*.go"))(t)
	literal := regexp.MustCompile(`(?:(?:Msg:|msg :=)\s*(?:fmt\.Sprintf\()?|r\.wrong\([^"\n]*(?:""[^"\n]*)?)"([^"]+)"`)
	var messages []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := readFile(t, file)
		for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
			messages = append(messages, match[1])
		}
	}
	require.Greater(t, len(messages), 15)
	return messages
}

// skeleton is a message without what varies in it.
func skeleton(message string) string {
	return regexp.MustCompile(`%[a-z]|<[a-z]+>`).ReplaceAllString(message, "*")
}
