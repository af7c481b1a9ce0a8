package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const document = "../../docs/conformance.md"

var update = flag.Bool("update", false, "write the table of differences into docs/conformance.md")

// The document shows the lists as they are.
func TestDocumentListsDifferences(t *testing.T) {
	testListed(t, Differences(), "<!-- differences -->\n", "<!-- end of differences -->\n")
	testListed(t, DifferencesSeven(), "<!-- differences from PCP 7 -->\n", "<!-- end of differences from PCP 7 -->\n")
}

func testListed(t *testing.T, list []Difference, begin, end string) {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	shown, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		shown = markdown(list)
		require.NoError(t, os.WriteFile(document, []byte(before+begin+shown+end+after), 0o644))
	}
	assert.Equal(t, markdown(list), shown, "write it again: go test ./test/conformance -update")
}

func markdown(list []Difference) string {
	var b strings.Builder
	b.WriteString("\n| id | libpcp | here | why | example: libpcp, here | cases |\n|---|---|---|---|---|---|\n")
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	for _, d := range list {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n",
			d.ID, cell(d.Libpcp), cell(d.Ours), cell(d.Why), cell(d.Example), len(strings.Fields(d.Cases)))
	}
	b.WriteByte('\n')
	return b.String()
}

func TestDifferencesAreComplete(t *testing.T) {
	ids, cases := map[string]bool{}, map[string]string{}
	for _, d := range Differences() {
		assert.False(t, ids[d.ID], "%s is listed twice", d.ID)
		ids[d.ID] = true
		for _, text := range []string{d.Libpcp, d.Ours, d.Why, d.Example, d.Cases} {
			assert.NotEmpty(t, text, d.ID)
		}
		for name := range strings.FieldsSeq(d.Cases) {
			assert.Empty(t, cases[name], "%s is an example of %s, too", name, d.ID)
			cases[name] = d.ID
		}
	}
	for name, want := range cases {
		id, ok := Wanted(name)
		assert.True(t, ok)
		assert.Equal(t, want, id)
	}
	_, ok := Wanted("arith.c001")
	assert.False(t, ok)
}
