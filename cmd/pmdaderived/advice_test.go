package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFunctionMeant(t *testing.T) {
	for _, row := range []struct{ expr, want string }{
		{"rat(", "there is no function rat; is rate meant?"},
		{"100 * RATE(", "there is no function RATE; is rate meant?"},
		{"a + matchinstance(", "there is no function matchinstance; is matchinst meant?"},
		{"average(", "there is no function average; is avg meant?"},
		{"maximum(", "there is no function maximum; is max meant?"},
		{"cuont(", "there is no function cuont; is count meant?"},
		{"round(", "there is no function round; there are avg, count, max, min, sum, delta, rate, instant, scalar, defined, matchinst, mkconst, novalue, rescale"},
		{"abs(", "there is no function abs; there are avg, count, max, min, sum, delta, rate, instant, scalar, defined, matchinst, mkconst, novalue, rescale"},
		{"mod(", "there is no function mod; there are avg, count, max, min, sum, delta, rate, instant, scalar, defined, matchinst, mkconst, novalue, rescale"},
		{"rate (", "rate is a function only if its parenthesis follows at once"},
		{"rate \n\t(", "rate is a function only if its parenthesis follows at once"},
		{"log(", "there is no function log; there are avg, count, max, min, sum, delta, rate, instant, scalar, defined, matchinst, mkconst, novalue, rescale"},
		{"x(", "there is no function x; there are avg, count, max, min, sum, delta, rate, instant, scalar, defined, matchinst, mkconst, novalue, rescale"},
		{"(", ""},
		{"a + (", ""},
		{"2(", ""},
		{"\"s\"(", ""},
		{"rat", ""},
		{"", ""},
	} {
		assert.Equal(t, row.want, functionMeant(row.expr, len(row.expr)), row.expr)
		assert.Equal(t, row.want, functionMeant(row.expr+" b)", len(row.expr)), row.expr)
	}
	assert.Empty(t, functionMeant("a", -1))
	assert.Empty(t, functionMeant("a", 7))
}

func TestCheckFunctionMeant(t *testing.T) {
	s := newSite(t)
	out, _, exit := s.run("check", s.file("site.conf", "a = 1 + rat(kernel.all.load)\n"))
	assert.Equal(t, exitFailure, exit)
	assert.Contains(t, out, "syntax error: Unexpected '('\n")
	assert.Contains(t, out, ": note: there is no function rat; is rate meant? [unknown-function]\n")
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

// An operand that is not there is no syntax error, and has no advice.
func TestNoAdvice(t *testing.T) {
	assert.Empty(t, adviceOn("no.such", unavailable(t)).text)
}
