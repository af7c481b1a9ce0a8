package syntax

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
)

// docs/messages.md has all that a message about an argument of a function can expect, in a table.
func TestMessagesPage(t *testing.T) {
	const path = "../../docs/messages.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	head := "| what |\n|---|\n"
	begin, rest, found := strings.Cut(string(text), head)
	require.True(t, found)
	_, end, _ := strings.Cut("\n"+rest, "\n\n")
	var rows strings.Builder
	for _, message := range expectedArguments() {
		rows.WriteString("| `" + message + "` |\n")
	}
	want := begin + head + rows.String() + "\n" + end
	if *derivedtest.Update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "-update writes the page")
}

// expectedArguments returns what can be expected in place of an argument of a function, and after it.
func expectedArguments() []string {
	var found []string
	for f := range Functions {
		for i := range functions[f].args {
			for _, read := range []bool{false, true} {
				what, _ := construct{fn: f, arg: int32(i), read: read}.expects()
				if what != "" && !slices.Contains(found, what) {
					found = append(found, what)
				}
			}
		}
	}
	return found
}
