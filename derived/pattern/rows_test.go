package pattern

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a pattern, a subject, and "match", "no match" or the error of the pattern.
type row struct{ pattern, subject, answer string }

// refused says whether the answer is an error.
func (r row) refused() bool { return r.answer != "match" && r.answer != "no match" }

// name is the row as it stands in the table, to find it there.
func (r row) name() string { return encode(r.pattern) + "\t" + encode(r.subject) }

// readRows reads a table from testdata.
func readRows(t testing.TB, file string) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return parseRows(t, string(text))
}

func parseRows(t testing.TB, text string) []row {
	t.Helper()
	var rows []row
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		require.Len(t, fields, 3, "columns of %q", line)
		pattern, err := url.PathUnescape(fields[0])
		require.NoError(t, err, "pattern of %q", line)
		subject, err := url.PathUnescape(fields[1])
		require.NoError(t, err, "subject of %q", line)
		rows = append(rows, row{pattern, subject, fields[2]})
	}
	return rows
}

// encode writes a field of a table.
func encode(field string) string {
	var b strings.Builder
	for i := range len(field) {
		if c := field[i]; c <= ' ' || c > '~' || c == '%' || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// answer is what this package says, in the words of the tables.
func answer(pattern, subject string) string {
	re, err := Compile(pattern)
	switch {
	case err != nil:
		return err.Error()
	case re.MatchString(subject):
		return "match"
	}
	return "no match"
}
