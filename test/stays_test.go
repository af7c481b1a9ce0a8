package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// promisedCells is the number of cells of a row that stay through a major version, by the head of the table's first
// column.
var promisedCells = map[string]int{"option": 1, "file": 1, "function": 1, "field": 1, "status": 1, "metric": 4} // 4: name, type, semantics, units

// promised returns what stays of the rows of a document's tables. Rows below a heading of level three begin with it.
func promised(document string) []string {
	var found []string
	heading := ""
	cells := -1 // the next row is a head
	for line := range strings.Lines(document) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.HasPrefix(line, "#") {
			heading = ""
			if name, ok := strings.CutPrefix(line, "### "); ok {
				heading = "`" + strings.TrimSpace(name) + "` | "
			}
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			cells = -1
		case cells < 0:
			cells = promisedCells[strings.TrimSpace(row[0])]
		case cells > 0 && !strings.HasPrefix(row[0], "---"):
			found = append(found, heading+strings.Join(strings.Fields(strings.Join(row[:cells], "|")), " "))
		}
	}
	return found
}

// All that docs/supported.md promises for 1.x is still there: options, functions, codes, files, and metrics with their
// metadata. Other tests compare these documents with the program. -update adds new names.
func TestStaysThroughMajorVersion(t *testing.T) {
	var now []string
	for _, path := range []string{"../docs/reference.md", "../docs/language.md", "../docs/linting.md"} {
		rows := promised(readDocument(t, path))
		require.NotEmpty(t, rows, path)
		now = append(now, without(rows, now)...)
	}
	for _, match := range regexp.MustCompile("(?m)^#+ (`[a-z-]+`)$").FindAllStringSubmatch(readDocument(t, "../docs/linting.md"), -1) {
		now = append(now, "code "+match[1])
	}
	for _, path := range must(filepath.Glob("../optional/*.conf"))(t) {
		now = append(now, "/usr/share/pmdaderived/optional/"+filepath.Base(path))
	}
	archives := regexp.MustCompile(`the sub-commands (.*) read PCP archives`)
	named := archives.FindStringSubmatch(readDocument(t, "../docs/reference.md"))
	require.NotNil(t, named, "the sub-commands with the options for archives")
	for _, command := range regexp.MustCompile(`, | and `).Split(named[1], -1) {
		now = append(now, "`"+command+"` | options for archives")
	}
	for _, path := range must(filepath.Glob("../conf/*.conf"))(t) {
		for _, match := range regexp.MustCompile(`(?m)^(host\.[\w.]+) *=`).FindAllStringSubmatch(readDocument(t, path), -1) {
			now = append(now, "derived."+match[1])
		}
	}
	_, excepted, found := strings.Cut(readDocument(t, "../docs/supported.md"), "\nAnything else may change ")
	require.True(t, found, "what is not promised")
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(excepted, -1) {
		now = slices.DeleteFunc(now, func(row string) bool {
			return row == match[1] || row == match[0] || strings.HasPrefix(row, match[0]+" | ")
		})
	}
	const golden = "testdata/stays.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(now, "\n")+"\n"), 0o644))
	}
	then := strings.Split(strings.TrimSpace(readDocument(t, golden)), "\n")
	assert.Empty(t, without(then, now), "gone or changed")
	assert.Empty(t, without(now, then), "new: go test ./test -run TestStays -update adds it")
}

// without returns the strings of one list that another does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

func TestPromised(t *testing.T) {
	assert.Equal(t, []string{"`-a`", "`b` | U32 | instant | count"}, promised(
		"| option | default |\n|---|---|\n| `-a` | 1 |\n\n| other |\n|---|\n| c |\n\n| metric | type | semantics | units | each |\n|---|---|---|---|---|\n| `b` | U32 | instant | count |  |\n"))
}
