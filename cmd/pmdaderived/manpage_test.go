package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/command"
)

// manualPage returns the text of the manual page with plain minus signs, by section.
func manualPage(t *testing.T) (names []string, sections map[string]string) {
	t.Helper()
	text := readFile(t, "../../docs/pmdaderived.1")
	page := strings.ReplaceAll(string(text), `\-`, "-")
	sections = make(map[string]string)
	for _, part := range strings.Split(page, "\n.SH ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		name = strings.Trim(name, `"`)
		names = append(names, name)
		sections[name] = "\n" + body
	}
	return names, sections
}

// helpOption is an option as --help prints it.
type helpOption struct{ short, long, meaning string } // "-c", "--config", "read …"

var helpLine = regexp.MustCompile(`^  (?:(-.)(?: \S+)?, )?(--[a-z-]+)(?:=\S+)?\s*(.*)$`)

// helpOptions returns the options that --help prints after the words of a command line.
func helpOptions(t *testing.T, words ...string) []helpOption {
	t.Helper()
	out, _, exit := execute(t, append(words, "--help")...)
	require.Zero(t, exit)
	var options []helpOption
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if match := helpLine.FindStringSubmatch(line); match != nil {
			options = append(options, helpOption{match[1], match[2], match[3]})
		} else if n := len(options); n > 0 && strings.HasPrefix(line, "       ") {
			options[n-1].meaning += strings.TrimSpace(line)
		}
	}
	require.NotEmpty(t, options)
	return options
}

// Every option of the agent is in the manual page, with both its names, and no other is.
func TestManualPageOptions(t *testing.T) {
	_, sections := manualPage(t)
	var want []string
	for _, o := range helpOptions(t) {
		name := `\fB` + o.long + `\fR`
		if o.short != "" {
			name = `\fB` + o.short + `\fR ` + name
		}
		want = append(want, name)
	}
	argument := regexp.MustCompile(`[ =]\\fI[a-z]+\\fR|,`)
	var found []string
	for _, match := range regexp.MustCompile(`\n\.TP\n(\\fB-.*)`).FindAllStringSubmatch(sections["OPTIONS"], -1) {
		found = append(found, argument.ReplaceAllString(match[1], ""))
	}
	assert.ElementsMatch(t, want, found)
}

// Every sub-command is in the manual page with its options and no others, in the synopsis too.
func TestManualPageSubCommands(t *testing.T) {
	_, sections := manualPage(t)
	entries := make(map[string]string) // by sub-command
	for _, entry := range strings.Split(sections["SUB-COMMANDS"], "\n.TP\n\\fB")[1:] {
		name, _, _ := strings.Cut(entry, `\fR`)
		entries[name] = entry
	}
	synopses := make(map[string]string)
	for _, synopsis := range strings.Split(sections["SYNOPSIS"], "\n.B pmdaderived ")[1:] {
		line, rest, _ := strings.Cut(synopsis, "\n")
		name, more, _ := strings.Cut(line, " ") // a sub-command may have several ways to use it
		synopses[name] += strings.ReplaceAll("["+more+"\n"+rest, "[ ", "[")
	}
	long := regexp.MustCompile(`--[a-z][a-z-]+`)
	either := regexp.MustCompile(`(^|[ \[])(--?[a-zA-Z][a-z-]*)`)
	for _, c := range command.Summaries() {
		t.Run(c.Name, func(t *testing.T) {
			assert.Contains(t, entries, c.Name)
			assert.Contains(t, synopses, c.Name)
			options := helpOptions(t, c.Name)
			var names []string
			for _, o := range options {
				names = append(names, o.short, o.long)
				if o.long == "--help" {
					continue
				}
				entry := entries[c.Name]
				assert.True(t, strings.Contains(entry, o.long) || o.short != "" && strings.Contains(entry, `[\fB`+o.short+`\fR`),
					"docs/pmdaderived.1, SUB-COMMANDS: %s has no %s", c.Name, o.long)
				synopsis := synopses[c.Name]
				must := o.short != "" && strings.Contains(synopsis, "\n.B "+o.short+"\n")
				assert.True(t, must || o.short != "" && strings.Contains(synopsis, "["+o.short) || strings.Contains(synopsis, "["+o.long),
					"docs/pmdaderived.1, SYNOPSIS: %s has no %s", c.Name, o.long)
			}
			for _, found := range long.FindAllString(entries[c.Name], -1) {
				assert.Contains(t, names, found)
			}
			for _, found := range either.FindAllStringSubmatch(synopses[c.Name], -1) {
				assert.Contains(t, names, found[2], "synopsis")
			}
			delete(entries, c.Name)
			delete(synopses, c.Name)
		})
	}
	assert.Empty(t, entries, "no such sub-commands")
	assert.Empty(t, synopses, "no such sub-commands")
}

// Every metric of the agent is in the manual page, and no other is.
func TestManualPageMetrics(t *testing.T) {
	_, sections := manualPage(t)
	help := readFile(t, "../../help")
	var want []string
	for _, match := range regexp.MustCompile(`(?m)^@ (derived\.\S+)`).FindAllStringSubmatch(string(help), -1) {
		want = append(want, match[1])
	}
	var found []string
	for _, match := range regexp.MustCompile(`\n\.TP\n(.*derived\.control.*)`).FindAllStringSubmatch(sections["METRICS"], -1) {
		found = append(found, regexp.MustCompile(`derived\.control\.[a-z_.]+`).FindAllString(match[1], -1)...)
	}
	slices.Sort(want)
	slices.Sort(found)
	assert.Equal(t, want, found)
}
