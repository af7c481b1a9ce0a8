package command

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// languageParts are the parts of the pages of the language and of its messages. They have examples, as indented blocks:
//
//	definitions   are good, and are the site's configuration for what follows
//	$ pmdaderived a session: the program prints what follows, exactly
//
// and, as headings of level four, messages. The first block below such a heading
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
	block, fenced := "", false
	end := func() {
		if block = strings.TrimRight(block, "\n"); block != "" {
			last := &parts[len(parts)-1]
			last.blocks = append(last.blocks, block+"\n")
		}
		block = ""
	}
	for line := range strings.Lines(string(text)) {
		code, indented := strings.CutPrefix(line, "    ")
		fence := strings.HasPrefix(line, "```")
		fenced = fenced != fence
		switch {
		case fenced || fence:
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
