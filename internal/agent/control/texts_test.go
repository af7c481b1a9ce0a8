package control

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

var update = flag.Bool("update", false, "write the file help and docs/reference.md anew")

const helpHeader = `#
# Help texts of the agent's own metrics, in the format of newhelp(1).
#
# The daemon serves these texts by itself: this copy is for people and for tools that read help
# files. A test compares the two. Definitions bring their own texts.
#
`

// same fails unless the file has the text want. With -update it writes the text.
func same(t *testing.T, path, want, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	if want == got {
		return
	}
	wanted, found, line := strings.Split(want, "\n"), strings.Split(got, "\n"), 0
	for line < min(len(wanted), len(found)) && wanted[line] == found[line] {
		line++
	}
	assert.Fail(t, "the file does not say what the table says",
		"%s:%d; go test ./internal/agent/control -update writes it", path, line+1)
}

// The file help of the source tree has the help texts of the table.
func TestHelpFile(t *testing.T) {
	const path = "../../../help"
	var want strings.Builder
	want.WriteString(helpHeader)
	entry := func(name, short, long string) {
		assert.NotEmpty(t, short, name)
		assert.NotContains(t, short, "\n", name)
		fmt.Fprintf(&want, "\n@ %s %s\n", name, short)
		if long != "" {
			fmt.Fprintln(&want, long)
		}
	}
	for _, m := range Table(testSource()) {
		entry(m.FullName(), m.OneLine(), m.Long)
	}
	for serial, d := range inDoms(testSource()) {
		if d.instances == nil {
			continue
		}
		entry(fmt.Sprintf("DERIVED.%d", serial), d.short, d.long)
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	same(t, path, want.String(), string(got))
}

// docs/reference.md has every metric of the agent with its metadata, in the order of their names.
func TestReference(t *testing.T) {
	const path = "../../../docs/reference.md"
	instances := map[int]string{
		Singular: "", definitionSerial: "definition", bucketSerial: "class of durations", fileSerial: "file", agentSerial: "agent",
	}
	metrics := Table(testSource())
	slices.SortFunc(metrics, func(a, b Metric) int { return strings.Compare(a.FullName(), b.FullName()) })
	var rows strings.Builder
	for _, m := range metrics {
		require.Contains(t, instances, m.Serial)
		fmt.Fprintf(&rows, "| `%s` | %v | %v | %v | %s | %s |\n", m.FullName(), m.Type, m.Sem, m.Units, instances[m.Serial],
			m.OneLine())
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)(^\| metric \|.*\n\|[-|]+\|\n)((?:\|.*\n)*)`)
	require.Regexp(t, table, string(text))
	same(t, path, table.ReplaceAllString(string(text), "${1}"+rows.String()), string(text))
}

func TestTexts(t *testing.T) {
	m := New(testDomain, testSource())
	for _, row := range []struct {
		name     string
		ident    uint32
		short    string
		long     string
		instance bool
	}{
		{"with more", uint32(PMID(testDomain, Reload)), "number of times that the agent has read its configuration again; store any value to do so now", "Storing any value", false},
		{"with no more", uint32(PMID(testDomain, 17)), "version of the agent", "version of the agent", false},
		{"instance domain", uint32(pdu.NewInDom(testDomain, fileSerial)), "definition files", "One instance for each file", true},
		{"no metric", uint32(PMID(testDomain, 1000)), "", "", false},
		{"of another agent", uint32(PMID(60, Reload)), "", "", false},
		{"no instance domain", uint32(pdu.NewInDom(testDomain, 99)), "", "", true},
		{"another's", uint32(pdu.NewInDom(60, 0)), "", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var of pdu.TextType
			if row.instance {
				of = pdu.TextInDom
			}
			short, ok := m.Text(row.ident, of|pdu.TextOneLine)
			assert.Equal(t, row.short != "", ok)
			assert.Equal(t, row.short, short)
			long, _ := m.Text(row.ident, of|pdu.TextHelp)
			assert.True(t, strings.HasPrefix(long, row.long), long)
		})
	}
}
