package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// helpTexts reads a file in the format of newhelp(1): "@ name one line", then the full text.
func helpTexts(t *testing.T, path string) (texts map[string][2]string, order []string) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	texts = make(map[string][2]string)
	for entry := range strings.SplitSeq("\n"+string(file), "\n@ ") {
		head, body, _ := strings.Cut(entry, "\n")
		name, oneLine, ok := strings.Cut(head, " ")
		if !ok || strings.HasPrefix(entry, "\n#") || strings.HasPrefix(entry, "#") {
			continue // comments in front of the first entry
		}
		assert.NotContains(t, texts, name)
		texts[name] = [2]string{oneLine, strings.TrimSpace(body)}
		order = append(order, name)
	}
	return texts, order
}

// The help file of the source tree says what the agent says.
func TestHelpFile(t *testing.T) {
	texts, order := helpTexts(t, "../../help")
	var want []string
	for _, c := range controls {
		want = append(want, c.fullName())
		assert.Equal(t, [2]string{c.short, c.long}, texts[c.fullName()], c.fullName())
	}
	assert.Equal(t, append(want, "DERIVED.0"), order)

	a := &Agent{options: Options{Domain: testDomain}}
	short, err := a.Text(0, uint32(definitionInDom(testDomain)), pdu.TextInDom|pdu.TextOneLine)
	require.NoError(t, err)
	long, err := a.Text(0, uint32(definitionInDom(testDomain)), pdu.TextInDom|pdu.TextHelp)
	require.NoError(t, err)
	assert.Equal(t, [2]string{short, long}, texts["DERIVED.0"])
}
