package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a syntax error may come from is a note with a code of its own.
func TestHintCodes(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct{ name, text, note string }{
		{"a function", "a = 1 + rat(kernel.all.load)\n", "there is no function rat; is rate meant? [unknown-function]"},
		{"a parenthesis", "a = rate(kernel.all.load  \n", "a parenthesis is not closed? [open-parenthesis]"},
		{"over several lines", "a = (kernel.all.load + \\\n  1\n", "a parenthesis is not closed? [open-parenthesis]"},
		{"another language", "a = hinv.ncpu and 1\n", "write && in place of and [syntax-hint]"},
		{"no hint", "a = (kernel.all.load + )\n", ""},
		{"an operand that is not there", "a = no.such\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, _ := s.fails("check", s.file("site.conf", row.text))
			_, note, _ := strings.Cut(out, ": note: ")
			note, _, _ = strings.Cut(note, "\n")
			assert.Equal(t, row.note, note, out)
		})
	}
}

// The hint stands below the mistake, wherever that is told.
func TestHintsAreShown(t *testing.T) {
	s := newSite(t)
	path := s.file("site.conf", "a = mem.util.free > 10GB\n")
	out, errs := s.fails("check", path)
	assert.Equal(t, path+":1:23: syntax error\na = mem.util.free > 10GB\n                      ^\n"+
		path+":1:23: note: a number has no units: write mkconst(10, units=Gbyte) [syntax-hint]\na = mem.util.free > 10GB\n                      ^\n", out, errs)
	_, errs = s.fails("eval", "a")
	assert.Equal(t, path+":1:23: syntax error\na = mem.util.free > 10GB\n                      ^\n"+
		"pmdaderived eval: a number has no units: write mkconst(10, units=Gbyte)\n", errs)
	_, errs, _ = s.run("explain", "hinv.ncpu and 1")
	assert.Contains(t, errs, "          ^\npmdaderived explain: write && in place of and\n")
}
