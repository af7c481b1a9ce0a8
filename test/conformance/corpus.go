package conformance

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// Case is a definition of the corpus and the answer of libpcp 6.0.3: a line of expected.jsonl. A step is a verb and its
// arguments: fetch; store METRIC VALUE [INSTANCE]; sleep SECONDS.
type Case struct {
	Set  string `json:"-"` // folder of the corpus
	Name string // without "dmc."

	Expr, Quirk  string
	Setup, Steps [][]string // Setup are stores: METRIC VALUE [INSTANCE]
	Class        string     // ok, syntax, config, semantic, unbound, crash
	Compare      string     // how to compare values: exact, per-elapsed, live, none
	Type, Sem    string
	Units        string // as pmUnitsStr prints them
	Dim, Scale   [3]int8
	InDom        *string
	Fetches      []Fetch
	Stderr       string
}

// Fetch is the answer to one fetch.
type Fetch struct {
	Values  *[][3]any // instance, its name or nil, value
	Error   *struct{ Code pdu.Code }
	Elapsed float64 // seconds since the fetch before, 0 if that does not matter
}

// ReadCorpus reads all definitions below a folder.
func ReadCorpus(tb testing.TB, dir string) []*Case {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "expected.jsonl"))
	require.NoError(tb, err)
	var all []*Case
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "config" {
			continue // whole files, which package config reads
		}
		all = append(all, ReadSet(tb, file)...)
	}
	require.Greater(tb, len(all), 1500, "the corpus is not where it was")
	return all
}

// ReadSet reads the definitions of one file.
func ReadSet(tb testing.TB, file string) []*Case {
	tb.Helper()
	f, err := os.Open(file)
	require.NoError(tb, err)
	defer f.Close()
	var all []*Case
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c := &Case{Set: filepath.Base(filepath.Dir(file))}
		require.NoError(tb, json.Unmarshal(lines.Bytes(), c), "%s", lines.Text())
		c.Name = strings.TrimPrefix(c.Name, "dmc.")
		all = append(all, c)
	}
	require.NoError(tb, lines.Err())
	return all
}

// Refused reports whether libpcp refuses the text of the definition.
func (c *Case) Refused() bool { return c.Class == "syntax" || c.Class == "config" }

// Stores reports whether a step of the case is a store.
func (c *Case) Stores() bool {
	return slices.ContainsFunc(c.Steps, func(step []string) bool { return step[0] == "store" })
}

// Message returns libpcp's message about the definition, without the place. That of a syntax error is the line with the
// caret, and the reason if there is one. That of a semantic error is the line.
func (c *Case) Message() string {
	if _, shown, ok := strings.Cut(c.Stderr, "syntax error\n"); ok {
		return shown
	}
	return strings.TrimSuffix(c.Stderr, "\n")
}
