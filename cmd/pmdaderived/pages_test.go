package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The definitions of the recipes are what a site may have: there is nothing to say of any of them, and each has what it needs.
func TestRecipes(t *testing.T) {
	s := newSite(t)
	text := ""
	for _, p := range partsOf(t, "../../docs/recipes.md") {
		text += strings.Join(p.blocks, "")
	}
	require.Greater(t, strings.Count(text, " = "), 13)
	s.file("recipes", text)
	out, errs, exit := s.run("check", filepath.Join(s.dir, "pmdaderived"))
	assert.Equal(t, exitOK, exit)
	assert.NotContains(t, out, "recipes:", out)
	assert.NotContains(t, errs, "recipes:")
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
	assert.Equal(t, exitOK, exit, out+errs)
	assert.NotContains(t, out, "rows:", out)
}
