package unittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/config"
	"pmdaderived/derived"
)

// host is the collector of these tests.
const host = `
metric ncpu     U32    discrete
metric physmem  U64    discrete Kbyte
metric free     U64    instant  Kbyte
metric total    U64    counter  count 60.1
metric reads    U32    counter  count 60.1
metric load     FLOAT  instant        60.2
metric temp     DOUBLE instant
metric low      32     instant
metric wide     64     instant
metric node     STRING discrete
metric blob     AGGREGATE instant
metric gone     PM_ERR_APPVERSION
indom 60.1 sda sdb "md 0"
indom 60.2 1:"1 minute" 5:"5 minute" 15:"15 minute"
`

// parsed reads a file that is known to be good.
func parsed(tb testing.TB, text string) *File {
	tb.Helper()
	f, problems := Parse("x.test", []byte(text))
	require.Empty(tb, problems)
	return f
}

// defined parses definitions, one a line.
func defined(tb testing.TB, text string) []*derived.Definition {
	tb.Helper()
	defs, _ := labelled(tb, text)
	return defs
}

// labelled parses definitions with labels.
func labelled(tb testing.TB, text string) (defs []*derived.Definition, labels map[string]string) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "x.conf")
	require.NoError(tb, os.WriteFile(file, []byte(text), 0o600))
	read := config.Load([]string{file}, func(d *config.Definition) error {
		p, err := derived.Parse(d.Name, d.Expr)
		defs = append(defs, p)
		return err
	})
	require.Empty(tb, read.Problems)
	labels = map[string]string{}
	for _, d := range read.Definitions {
		if d.Labels != nil {
			labels[d.Name] = *d.Labels
		}
	}
	return defs, labels
}

// outcome runs the only test of a file and gives its failures without the file's name.
func outcome(tb testing.TB, definitions, file string) string {
	tb.Helper()
	f := parsed(tb, file)
	require.Len(tb, f.Tests, 1)
	defs, labels := labelled(tb, definitions)
	text := Run(derived.Language{}, defs, labels, f.Tests[0]).String()
	return strings.ReplaceAll(text, "x.test:", "")
}
