package agent

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var update = flag.Bool("update", false, "write the file help at the top of the source tree")

const helpHeader = `#
# Help texts of the agent's own metrics, in the format of newhelp(1).
#
# The daemon serves these texts by itself: this copy is for people and for tools that read help
# files. A test compares the two. Definitions bring their own texts.
#
`

// The help file of the source tree says what the agent says.
func TestHelpFile(t *testing.T) {
	var want strings.Builder
	want.WriteString(helpHeader)
	entry := func(name, short, long string) {
		assert.NotContains(t, short, "\n", name)
		fmt.Fprintf(&want, "\n@ %s %s\n", name, short)
		if long != "" {
			fmt.Fprintln(&want, long)
		}
	}
	a := &Agent{options: Options{Domain: testDomain}}
	for _, c := range controls {
		entry(c.fullName(), c.short, c.long)
	}
	for serial := 0; ; serial++ {
		own := a.inDom(pdu.NewInDom(testDomain, serial))
		if own == nil {
			break
		}
		entry(fmt.Sprintf("DERIVED.%d", serial), own.short, own.long)
		short, err := a.Text(0, uint32(own.id), pdu.TextInDom|pdu.TextOneLine)
		require.NoError(t, err)
		assert.Equal(t, own.short, short)
		long, err := a.Text(0, uint32(own.id), pdu.TextInDom|pdu.TextHelp)
		require.NoError(t, err)
		assert.Equal(t, own.long, long)
	}
	const path = "../../help"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want.String()), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got), "go test ./derived/agent -run TestHelpFile -update writes it")
}
