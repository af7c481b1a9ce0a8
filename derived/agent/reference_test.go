package agent

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// docs/reference.md has every metric of the agent with its metadata.
func TestReference(t *testing.T) {
	const path = "../../docs/reference.md"
	each := map[pdu.InDom]string{
		pdu.NoInDom: "", definitionInDom(testDomain): "definition", bucketInDom(testDomain): "class of durations", fileInDom(testDomain): "file",
		limitInDom(testDomain): "limit",
	}
	var want strings.Builder
	for _, c := range controls {
		d := c.desc(pdu.NewPMID(testDomain, controlCluster, c.item))
		require.Contains(t, each, d.InDom)
		fmt.Fprintf(&want, "| `%s` | %v | %v | %v | %s | %s |\n", c.fullName(), d.Type, d.Sem, d.Units, each[d.InDom], c.short)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)(^\| metric \|.*\n\|[-|]+\|\n)((?:\|.*\n)*)`)
	found := table.FindSubmatch(text)
	require.NotNil(t, found)
	if *update {
		text = table.ReplaceAll(text, []byte("${1}"+want.String()))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		return
	}
	assert.Equal(t, want.String(), string(found[2]), "go test ./derived/agent -run TestReference -update writes it")
}
