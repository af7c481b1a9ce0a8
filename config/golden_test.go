package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/blank"
)

var update = flag.Bool("update", false, "write the golden files")

// starAccept refuses expressions with an operator and a star behind it.
func starAccept(d *Definition) error {
	for i, before := 0, byte('*'); i < len(d.Expr); i++ {
		switch c := d.Expr[i]; {
		case c == '*' && strings.IndexByte("+*", before) >= 0:
			return &refusal{i, "Arithmetic expression expected to follow PLUS"}
		case !blank.Is(c):
			before = c
		}
	}
	return nil
}

// Every file of testdata/files, with all that is read from it and said about it beside it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "files", "*.conf"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			loaded := readText(name, text, starAccept)
			got := report(loaded)

			bad := len(loaded.Problems) > 0
			assert.Equal(t, strings.HasPrefix(name, "bad"), bad)
			golden := strings.TrimSuffix(file, ".conf") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// report returns the whole result of loading a file, as text.
func report(l Loaded) string {
	var b strings.Builder
	for _, d := range l.Definitions {
		fmt.Fprintf(&b, "%s: %s = %q\n", d.Pos, d.Name, d.Expr)
		if d.OneLine != nil {
			fmt.Fprintf(&b, "  oneline  %q\n", *d.OneLine)
		}
		if d.Help != nil {
			fmt.Fprintf(&b, "  helptext %q\n", *d.Help)
		}
		if d.Labels != nil {
			fmt.Fprintf(&b, "  labels   %s\n", *d.Labels)
		}
	}
	for _, c := range l.Controls {
		fmt.Fprintf(&b, "%s: control %s = %q\n", c.Pos, c.Option, c.Value)
	}
	for _, p := range l.Problems {
		fmt.Fprintf(&b, "\n%s", p.Severity)
		if p.Name != "" {
			fmt.Fprintf(&b, " (%s)", p.Name)
		}
		fmt.Fprintf(&b, "\n%s\n", p.Error())
	}
	return b.String()
}
