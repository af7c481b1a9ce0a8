package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.conf"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add("\ufeffa = \\\r\n1\r\na(oneline) = 'x\\\r\ny' \\\nz")
	f.Fuzz(func(t *testing.T, text string) {
		odd := func(d *Definition) error { // refuses some, wherever
			if len(d.Expr)%3 == 0 {
				return &refusal{len(d.Expr) - len(d.Name), "odd"}
			}
			return nil
		}
		loaded := readText("f", []byte(text), odd)

		lines := strings.Split(strings.TrimPrefix(text, byteOrderMark), "\n")
		names := map[string]bool{}
		for _, d := range loaded.Definitions {
			require.False(t, names[d.Name], "%s twice", d.Name)
			names[d.Name] = true
			require.True(t, pdu.LegalName(d.Name))
			require.NotEmpty(t, d.Expr)
			require.Equal(t, d.Name[0], lines[d.Pos.Line-1][d.Pos.Column-1])
			for i := range len(d.Expr) {
				at := d.ExprLocation.Problem(d.Expr, i).Pos
				require.Equal(t, d.Expr[i], lines[at.Line-1][at.Column-1], "byte %d of %q at %s", i, d.Expr, at)
			}
		}
		for _, p := range loaded.Problems {
			require.Positive(t, p.Pos.Line)
			require.LessOrEqual(t, p.Pos.Line, len(lines))
			require.Positive(t, p.Pos.Column)
			require.LessOrEqual(t, p.Pos.Column, len(lines[p.Pos.Line-1])+1)
			line, caret := p.Excerpt.Lines()
			require.NotContains(t, line+caret, "\n")
		}

		// What was understood once reads the same when written plainly.
		var plain strings.Builder
		for _, d := range loaded.Definitions {
			plain.WriteString(d.Name + " = " + d.Expr + " \n")
			for attr, text := range map[string]*string{attrOneLine: d.OneLine, attrHelp: d.Help, attrLabels: d.Labels} {
				if text != nil {
					plain.WriteString(d.Name + "(" + attr + ") = \"\\\n" + escape(*text) + "\"\n")
				}
			}
		}
		again := readText("g", []byte(plain.String()), nil)
		require.Len(t, again.Definitions, len(loaded.Definitions))
		for i, d := range loaded.Definitions {
			require.Equal(t, d.Name, again.Definitions[i].Name)
			require.Equal(t, d.Expr+" ", again.Definitions[i].Expr)
			require.Equal(t, d.OneLine, again.Definitions[i].OneLine)
			require.Equal(t, d.Help, again.Definitions[i].Help)
			require.Equal(t, d.Labels, again.Definitions[i].Labels)
		}
	})
}

// escape writes a text so that it can stand in double quotes.
func escape(text string) string {
	text = strings.ReplaceAll(text, `\`, `\\`)
	text = strings.ReplaceAll(text, `"`, `\"`)
	return strings.ReplaceAll(text, "\r", "\r\\\n") // else a newline behind it would swallow it
}
