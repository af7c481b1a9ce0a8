package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// Warnings name the syntax that some version of libpcp does not support.
func TestPortable(t *testing.T) {
	const text = "a = sqrt(ncpu)\nb = ncpu > 1 ? free : 0\nc = a + procs\nd = ncpu > 1 ? free : novalue()\ne = " +
		"rescale(mkconst(1, units=\"power (W)\"), \"power (mW)\")\n" +
		"f = ncpu > 1 ? 1 : 0\ng = derived.c * 2\nncpu = 5\nh = ncpu * 3"
	const ours = "a:0 b:18 c:0"
	for _, row := range []struct {
		tolerated syntax.Support
		catalog   derived.Catalog
		want      string
	}{
		{syntax.Everywhere, host(), ours + " d:18 e:25 e:39"},
		{syntax.PCP63, host(), ours + " e:25 e:39"},
		{syntax.PCP7, host(), ours},
		{syntax.Nowhere, host(), ""},
		{syntax.PCP7, nil, "a:0 a:5 b:0 c:0 d:0 f:0 h:0"}, // ncpu is a definition, as far as is known
	} {
		var found []string
		for _, w := range Check(defined(t, text), Options{
			Catalog: row.catalog, Root: "derived",
			Portable: func(*derived.Definition) syntax.Support { return row.tolerated },
		}) {
			if w.Code == NotPortable {
				found = append(found, fmt.Sprintf("%s:%d", w.Definition.Name, w.Offset))
			}
		}
		assert.Equal(t, row.want, strings.Join(found, " "))
	}
}

// default() and max() with a number make a divisor of 0 harmless.
func TestDefaultGuards(t *testing.T) {
	assert.Empty(t, checked(t, "x = default(free / delta(total), 0)\ny = free / max(delta(total), 1)", host()))
	assert.Equal(t, []string{"x:9 zero-divisor"}, checked(t, "x = max(free / delta(total), 1)", host()))
}
