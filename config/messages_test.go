package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/messages.md has each message about a file: as it is, or with <words> for what varies.
func TestMessagesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/messages.md")
	require.NoError(t, err)
	varies, blanks := regexp.MustCompile(`<[a-z]+>`), regexp.MustCompile(`\s+`)
	var shown []*regexp.Regexp
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		if pattern := varies.ReplaceAllString(regexp.QuoteMeta(span[1]), ".+"); strings.Contains(pattern, " ") {
			shown = append(shown, regexp.MustCompile("^"+pattern+"$"))
		}
	}
	text := blanks.ReplaceAllString(string(page), " ")
	verb := regexp.MustCompile(`%[0-9]*[a-z]`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"pcpconf.go", "watch.go"}, name) { // not about definitions
			continue
		}
		for _, message := range messagesOf(t, name) {
			found++
			parts := verb.Split(message, -1)
			known := !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, strings.TrimSpace(part)) }) ||
				slices.ContainsFunc(shown, func(r *regexp.Regexp) bool { return r.MatchString(verb.ReplaceAllString(message, "1")) })
			assert.True(t, known, "%s: %s", name, message)
		}
	}
	assert.Greater(t, found, 40)
}

// messagesOf returns the texts of the errors and problems that a file makes.
func messagesOf(t *testing.T, name string) (messages []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	add := func(args ...ast.Expr) {
		for _, e := range args {
			if text := constant(e); strings.Contains(text, " ") {
				messages = append(messages, text)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Msg" {
				add(n.Value)
			}
		case *ast.CallExpr:
			function := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				function = f.Name
			case *ast.SelectorExpr:
				function = f.Sel.Name
			}
			if slices.Contains([]string{"New", "Errorf", "Sprintf", "refuse", "nothing", "reportError"}, function) {
				add(n.Args...)
			}
		}
		return true
	})
	return messages
}

// constant returns the literals of a text, and a verb for anything else.
func constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return constant(e.X) + constant(e.Y)
	}
	return "%s"
}
