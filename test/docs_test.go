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

// documents returns the paths of all documents, from this folder.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{
		"../*.md", "../docs/*.md", "../docs/decisions/*.md", "../*/README.md", "*.md",
		"*/*.md",
	} {
		names := must(filepath.Glob(pattern))(t)
		found = append(found, names...)
	}
	require.Greater(t, len(found), 15)
	return found
}

func readDocument(t *testing.T, path string) string {
	t.Helper()
	return string(must(os.ReadFile(path))(t))
}

// anchors returns the anchors of a document, by GitHub's rules.
func anchors(document string) []string {
	var found []string
	for line := range strings.Lines(document) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			title = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			found = append(found, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return found
}

// documentLink is a link of a document.
var documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link between documents leads somewhere.
func TestDocumentLinks(t *testing.T) {
	for _, path := range documents(t) {
		for _, match := range documentLink.FindAllStringSubmatch(readDocument(t, path), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s: %s", path, match[1]) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(readDocument(t, target)), anchor, "%s: %s", path, match[1])
		}
	}
}

// docs/README.md lists each page of docs.
func TestDocumentIndex(t *testing.T) {
	index := readDocument(t, "../docs/README.md")
	entries := must(os.ReadDir("../docs"))(t)
	for _, entry := range entries {
		if name := entry.Name(); name != "README.md" && name != "img" {
			assert.Contains(t, index, "]("+name+")")
		}
	}
}

// Every target of make that a document names exists.
func TestDocumentTargets(t *testing.T) {
	makefile := readDocument(t, "../Makefile")
	target := regexp.MustCompile("(?m)(?:^    |`)make ([a-z][a-z-]*)")
	for _, path := range documents(t) {
		for _, match := range target.FindAllStringSubmatch(readDocument(t, path), -1) {
			assert.Regexp(t, `(?m)^`+match[1]+`:`, makefile, "%s: make %s", path, match[1])
		}
	}
}

// Every script that a document names exists, and docs/development.md names each.
func TestDocumentScripts(t *testing.T) {
	script := regexp.MustCompile("(?:^|[ `'(])scripts/([a-z-]+)\\b")
	for _, path := range documents(t) {
		for _, match := range script.FindAllStringSubmatch(readDocument(t, path), -1) {
			assert.FileExists(t, filepath.Join("../scripts", match[1]), path)
		}
	}
	page := readDocument(t, "../docs/development.md")
	for _, entry := range must(os.ReadDir("../scripts"))(t) {
		assert.Contains(t, page, "`scripts/"+entry.Name())
	}
}

func TestAnchors(t *testing.T) {
	assert.Equal(t, []string{"a-title", "b--c"}, anchors("# A `title`\n#no\n## B & c\n"))
}

// Every test that a document names exists.
func TestDocumentedTests(t *testing.T) {
	exists := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, match := range testFunction.FindAllStringSubmatch(readDocument(t, path), -1) {
				exists[match[1]] = true
			}
		}
		return err
	}))
	for _, path := range documents(t) {
		for _, name := range testName.FindAllString(readDocument(t, path), -1) {
			assert.True(t, exists[name], "%s names %s, which does not exist", path, name)
		}
	}
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`)
	testName     = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
)
