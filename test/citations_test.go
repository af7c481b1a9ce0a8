package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// citedDocument is the name of a document in a source file, and the sections that are named behind it, if any are:
	// "docs/protocol.md 2.3, 2.4", "docs/language-rules.md sections 2 and 3", "docs/pmcd.md b.2".
	citedDocument = regexp.MustCompile(`([\w./-]*[\w-]+\.md)\b((?: sections?)?(?:(?: |, | to |-| and )(?:\d+|[a-m])(?:\.\d+)*\b)+)?`)

	// citedSection is one section in such a list.
	citedSection = regexp.MustCompile(`(?:\d+|\b[a-m])(?:\.\d+)*\b`)

	// numberedTitle is a title that can be cited: "## 2.4 Value sets", "### b.2 Missing answers", "## a. Deadlock".
	numberedTitle = regexp.MustCompile(`(?m)^#+ ((?:\d+|[a-m])(?:\.\d+)*)\.? `)
)

// sourceFiles returns the paths, from this folder, of all files whose comments may cite documents.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || path == "../bin" || entry.Name() == "fuzz"):
			return fs.SkipDir
		case !entry.IsDir() && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".txt") || strings.HasSuffix(path, ".txtar")):
			found = append(found, path)
		}
		return nil
	}))
	require.Greater(t, len(found), 300)
	return found
}

// Every document that a source file names is in the repository, and has the sections that are named with it.
func TestCitationsResolve(t *testing.T) {
	cited := 0
	for _, path := range sourceFiles(t) {
		if path == "citations_test.go" || path == "../test/citations_test.go" {
			continue
		}
		for number, line := range strings.Split(readDocument(t, path), "\n") {
			if !strings.Contains(line, "//") && !strings.HasPrefix(line, "#") {
				continue
			}
			for _, match := range citedDocument.FindAllStringSubmatch(line, -1) {
				document := findDocument(path, match[1])
				if !assert.NotEmpty(t, document, "%s:%d: %s is not in the repository", path, number+1, match[1]) || match[2] == "" {
					continue
				}
				titles := map[string]bool{}
				for _, title := range numberedTitle.FindAllStringSubmatch(readDocument(t, document), -1) {
					titles[title[1]] = true
				}
				for _, section := range citedSection.FindAllString(strings.TrimPrefix(strings.TrimPrefix(match[2], " section"), "s"), -1) {
					assert.True(t, titles[section], "%s:%d: %s has no section %s", path, number+1, match[1], section)
					cited++
				}
			}
		}
	}
	assert.Greater(t, cited, 60)
}

// findDocument returns where a document is that a file names: as a path from the top of the repository or from the folder of
// the file; "": nowhere.
func findDocument(path, name string) string {
	for _, candidate := range []string{filepath.Join("..", name), filepath.Join(filepath.Dir(path), name)} {
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
	}
	return ""
}
