package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/commandline"
)

// blockPattern is an indented block of a page, behind the paragraph before it.
var blockPattern = regexp.MustCompile("(?m)^(.*)\n\n((?:    .*\n|\n)+)")

// fileAbove is the name of a file at the end of a paragraph, whose block is the file.
var fileAbove = regexp.MustCompile("`([a-z]+\\.(?:conf|test))`[^`]*$")

// The example of docs/testing.md: blocks are files, named at the end of the paragraph above, or sessions, which print
// exactly what follows.
func TestTestingPage(t *testing.T) {
	text := readFile(t, "../../docs/testing.md")
	s := newSite(t)
	t.Chdir(t.TempDir())
	files, sessions := 0, 0
	for _, match := range blockPattern.FindAllStringSubmatch(string(text), -1) {
		block := strings.TrimRight(strings.ReplaceAll("\n"+match[2], "\n    ", "\n")[1:], "\n") + "\n"
		if command, ok := strings.CutPrefix(block, "$ pmdaderived "); ok {
			sessions++
			command, want, _ := strings.Cut(command, "\n")
			out, errs, exit := s.run(words(command)...)
			assert.Equal(t, want, out+errs)
			assert.Equal(t, strings.Contains(want, "FAIL"), exit == commandline.ExitFailure)
			continue
		}
		if name := fileAbove.FindStringSubmatch(match[1]); name != nil {
			files++
			writeFile(t, filepath.Join(".", name[1]), block)
		}
	}
	assert.Equal(t, 3, files)
	assert.Equal(t, 2, sessions)
}
