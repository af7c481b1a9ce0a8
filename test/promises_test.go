package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// promise is a row of a table with a column "test".
type promise struct{ row, tests string }

// promises returns those of a document.
func promises(document string) []promise {
	var found []promise
	inside, column := false, -1
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line[1:], "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !inside:
			inside, column = true, slices.Index(cells, "test")
		case column < 0 || strings.HasPrefix(cells[0], "---"):
		case column < len(cells):
			found = append(found, promise{line, cells[column]})
		default:
			found = append(found, promise{row: line})
		}
	}
	return found
}

// namedTest is a test, a fuzz target or a script.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*|[\\w-]+\\.txtar)`")

// unheld says which promises of a document name no test, and which tests that it names are not there.
func unheld(document string, exists func(test string) bool) []string {
	var problems []string
	for _, p := range promises(document) {
		if !namedTest.MatchString(p.tests) {
			problems = append(problems, "no test: "+p.row)
		}
	}
	for _, match := range namedTest.FindAllStringSubmatch(document, -1) {
		if !exists(match[1]) {
			problems = append(problems, "no such test: "+match[1])
		}
	}
	return problems
}

// Every promise in a table with a column "test" names one, and every test that a document names exists.
func TestDocumentPromisesAreHeld(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"*", "*/*", "*/*/*", "*/*/*/*", "*/*/*/*/*"} {
		for _, path := range must(filepath.Glob("../" + pattern + "_test.go"))(t) {
			code.WriteString(readDocument(t, path))
		}
	}
	exists := func(test string) bool {
		if strings.HasSuffix(test, ".txtar") {
			_, err := os.Stat(filepath.Join("scripts", test))
			return err == nil
		}
		return strings.Contains(code.String(), "\nfunc "+test+"(")
	}
	for _, path := range []string{"../docs/security.md", "../docs/reliability.md"} {
		document := readDocument(t, path)
		assert.NotEmpty(t, promises(document), path)
		assert.Empty(t, unheld(document, exists), path)
	}
}

// The test above would pass if it saw no promise; this one shows that it sees them.
func TestUnheldPromises(t *testing.T) {
	const head = "| what | test |\n|---|---|\n"
	for _, row := range []struct {
		name, document string
		want           []string
	}{
		{"a test", head + "| a | `TestThis` |\n", nil},
		{"a script", head + "| a | `this.txtar` |\n", nil},
		{"no test", head + "| a | |\n", []string{"no test: | a | |"}},
		{"a row that is too short", head + "| a |\n", []string{"no test: | a |"}},
		{"words", head + "| a | likewise |\n", []string{"no test: | a | likewise |"}},
		{"a test in another column", "| test | what |\n|---|---|\n| | `TestThis` |\n", []string{"no test: | | `TestThis` |"}},
		{"the second row", head + "| a | `TestThis` |\n| b | |\n", []string{"no test: | b | |"}},
		{"the second table", head + "| a | `TestThis` |\n\n" + head + "| b | |\n", []string{"no test: | b | |"}},
		{"a table without such a column", "| what | how |\n|---|---|\n| a | |\n", nil},
		{"no such test", head + "| a | `TestThat` |\n", []string{"no such test: TestThat"}},
		{"no such script", head + "| a | `that.txtar` |\n", []string{"no such test: that.txtar"}},
		{"no such test in a sentence", "It is so (`FuzzThat`).\n", []string{"no such test: FuzzThat"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			exists := func(test string) bool { return test == "TestThis" || test == "this.txtar" }
			assert.Equal(t, row.want, unheld(row.document, exists))
		})
	}
}
