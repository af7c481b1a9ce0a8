package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// sourceTexts returns the texts of all Go files and test data by their paths.
func sourceTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".txt")) {
			texts[path] = readDocument(t, path)
		}
		return err
	}))
	return texts
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

// sections returns the numbers and letters that begin the headings of a document.
func sections(document string) []string {
	var found []string
	for _, match := range sectionBegin.FindAllStringSubmatch(document, -1) {
		found = append(found, strings.TrimSuffix(match[1], "."))
	}
	return found
}

var (
	sectionBegin = regexp.MustCompile(`(?m)^#+ ([\w.]+)`)
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`)

	// difference is the name of a difference from libpcp.
	difference = regexp.MustCompile(`\bQ-[A-Z][A-Z0-9-]*[A-Z0-9]\b`)

	// citation is a page that a comment names, with the sections behind it; sectionName is one of these.
	citation    = regexp.MustCompile(`docs/([a-z-]+\.md)((?:(?:,| and| to| or|-)? ?(?:sections? )?(?:` + sectionName.String() + `))*)`)
	sectionName = regexp.MustCompile(`\b\d+(?:\.\d+)*\b|\b[a-z](?:\.\d+)?\b`)
)

// TestDocuments looks for names in pages and comments that lead nowhere.
func TestDocuments(t *testing.T) {
	texts := sourceTexts(t)
	tests := map[string]bool{}
	for path, text := range texts {
		if strings.HasSuffix(path, "_test.go") {
			for _, match := range testFunction.FindAllStringSubmatch(text, -1) {
				tests[match[1]] = true
			}
		}
	}
	makefile := "\n" + readDocument(t, "../Makefile")
	inPages := []struct {
		what   string
		name   *regexp.Regexp
		exists func(page, name string) bool
	}{
		{"link", documentLink, func(page, name string) bool {
			file, anchor, _ := strings.Cut(name, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			return strings.Contains(name, "://") ||
				isPath(target) && (anchor == "" || slices.Contains(anchors(readDocument(t, target)), anchor))
		}},
		{
			"file", regexp.MustCompile("(?m)(?:^|[ `'(])((?:cmd|config|derived|docs|examples|integration|internal|packaging|pdu|pmda|scripts|test)/[\\w./-]*\\w)(?:[`) ,;:]|$)"),
			func(_, name string) bool {
				return isPath(filepath.Join("..", name)) || isPath(filepath.Join("..", name+".meta")) // an archive
			},
		},
		{"target of make", regexp.MustCompile("(?m)(?:^    |`)make ([a-z][a-z-]*)"), func(_, name string) bool {
			return strings.Contains(makefile, "\n"+name+":")
		}},
		{"test", regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w+)`), func(_, name string) bool { return tests[name] }},
	}
	for _, page := range documents(t) {
		for _, kind := range inPages {
			for _, match := range kind.name.FindAllStringSubmatch(readDocument(t, page), -1) {
				assert.True(t, kind.exists(page, match[1]), "%s: there is no %s %s", page, kind.what, match[1])
			}
		}
	}
	conformance := readDocument(t, "../docs/conformance.md")
	for path, text := range texts {
		for _, name := range difference.FindAllString(text, -1) {
			assert.True(t, strings.Contains(conformance, name), "%s: docs/conformance.md has no %s", path, name)
		}
		for _, match := range citation.FindAllStringSubmatch(strings.ReplaceAll(text, "\n// ", " "), -1) {
			page := filepath.Join("../docs", match[1])
			if !assert.True(t, isPath(page), "%s: there is no page %s", path, match[1]) {
				continue
			}
			for _, name := range sectionName.FindAllString(match[2], -1) {
				assert.True(t, slices.Contains(sections(readDocument(t, page)), name), "%s: %s has no section %s", path, match[1], name)
			}
		}
	}
	lists := []struct{ page, dir, begin string }{{"../docs/README.md", "../docs", "]("}, {"../docs/development.md", "../scripts", "`scripts/"}}
	for _, list := range lists {
		for _, entry := range must(os.ReadDir(list.dir))(t) {
			if name := entry.Name(); name != "README.md" && name != "img" {
				assert.Contains(t, readDocument(t, list.page), list.begin+name, "%s does not list %s", list.page, name)
			}
		}
	}
}

func isPath(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The parts of TestDocuments find what they look for.
func TestDocumentParts(t *testing.T) {
	assert.Equal(t, []string{"a-title", "b--c"}, anchors("# A `title`\n#no\n## B & c\n"))
	assert.Equal(t, []string{"1", "b.2"}, sections("# 1. A\n## b.2 C\n"))
	match := citation.FindStringSubmatch("docs/language-rules.md sections 2, 6.3-6.9 and 9.1, The")
	assert.Equal(t, []string{"2", "6.3", "6.9", "9.1"}, sectionName.FindAllString(match[2], -1))
}
