package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
)

// What people write who know other languages, and what it is here.
func TestHints(t *testing.T) {
	for _, row := range []struct{ expr, want string }{
		{"mem.util.free > 10GB", "a number has no units: write mkconst(10, units=Gbyte)"},
		{"mem.util.free > 1.5 kB", "a number has no units: write mkconst(1.5, units=Kbyte)"},
		{"5 minutes", "a number has no units: write mkconst(5, units=min)"},
		{"mkconst(10GB)", "a number has no units: write mkconst(10, units=Gbyte)"},
		{"mem.util.free > 1e6", "numbers have digits and a point only: write 1000000"},
		{"mem.util.free > 1.5E3", "numbers have digits and a point only: write 1500"},
		{"mem.util.free > 2e-3", "numbers have digits and a point only: write 0.002"},
		{"mem.util.free > 1e12", "numbers have digits and a point only: write 1000000000000.0"},
		{"mem.util.free > 1e999", ""},
		{"0x1F + hinv.ncpu", "numbers have digits and a point only: write 31"},
		{"hinv.ncpu > 1 and hinv.ncpu < 4", "write && in place of and"},
		{"hinv.ncpu AND 1", "write && in place of AND"},
		{"hinv.ncpu or 1", "write || in place of or"},
		{"not hinv.ncpu", "write ! in place of not"},
		{"hinv.ncpu * 2 # twice", "a comment is a line of its own"},
		{"hinv.ncpu# twice", "a comment is a line of its own"},
		{"hinv.ncpu;", "a definition ends at the end of its line: leave out ;"},
		{"hinv.ncpu = 4", "write == to compare"},
		{"hinv.ncpu <> 2", "write != in place of <>"},
		{"rate(kernel.percpu.cpu.user)[cpu0]", "write parentheses around that of which an instance is selected: (…)[…]"},
		{"5[cpu0]", ""},
		{"hinv.ncpu & 1", "write &&"},
		{"hinv.ncpu | 1", "write ||"},
		{"round(hinv.ncpu) # x", ""},
		{"cpu2 GB", ""},
		{"hinv.ncpu and1", ""},
		{"2 apples", ""},
		{"hinv.ncpu hinv.ncpu", ""},
		{"1 +", ""},
		{"", ""},
	} {
		t.Run(row.expr, func(t *testing.T) {
			_, err := derived.Parse("x", row.expr)
			got := adviceOn(row.expr, err)
			if got.code != codeHint {
				got.text = ""
			}
			assert.Equal(t, row.want, got.text, err)
		})
	}
	assert.Empty(t, adviceOn("no.such", unavailable(t)).text, "it is an expression")
}

// The hint stands below the mistake, wherever that is told.
func TestHintsAreShown(t *testing.T) {
	s := newSite(t)
	path := s.file("site.conf", "a = mem.util.free > 10GB\n")
	out, errs, exit := s.run("check", path)
	assert.Equal(t, exitFailure, exit)
	assert.Equal(t, path+":1:23: syntax error\na = mem.util.free > 10GB\n                      ^\n"+
		path+":1:23: note: a number has no units: write mkconst(10, units=Gbyte) [syntax-hint]\na = mem.util.free > 10GB\n                      ^\n", out, errs)
	_, errs, exit = s.run("eval", "a")
	assert.Equal(t, exitFailure, exit)
	assert.Equal(t, path+":1:23: syntax error\na = mem.util.free > 10GB\n                      ^\n"+
		"pmdaderived eval: a number has no units: write mkconst(10, units=Gbyte)\n", errs)
	_, errs, _ = s.run("explain", "hinv.ncpu and 1")
	assert.Contains(t, errs, "          ^\npmdaderived explain: write && in place of and\n")
}
