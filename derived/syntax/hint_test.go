package syntax

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			var fault *Error
			_, err := Parse(row.expr, Literals{})
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, row.want, fault.Hint(row.expr), err)
		})
	}
}
