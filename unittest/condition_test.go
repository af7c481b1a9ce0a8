package unittest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A condition counts as seen where its definition is expected to have something.
func TestConditions(t *testing.T) {
	for _, row := range []struct{ name, definition, test, want string }{
		{"both", "x = ncpu > 1 ? free : free * 2", "given ncpu 1 2\n given free 1...\n expect x *...", "0:"},
		{"true only", "x = ncpu > 1 ? free : free * 2", "given ncpu 2\n expect x *", "0:is false in no test"},
		{"false only", "x = (ncpu > 1) ? free : free * 2", "given ncpu 1\n expect x *", "0:is true in no test"},
		{"never a value", "x = ncpu > 1 ? free : free * 2", "expect x *", "0:has no value in any test"},
		{"that of another definition", "y = ncpu > 1 ? free : free * 2\nx = free", "given ncpu 2\n expect x *", ""},
		{"of a set", "x = total > 5 ? total : (total > 1000 ? total : total + total)", "given total[sda] 1\n given total[sdb] 9\n expect x *", "0: 21:is true in no test"},
		{"with a history", "x = rate(total) > 5 ? total : total", "given total[sda] 0 10 11\n expect x *...", "0:"},
		{"decided by what there is", "x = defined(nosuch) ? nosuch : free", "expect x *", "0:is true in no test"},
		{"zero, below zero", "x = temp ? free : free * 2", "given temp -0.0 nan\n expect x *...", "0:"},
		{"inside", "x = free * (ncpu > 1 ? 2 : 3)", "given ncpu 2\n expect x *...", "8:is false in no test"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parsed(t, host+"test a\n "+row.test+"\n")
			r := NewRunner(defined(t, row.definition+"\n"))
			r.Run(f.Tests[0])
			got := ""
			for _, c := range r.Conditions("x") {
				got += fmt.Sprintf(" %d:%s", c.Offset, c)
			}
			if got != "" {
				got = got[1:]
			}
			assert.Equal(t, row.want, got)
		})
	}
}
