package syntax

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// difference is what we want to read otherwise than libpcp 6.0.3, which refuses all these texts.
type difference struct {
	id    string // of spec language.md section 10, or design.md section 6
	why   string
	texts []string // the ones we take
	moved []moved  // the ones we refuse as well, but elsewhere
}

type moved struct {
	text   string
	offset int
	msg    string
}

// wantedDifferences is the whole list; every other difference is a bug.
func wantedDifferences() []difference {
	return []difference{
		{
			id:  "Q-7X",
			why: "PCP 7.2.1 takes any expression in delta, rate and instant",
			texts: []string{
				"delta((sample.bin))",
				"delta(delta(sample.long.write_me))",
				"delta(sample.bin + 1)",
				"instant((sample.bin))",
				"rate((sample.bin))",
				"rate(5)",
				"rate(rate(sample.bin))",
				"rate(sample.bin + 1)",
			},
		},
		{
			id:    "Q-7X",
			why:   "PCP 7.2.1 has the keys meta and indom",
			texts: []string{"mkconst(42,meta=sample.bin)"},
		},
		{
			id:  "beyond",
			why: "aggregates take expressions",
			texts: []string{
				"avg((sample.bin))",
				"avg(sample.bin + 1)",
				"count(5)",
				"count(count(sample.bin))",
				"count(sample.bin + 1)",
				"max(5)",
				"max(sample.bin + 1)",
				"min((sample.bin))",
				"min(5)",
				"min(sample.bin + 1)",
				"sum((sample.bin))",
				"sum(-sample.bin)",
				"sum(5)",
				"sum(sample.bin) - min(1*sample.bin)",
			},
			moved: []moved{
				{"sum(sample.bin) - min((sample.bin)", 33, "Metric name expected to follow min("},
			},
		},
		{
			id:  "Q-MATCH-SLASH",
			why: "division works inside matchinst",
			texts: []string{
				"matchinst(/bin/, (sample.bin / sample.bucket))",
				"matchinst(/bin/, sample.bin / 2)",
			},
		},
	}
}

// TestCorpus reads every definition of the corpus: what libpcp 6.0.3 refuses has its message and
// caret, to the byte; everything else has to be read.
func TestCorpus(t *testing.T) {
	taken, elsewhere := map[string]string{}, map[string]moved{}
	for _, d := range wantedDifferences() {
		require.NotEmpty(t, d.why)
		for _, text := range d.texts {
			taken[text] = d.id
		}
		for _, m := range d.moved {
			elsewhere[m.text] = m
		}
	}
	seen := map[string]bool{}
	refused := 0

	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			text := " " + c.Expr // as behind the "=": the blank counts for the caret
			e, err := Parse(text, c.literals())

			if c.Class == "config" { // no expression at all: the file reader refuses it in PCP
				require.Empty(t, c.Expr)
				assert.Error(t, err)
				return
			}
			if c.Class != "syntax" || taken[c.Expr] != "" {
				seen[c.Expr] = true
				require.NoError(t, err)
				again, err := Parse(e.String(), c.literals())
				require.NoError(t, err)
				assert.Equal(t, e.String(), again.String())
				assert.Equal(t, shape(e), shape(again))
				return
			}

			refused++
			got := fault(t, err)
			shown := Caret(text, got.Offset) + "\n"
			if got.Msg != "" {
				shown += got.Msg + "\n"
			}
			_, wanted, _ := strings.Cut(c.Stderr, "syntax error\n")
			if m, ok := elsewhere[c.Expr]; ok {
				seen[c.Expr] = true
				assert.NotEqual(t, wanted, shown, "no difference any more")
				assert.Equal(t, &Error{Offset: m.offset + 1, Msg: m.msg}, got)
				return
			}
			assert.Equal(t, wanted, shown)
		})
	}

	assert.Greater(t, refused, 150, "the corpus lost its syntax errors")
	for text := range taken {
		assert.True(t, seen[text], "listed as a difference, but not in the corpus: %s", text)
	}
	for text := range elsewhere {
		assert.True(t, seen[text], "listed as a difference, but not in the corpus: %s", text)
	}
}

// definition is one case of the corpus; its README tells the rest.
type definition struct {
	Name, Expr, Class, Stderr string
}

// literals refuses units or patterns where libpcp did, for the reason it gave.
func (c definition) literals() Literals {
	reason := func(intro string) func(string) error {
		_, rest, ok := strings.Cut(c.Stderr, "\n"+intro+": '")
		if !ok || c.Class != "syntax" {
			return nil
		}
		err := errors.New(strings.TrimSuffix(rest, "'\n"))
		return func(string) error { return err }
	}
	return Literals{Units: reason("Illegal units"), Pattern: reason("bad regular expression")}
}

func corpus(t testing.TB) []definition {
	t.Helper()
	sets, err := filepath.Glob("../testdata/corpus/*/cases.conf")
	require.NoError(t, err)
	var cases []definition
	for _, set := range sets {
		f, err := os.Open(filepath.Join(filepath.Dir(set), "expected.jsonl"))
		require.NoError(t, err)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c definition
			require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
			cases = append(cases, c)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, f.Close())
	}
	require.Greater(t, len(cases), 1500, "the corpus is not where it was")
	return cases
}
