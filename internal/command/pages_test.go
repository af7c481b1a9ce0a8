package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
)

// The definitions of the recipes are free of problems, and have all operands. One uses host.fs.growth of
// the agent's files.
func TestRecipes(t *testing.T) {
	s := newSite(t)
	text := ""
	for _, p := range partsOf(t, "../../docs/recipes.md") {
		text += strings.Join(p.blocks, "")
	}
	require.Greater(t, strings.Count(text, " = "), 13)
	s.file("recipes", text)
	writeFile(t, filepath.Join(s.dir, "config", "pmdaderived", "host.conf"), "host.fs.growth = rate(filesys.used)\n")
	out, errs, exit := s.run("check", filepath.Join(s.dir, "pmdaderived"))
	assert.Equal(t, commandline.ExitOK, exit)
	assert.NotContains(t, out, "recipes:", out)
	assert.NotContains(t, errs, "recipes:")
}

// The unit tests on the page of the recipes pass.
func TestRecipesPass(t *testing.T) {
	s := newSite(t)
	text := ""
	for _, p := range partsOf(t, "../../docs/recipes.md") {
		text += strings.Join(p.blocks, "")
	}
	s.file("recipes.conf", text)
	tests := regexp.MustCompile("(?m)^```\n(metric (?:.*\n)+?)```$").FindAllStringSubmatch(readFile(t, "../../docs/recipes.md"), -1)
	require.Len(t, tests, 3)
	for _, test := range tests {
		s.succeeds("test", s.file("recipes.test", test[1]))
	}
}

// There is nothing to say of any expression of the second column.
func TestFromPromQL(t *testing.T) {
	s := newSite(t)
	row := regexp.MustCompile("(?m)^\\|[^|\n]*\\| `([^`]+)` \\|")
	rows := row.FindAllStringSubmatch(readFile(t, "../../docs/from-promql.md"), -1)
	require.Greater(t, len(rows), 20)
	text := ""
	for i, r := range rows {
		text += fmt.Sprintf("row%d.x = %s\n", i, r[1])
	}
	s.file("rows", text)
	out, errs, exit := s.run("check", filepath.Join(s.dir, "pmdaderived"))
	assert.Equal(t, commandline.ExitOK, exit, out+errs)
	assert.NotContains(t, out, "rows:", out)
}

// The sessions of docs/replay.md print exactly what follows.
func TestReplayPage(t *testing.T) {
	text := readFile(t, "../../docs/replay.md")
	examples := must(filepath.Abs("../../examples"))(t)
	s := newSite(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(examples, "examples"))
	sessions := 0
	for _, match := range blockPattern.FindAllStringSubmatch(string(text), -1) {
		block := strings.TrimRight(strings.ReplaceAll("\n"+match[2], "\n    ", "\n")[1:], "\n") + "\n"
		command, ok := strings.CutPrefix(block, "$ pmdaderived ")
		if !ok {
			continue
		}
		sessions++
		command, want, _ := strings.Cut(command, "\n")
		out, errs, exit := s.run(words(command)...)
		assert.Equal(t, commandline.ExitOK, exit)
		assert.Equal(t, want, out+errs, command)
	}
	assert.Equal(t, 5, sessions)
}
