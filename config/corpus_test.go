package config

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/blank"
	"pmdaderived/test/conformance"
)

// corpusCase is what libpcp 6.0.3 answers for a path list; testdata/corpus holds the files.
type corpusCase struct {
	ID, Path, Probes string
	Loaded           int // the number of definitions, or an error code
	Metrics          map[string]struct{ OneLine, Help corpusText }
	MessagesAtLoad   string `json:"messages_at_load"`
}

// corpusText is a text, or empty where the answer is an error.
type corpusText string

func (c *corpusText) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		*c = ""
		return nil
	}
	return json.Unmarshal(b, (*string)(c))
}

const enoent = -2

// wanted lists every case whose answer differs from libpcp's, why, and what it is instead.
// docs/conformance.md explains the reasons.
var wanted = map[string]struct {
	reason   string
	names    []string
	messages string
}{
	"02-blankline": {reason: "Q-BLANK", names: []string{"dmc.cfg.a", "dmc.cfg.b"}},
	"13-crlfblank": {reason: "Q-BLANK", names: []string{"dmc.cfg.a", "dmc.cfg.b"}},
	"14-nonewline": {reason: "Q-BLANK", names: []string{"dmc.cfg.a", "dmc.cfg.b"}},
	"15-continuation": {
		reason: "Q-CONT", names: []string{"dmc.cfg.a", "dmc.cfg.b"},
	},
	"08-trailingdot": {
		reason: "a name that ends in a dot cannot be looked up or traversed by clients",
		names:  []string{"dmc.cfg.b"},
		messages: "[08-trailingdot.conf:1] Error: pmLoadDerivedConfig: " +
			"illegal derived metric name (dmc.cfg.a.)\n",
	},
	"45-attrlines": {
		reason: "line numbers are right behind a text of several lines",
		names:  []string{"dmc.cfg.a"},
		messages: "[45-attrlines.conf:5] Error: pmRegisterDerived(dmc.cfg.b, ...) syntax error\n 1 +\n   ^\n" +
			"Arithmetic expression expected to follow PLUS\n",
	},
	"path-dup":    {reason: "later definitions replace earlier ones", names: []string{"dmc.path.one"}},
	"path-colon1": {reason: "the rest of a path list is loaded", names: []string{"dmc.path.one"}},
}

func TestCorpus(t *testing.T) {
	cases := corpusCases(t)
	assert.Len(t, cases, 41)
	t.Chdir(corpusCopy(t))
	tally := conformance.NewTally("in-process")
	for _, c := range cases {
		good := t.Run(c.ID, func(t *testing.T) {
			loaded := Load(SplitPaths(c.Path), corpusAccept)
			assert.Equal(t, loaded.state().digest, scanFiles(SplitPaths(c.Path), readFiles).digest)

			var names []string
			for _, d := range loaded.Definitions {
				names = append(names, d.Name)
			}
			messages := libpcpMessages(loaded.Problems)
			if w, ok := wanted[c.ID]; ok {
				assert.Equal(t, w.names, names, w.reason)
				assert.Equal(t, w.messages, messages, w.reason)
				assert.NotEqual(t, c.MessagesAtLoad+fmt.Sprint(c.Loaded), messages+fmt.Sprint(len(names)),
					"no difference: %s", w.reason)
				return
			}

			assert.Equal(t, c.MessagesAtLoad, messages)
			assert.Equal(t, max(c.Loaded, 0), len(names))
			if c.Loaded < 0 {
				require.EqualValues(t, enoent, c.Loaded)
				require.Len(t, loaded.Problems, 1)
				assert.ErrorIs(t, loaded.Problems[0], fs.ErrNotExist)
			}
			for name, metric := range c.Metrics {
				require.Contains(t, names, name)
				assert.Equal(t, string(metric.OneLine), oneLine(loaded, name))
				assert.Equal(t, string(metric.Help), help(loaded, name))
			}
		})
		_, different := wanted[c.ID]
		_, listed := conformance.Wanted("config." + c.ID)
		assert.Equal(t, listed, different, "%s: the list of package conformance", c.ID)
		tally.Count("config", different, !good)
	}
	tally.Report(t)
	for id := range wanted {
		assert.True(t, slices.ContainsFunc(cases, func(c corpusCase) bool { return c.ID == id }), "no case %s", id)
	}
}

func corpusCases(t *testing.T) []corpusCase {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "corpus", "expected.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var cases []corpusCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c corpusCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		cases = append(cases, c)
	}
	return cases
}

// corpusCopy copies the corpus to a place whose modes do not depend on the umask.
func corpusCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "corpus"))))
	lockDown(t, dir)
	return dir
}

// lockDown removes the write permission of everyone but the owner.
func lockDown(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o644)
		if e.IsDir() {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	}))
}

func find(t testing.TB, loaded Loaded, name string) *Definition {
	t.Helper()
	for _, d := range loaded.Definitions {
		if d.Name == name {
			return d
		}
	}
	require.Fail(t, "no definition of "+name)
	return nil
}

func oneLine(loaded Loaded, name string) string {
	for _, d := range loaded.Definitions {
		if d.Name == name && d.OneLine != nil {
			return *d.OneLine
		}
	}
	return ""
}

// help returns the help text as pmLookupText(3) does.
func help(loaded Loaded, name string) string {
	for _, d := range loaded.Definitions {
		if d.Name == name && d.Help != nil {
			return *d.Help
		}
	}
	return oneLine(loaded, name)
}

// refusal is an error as a parser gives it.
type refusal struct {
	offset int
	msg    string
}

func (r *refusal) Error() string { return r.msg }
func (r *refusal) Offset() int   { return r.offset }

// corpusAccept stands in for the parser: it knows the bad expressions of the corpus.
func corpusAccept(d *Definition) error {
	switch d.Expr {
	case "1 +", "2 +":
		return &refusal{2, "Arithmetic expression expected to follow PLUS"}
	case "= 1":
		return &refusal{0, ""}
	case "1 + $ 2   ", "1\t+\t@":
		return &refusal{4, "Illegal character"}
	}
	return nil
}

// libpcpMessages writes problems as libpcp does.
func libpcpMessages(problems []*Problem) string {
	var b strings.Builder
	for _, p := range problems {
		if p.Pos.Line == 0 {
			continue // libpcp only returns a code
		}
		severity := "Error"
		if p.Severity == Warning {
			severity = "Warning"
		}
		fmt.Fprintf(&b, "[%s:%d] %s: ", p.Pos.File, p.Pos.Line, severity)

		msg, column := p.Msg, p.Pos.Column
		line, _ := p.Excerpt.Lines()
		_, raw, _ := strings.Cut(line, "=")
		const duplicate = "Duplicate global derived metric name"
		if strings.HasPrefix(msg, duplicate) { // libpcp shows the expression, not the name
			msg = duplicate
			column = 1 + len(line) - len(strings.TrimLeft(raw, blank.All))
		} else if p.Err == nil {
			fmt.Fprintf(&b, "pmLoadDerivedConfig: %s\n", msg)
			if !strings.HasPrefix(msg, "illegal derived metric name") && p.Severity == Error {
				fmt.Fprintf(&b, "%s\n", line)
			}
			continue
		}
		caret := []byte(raw)
		for i, c := range caret {
			if c != '\t' {
				caret[i] = ' '
			}
		}
		caret[column-1-(len(line)-len(raw))] = '^'
		fmt.Fprintf(&b, "pmRegisterDerived(%s, ...) syntax error\n%s\n%s\n", p.Name, raw, caret)
		if msg != "syntax error" {
			fmt.Fprintf(&b, "%s\n", msg)
		}
	}
	return b.String()
}
