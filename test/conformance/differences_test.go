package conformance

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The document says of each difference, in the order of the list, what libpcp does, what we do, why, gives an
// example, and counts the cases.
func TestDocumentListsDifferences(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance.md")
	require.NoError(t, err)
	for heading, list := range map[string][]Difference{
		"## Intended differences": Differences(), "### With PCP 7.2": DifferencesSeven(),
	} {
		_, section, ok := strings.Cut(string(text), heading+"\n")
		require.True(t, ok, heading)
		_, section, _ = strings.Cut(section, "|---|\n")
		for _, d := range list {
			line, rest, _ := strings.Cut(section, "\n")
			section = rest
			cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "or"), "|"), "|")
			require.Len(t, cells, 6, "%s: %s", d.ID, line)
			for _, cell := range cells {
				assert.NotEmpty(t, strings.TrimSpace(cell), line)
			}
			assert.Equal(t, d.ID, strings.TrimSpace(cells[0]))
			assert.Equal(t, strconv.Itoa(len(d.Cases)), strings.TrimSpace(cells[5]), d.ID)
		}
		assert.False(t, strings.HasPrefix(section, "|"), "there is no such difference: %.80s", section)
	}
}

func TestNoDifferenceIsListedTwice(t *testing.T) {
	ids, cases := map[string]bool{}, map[string]string{}
	for _, d := range Differences() {
		assert.False(t, ids[d.ID], "%s is listed twice", d.ID)
		ids[d.ID] = true
		assert.NotEmpty(t, d.Cases, d.ID)
		for _, name := range d.Cases {
			assert.Empty(t, cases[name], "%s is an example of %s, too", name, d.ID)
			cases[name] = d.ID
			id, ok := Wanted(name)
			assert.True(t, ok)
			assert.Equal(t, d.ID, id)
		}
	}
	for _, id := range []string{"Q-7X", "expressions in aggregates", "functions of our own", "numbers that fit"} {
		assert.True(t, ids[id] && Extension(id), id)
	}
	assert.False(t, Extension("avg"))
	_, ok := Wanted("arith.c001")
	assert.False(t, ok)
}
