package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnclosed(t *testing.T) {
	for _, row := range []struct {
		expr string
		want bool
	}{
		{"", false},
		{"(a + 1", true},
		{"(a + 1)", false},
		{"a + 1)", false},
		{"rate(a", true},
		{`rescale((a, "(b)")`, true},
		{`rescale(a, "(")`, false},
		{`rescale(a, ")"`, true},
		{"matchinst(/a\\/(/, b)", false},
		{"matchinst( ! /)/, b", true},
		{"(a / b) / (c", true},
		{"a[b(c]", false},
		{"(a[b)c]", true},
		{`(a["`, true},
		{`"\`, false},
	} {
		assert.Equal(t, row.want, unclosed(row.expr), row.expr)
	}
}

func TestCheckUnclosed(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct {
		name, text string
		want       bool
	}{
		{"a group", "a = (kernel.all.load + 1\n", true},
		{"a function", "a = rate(kernel.all.load  \n", true},
		{"over several lines", "a = (kernel.all.load + \\\n  1\n", true},
		{"closed", "a = (kernel.all.load + )\n", false},
		{"another mistake first", "a = * (kernel.all.load\n", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, _, exit := s.run("check", s.file("site.conf", row.text))
			assert.Equal(t, exitFailure, exit)
			assert.Contains(t, out, "syntax error: ")
			assert.Equal(t, row.want, strings.Contains(out, ": note: a parenthesis is not closed? [open-parenthesis]\n"), out)
		})
	}
}
