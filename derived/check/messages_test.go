package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
)

// unshown are the rules whose examples need definitions or metrics of these tests: the page has those of the comment.
var unshown = map[string]bool{
	"RuleOperandMetadata": true, "RuleGroupInDoms": true, "RuleTooDeep": true, "RuleCycle": true, "RuleBrokenOperand": true,
}

// The last chapter of docs/messages.md is what ruleTexts says: its rows in their order, with their comments.
func TestMessagesPage(t *testing.T) {
	const path, chapter = "../../docs/messages.md", "\n## Semantic errors\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	begin, rest, found := strings.Cut(string(text), chapter)
	require.True(t, found)
	intro, _, _ := strings.Cut(rest, "\n#### ")
	want := begin + chapter + intro + "\n" + ruleMessages(t)
	if *derivedtest.Update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "-update writes the page")
}

// ruleMessages returns the sections of all rules. Rows with the same wording that follow each other are one section.
func ruleMessages(t *testing.T) string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "errors.go", nil, parser.ParseComments)
	require.NoError(t, err)
	comments := ast.NewCommentMap(files, file, file.Comments)
	var page strings.Builder
	wording, comment, name := "", "", ""
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		values := row.Value.(*ast.CompositeLit).Elts
		if reason := literal(t, values[0]); reason != wording {
			page.WriteString(comment + "#### `" + reason + "`\n\n")
			wording, comment, name = reason, "", "odd"
		}
		for _, group := range comments[row] {
			comment += pageText(group)
		}
		if !unshown[row.Key.(*ast.Ident).Name] {
			page.WriteString("    " + name + " = " + literal(t, values[1]) + "\n\n")
			name += "2"
		}
		return false
	})
	return strings.TrimSpace(page.String()+comment) + "\n"
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	text, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	require.NoError(t, err)
	return text
}

// pageText returns a comment as the page has it: its code is indented by four blanks.
func pageText(comment *ast.CommentGroup) string {
	text := ""
	for _, line := range comment.List {
		code := strings.TrimPrefix(line.Text, "//")
		if body, ok := strings.CutPrefix(code, "\t"); ok {
			text += "    " + body + "\n"
		} else {
			text += strings.TrimPrefix(code, " ") + "\n"
		}
	}
	return text + "\n"
}
